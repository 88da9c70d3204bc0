package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSummariesByCallerAreAskedFor(t *testing.T) {
	for text, want := range map[string]bool{"": false, "[summaries]\n": false, "[summaries]\nby_caller = false\n": false, "[summaries]\nby_caller = true\n": true} {
		c, err := loadText(t, text, map[string]string{})
		if err != nil || c.Summaries.ByCaller != want {
			t.Errorf("%q: %+v, %v", text, c.Summaries, err)
		}
	}
	for text, want := range map[string]string{
		"[summaries]\nby_caller = \"yes\"\n": "summaries.by_caller is of a wrong type; give true or false",
		"summaries = true\n":                 "write [summaries]",
		"[summaries]\nby_model = true\n":     `unknown key "summaries.by_model"; known are`,
	} {
		if _, err := loadText(t, text, map[string]string{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Off without a provider or an endpoint; with one the usual figures hold where
// nothing is said.
func TestSummariesByModel(t *testing.T) {
	env := map[string]string{"HOME": "/home/u", "DEEPSEEK_API_KEY": " k ", "MINE": "m"}
	c, err := loadText(t, "[summaries]\nby_caller = true\nmin_chars = 0\n", env)
	if s := c.Summaries; err != nil || s.On() || s.Key != "" {
		t.Errorf("off: %+v, %v", s, err)
	}
	c, err = loadText(t, "[summaries]\nprovider = \"deepseek\"\nremote = true\ndeny_workspaces = [\"~/work/client\"]\n", env)
	s := c.Summaries
	if err != nil || !s.On() || s.Key != "k" || s.KeyVar != "DEEPSEEK_API_KEY" || !s.Remote || !strings.HasSuffix(s.DenyWorkspaces[0], "/u/work/client") {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Chars() != 8000 || s.Turns() != 10 || s.QuietFor != 2*time.Minute || s.CooldownFor != 10*time.Minute || s.MaxCallsPerDay != nil || s.MaxUSDPerMonth != nil {
		t.Errorf("usual: %+v", s)
	}
	if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, `"k"`) || strings.Contains(text, "Key:k") {
		t.Errorf("the key is shown: %s", text)
	}
	c, err = loadText(t, "[summaries]\nendpoint = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\napi_key_env = \"MINE\"\nmin_chars = 0\nmin_turns = 3\nquiet = \"0s\"\ncooldown = \"1h30m\"\nmax_calls_per_day = 0\n", env)
	if s = c.Summaries; err != nil || s.Provider != "custom" || s.Key != "m" || s.Chars() != 0 || s.Turns() != 3 || s.QuietFor != 0 || s.CooldownFor != 90*time.Minute || *s.MaxCallsPerDay != 0 {
		t.Errorf("said: %+v, %v", s, err)
	}
}

func TestWrongSummariesSayWhatToGive(t *testing.T) {
	for text, want := range map[string]string{
		`model = "m"`:                                      "summaries.provider is missing; give one of",
		`remote = true`:                                    "summaries.provider is missing",
		`provider = "azure"`:                               `summaries.provider is "azure"; give one of "custom", "dashscope"`,
		`provider = "custom"`:                              "summaries.endpoint and summaries.model are needed",
		`endpoint = "http://127.0.0.1:1/v1"`:               "summaries.endpoint and summaries.model are needed",
		"provider = \"ollama\"\nwindow = 5":                "summaries.window is 5; give the tokens",
		"min_chars = -1":                                   "summaries.min_chars and summaries.min_turns are numbers from 0 on",
		"quiet = \"soon\"":                                 `summaries.quiet is "soon"; give a time such as "2m"`,
		"quiet = 5":                                        "summaries.quiet is of a wrong type; give a text in quotes",
		"cooldown = \"-1m\"":                               `summaries.cooldown is "-1m"`,
		"max_age_days = -1":                                "summaries.max_age_days is a number of days",
		"target_chars = 100":                               "summaries.target_chars is 100; give 1200 to",
		"max_calls_per_day = -1":                           "summaries.max_calls_per_day and",
		"max_usd_per_month = -0.5":                         "summaries.max_usd_per_month, summaries.usd_per_million_input",
		"usd_per_million_input = 1":                        "make a price together; give both or none",
		"usd_per_million_input = \"1\"":                    "summaries.usd_per_million_input is of a wrong type; give an amount",
		"remote = \"yes\"":                                 "summaries.remote is of a wrong type; give true or false",
		"deny_workspaces = \"/x\"":                         "summaries.deny_workspaces is of a wrong type; give a list",
		"provider = \"ollama\"\ndeny_workspaces = [\"b\"]": `summaries.deny_workspaces has "b", which is no whole path`,
		"model = \"m\"\nendpoint = \"127.0.0.1:1\"":        `summaries.endpoint is "127.0.0.1:1"; give an address such as`,
		"model = \"m\"\nendpoint = \"http://u:pw@h/v1\"":   "and give a key by summaries.api_key_env",
		"model = \"m\"\nendpoint = \"http://h/v1/chat/completions\"": "summaries.endpoint ends with /chat/completions",
		"api_key = \"sk\"": `unknown key "summaries.api_key"; keys are never in this file: set it in the environment, and name the variable as api_key_env; known are`,
		"provider = \"openai\"\napi_key_env = \"sk-proj-abc\"": "summaries.api_key_env is no name of an environment variable; keys are never in this file",
	} {
		_, err := loadText(t, "[summaries]\n"+text+"\n", map[string]string{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.toml") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
