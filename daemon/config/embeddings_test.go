package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/config"
)

func loadText(t *testing.T, text string, vars map[string]string) (config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, text)
	vars["HOME"] = "/u"
	return config.Load(config.Flags{File: path}, env(vars))
}

func TestEmbeddings(t *testing.T) {
	c, err := config.Load(config.Flags{}, env(map[string]string{"HOME": "/u", "OPENAI_API_KEY": "sk-x"}))
	if err != nil || c.Embeddings.Provider != "" || c.Embeddings.Key != "" {
		t.Errorf("on by default: %+v, %v", c.Embeddings, err)
	}
	c, err = loadText(t, `[embeddings]
provider = "openai"
model = "text-embedding-3-large"
dims = 512
allow_remote = true
max_calls_per_day = 10
max_tokens_per_day = 1000
usd_per_million_tokens = 1
max_usd_per_day = 0.5
deny_workspaces = ["~/secret", " /srv/client ", 'C:\work', '\\?\C:\x']
`, map[string]string{"OPENAI_API_KEY": "sk-secret-1", "DASHSCOPE_API_KEY": "other"})
	e := c.Embeddings
	if err != nil || e.Key != "sk-secret-1" || e.Dims != 512 || *e.MaxCallsPerDay != 10 || e.USDPerMillionTokens != 1 || !slices.Equal(e.DenyWorkspaces, []string{"/u/secret", "/srv/client", `C:\work`, `\\?\C:\x`}) {
		t.Errorf("%+v, %v", e, err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("settings", "all", c, "key", e.Key)
	for _, shown := range []string{string(text), fmt.Sprintf("%v %+v %#v %s", c, c, c, e.Key), log.String()} {
		if strings.Contains(shown, "sk-secret-1") {
			t.Errorf("the key is shown: %s", shown)
		}
	}
	c, err = loadText(t, "[embeddings]\nprovider = \"dashscope\"\napi_key_env = \"MY_KEY\"\n", map[string]string{"MY_KEY": "k", "DASHSCOPE_API_KEY": "other"})
	if err != nil || c.Embeddings.Key != "k" || c.Embeddings.KeyVar != "MY_KEY" {
		t.Errorf("%+v, %v", c.Embeddings, err)
	}
}

// A cap of 0 is not one that is left out.
func TestCapsOfNothing(t *testing.T) {
	c, err := loadText(t, "[embeddings]\nprovider = \"ollama\"\nmax_calls_per_day = 0\nmax_tokens_per_day = 0\nmax_usd_per_day = 0\n", map[string]string{})
	if e := c.Embeddings; err != nil || e.MaxCallsPerDay == nil || *e.MaxCallsPerDay != 0 || e.MaxTokensPerDay == nil || e.MaxUSDPerDay == nil || *e.MaxUSDPerDay != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	c, err = loadText(t, "[embeddings]\nprovider = \"ollama\"\n", map[string]string{})
	if e := c.Embeddings; err != nil || e.MaxCallsPerDay != nil || e.MaxTokensPerDay != nil || e.MaxUSDPerDay != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestWrongEmbeddingsSayWhatToGive(t *testing.T) {
	for text, want := range map[string]string{
		`model = "m"`:                                                  "embeddings.provider is missing",
		`provider = "azure"`:                                           `embeddings.provider is "azure"; give "ollama"`,
		`provider = "custom"`:                                          "base_url and embeddings.model are needed",
		`provider = "model2vec"`:                                       "embeddings.dir is missing",
		"provider = \"ollama\"\ndir = \"/x\"":                          "for model2vec only",
		"provider = \"ollama\"\ndims = -1":                             "embeddings.dims is -1",
		"provider = \"ollama\"\ndims = \"1\"":                          "embeddings.dims is of a wrong type; give a whole number",
		"provider = \"ollama\"\nallow_remote = \"yes\"":                "embeddings.allow_remote is of a wrong type; give true or false",
		"provider = \"ollama\"\nmax_usd_per_day = 1.0":                 "needs embeddings.usd_per_million_tokens",
		"provider = \"ollama\"\nmax_calls_per_day = -1":                "numbers from 0 on",
		"provider = \"ollama\"\nusd_per_million_tokens = nan":          "amounts from 0 on",
		"provider = \"ollama\"\ndeny_workspaces = \"/x\"":              "embeddings.deny_workspaces is of a wrong type; give a list",
		"provider = \"ollama\"\ndeny_workspaces = [\"beta\"]":          `embeddings.deny_workspaces has "beta", which is no whole path of a folder; write`,
		"provider = \"ollama\"\ndeny_workspaces = [\"/a\", \"\"]":      `embeddings.deny_workspaces has "", which`,
		"provider = \"ollama\"\ndeny_workspaces = [\"./beta\"]":        `has "./beta", which`,
		"provider = \"ollama\"\ndeny_workspaces = [\"~dana/beta\"]":    `has "~dana/beta", which`,
		"provider = \"ollama\"\ndeny_workspaces = ['C:beta']":          `has "C:beta", which`,
		"provider = \"ollama\"\ndeny_workspaces = [\"/home/dana/*\"]":  `has "/home/dana/*", but takes no wildcards; write the folder itself`,
		"provider = \"ollama\"\nbase_url = \"localhost:11434\"":        `embeddings.base_url is "localhost:11434"; give an address such as`,
		"provider = \"ollama\"\nbase_url = \"http:///v1\"":             `embeddings.base_url is "http:///v1"; give`,
		"provider = \"ollama\"\nbase_url = \"ftp://x/v1\"":             `embeddings.base_url is "ftp://x/v1"; give`,
		"provider = \"ollama\"\nbase_url = \"http://u:pw@h/v1\"":       `embeddings.base_url of h has more than a host and a path`,
		"provider = \"ollama\"\nbase_url = \"x://u:pw@h/v1\"":          `embeddings.base_url is "[hidden]"`,
		"provider = \"ollama\"\nbase_url = \"http://h/v1/embeddings\"": `embeddings.base_url ends with /embeddings`,
		"provider = \"openai\"\napi_key_env = \"sk-abc\"":              "embeddings.api_key_env is no name of an environment variable",
		"provider = \"ollama\"\napi_key = \"sk\"":                      `unknown key "embeddings.api_key"`,
	} {
		if _, err := loadText(t, "[embeddings]\n"+text+"\n", map[string]string{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := loadText(t, "embeddings = true\n", map[string]string{}); err == nil || !strings.Contains(err.Error(), "write [embeddings]") {
		t.Errorf("got %v", err)
	}
}
