package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/config"
)

// counting loads settings with a home folder and a key in the environment.
func counting(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": dir, "USERPROFILE": dir, "ANTHROPIC_API_KEY": " sk-usual ", "MINE": "sk-mine"}
	return config.Load(config.Flags{Home: dir}, func(name string) string { return env[name] })
}

func TestCountingIsOffByDefault(t *testing.T) {
	c, err := counting(t, "")
	if err != nil || len(c.Counting.Vendors) != 0 || len(c.Counting.Keys) != 0 {
		t.Errorf("%+v, %v", c.Counting, err)
	}
}

func TestCountingKeys(t *testing.T) {
	c, err := counting(t, `counting = { vendors = ["anthropic", "xai"], api_key_env = { xai = "MINE" }, deny_workspaces = ["~/secret"], max_calls_per_day = 0 }`)
	if err != nil {
		t.Fatal(err)
	}
	k := c.Counting.Keys
	if string(k["anthropic"].Value) != "sk-usual" || string(k["xai"].Value) != "sk-mine" || k["xai"].Var != "MINE" || *c.Counting.MaxCallsPerDay != 0 {
		t.Errorf("%+v", c.Counting)
	}
	if d := c.Counting.DenyWorkspaces; len(d) != 1 || !strings.HasSuffix(filepath.ToSlash(d[0]), "/secret") || strings.HasPrefix(d[0], "~") {
		t.Errorf("denied %v", d)
	}
	if said := fmt.Sprintf("%v %+v", c, c.Counting); strings.Contains(said, "sk-") {
		t.Errorf("it tells the key: %s", said)
	}
}

func TestWrongCounting(t *testing.T) {
	for text, want := range map[string]string{
		`counting = 1`:                                    "write [counting]",
		"[counting]\nvendors = \"anthropic\"":             "a list of texts",
		"[counting]\nvendors = [\"acme\"]":                `names the vendor "acme"`,
		"[counting]\napi_key_env = { acme = \"X\" }":      `names the vendor "acme"`,
		"[counting]\nbase_url = { xai = 1 }":              "counting.base_url.xai is of a wrong type",
		"[counting]\nmax_calls_per_day = -1":              "numbers from 0 on",
		"[counting]\nmax_calls_per_day = \"9\"":           "counting.max_calls_per_day is of a wrong type",
		"[counting]\ndeny_workspaces = [\"work/*\"]":      "counting.deny_workspaces",
		"[counting]\napi_key_env = { xai = \"xai-abc\" }": "counting.api_key_env.xai is no name of an environment variable",
		"[counting]\nkey = \"sk\"":                        "unknown key",
	} {
		if _, err := counting(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
