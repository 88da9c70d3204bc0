package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func env(m map[string]string) config.Env { return func(k string) string { return m[k] } }

func TestWhichHome(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(filepath.Join(dir, "real"), linked); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "settings.toml"), `codex_homes = ["~/one", "/two"]`)
	for _, c := range []struct {
		name  string
		flags config.Flags
		env   map[string]string
		want  []string
	}{
		{"default", config.Flags{}, map[string]string{"HOME": "/u"}, []string{"/u/.codex"}},
		{"windows", config.Flags{}, map[string]string{"USERPROFILE": "/w"}, []string{"/w/.codex"}},
		{"variable", config.Flags{}, map[string]string{"HOME": "/u", "CODEX_HOME": "/c"}, []string{"/c"}},
		{"relative variable", config.Flags{}, map[string]string{"HOME": "/u", "CODEX_HOME": "c"}, []string{filepath.Join(dir, "c")}},
		{"link", config.Flags{}, map[string]string{"HOME": "/u", "CODEX_HOME": linked}, []string{linked}},
		{"tilde", config.Flags{CodexHomes: []string{"~/.codex-work"}}, map[string]string{"HOME": "/u"}, []string{"/u/.codex-work"}},
		{"flags win", config.Flags{CodexHomes: []string{"/a", "/b"}}, map[string]string{"HOME": "/u", "CODEX_HOME": "/c"}, []string{"/a", "/b"}},
		{"settings", config.Flags{File: filepath.Join(dir, "settings.toml")}, map[string]string{"HOME": "/u"}, []string{"/u/one", "/two"}},
		{"variable over settings", config.Flags{File: filepath.Join(dir, "settings.toml")}, map[string]string{"HOME": "/u", "CODEX_HOME": "/c"}, []string{"/c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Load(c.flags, env(c.env))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.CodexHomes, c.want) {
				t.Errorf("got %q, want %q", got.CodexHomes, c.want)
			}
		})
	}
}

func TestDataFolder(t *testing.T) {
	c, err := config.Load(config.Flags{}, env(map[string]string{"HOME": "/u"}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Home != "/u/.session-migrator" || c.DB() != "/u/.session-migrator/session-migrator.db" || c.MemoryDir != "/u/.session-migrator/memory" {
		t.Errorf("%+v", c)
	}
	if c, err = config.Load(config.Flags{Home: "/d"}, env(map[string]string{"HOME": "/u", "SESSION_MIGRATOR_HOME": "/e"})); err != nil || c.Home != "/d" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err = config.Load(config.Flags{}, env(nil)); !errors.Is(err, config.ErrNoUser) || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("no home folder: %v", err)
	}
	if _, err = config.Load(config.Flags{Home: "/d"}, env(nil)); !errors.Is(err, config.ErrNoUser) {
		t.Errorf("no home folder to find the Codex home in: %v", err)
	}
	c, err = config.Load(config.Flags{Home: "/d", CodexHomes: []string{"/c"}}, env(nil))
	if err != nil || c.Home != "/d" || !slices.Equal(c.CodexHomes, []string{"/c"}) || c.MemoryDir != "/d/memory" {
		t.Errorf("all folders given, and still a home folder is wanted: %+v, %v", c, err)
	}
}

func TestWhereOtherProgramsLook(t *testing.T) {
	c, err := config.Load(config.Flags{}, env(map[string]string{"HOME": "/u", "CLAUDE_CONFIG_DIR": "/c", "SHELL": "/bin/sh"}))
	if err != nil || c.User != "/u" || len(c.Vars) != 1 || c.Vars["CLAUDE_CONFIG_DIR"] != "/c" {
		t.Errorf("%q, %v, %v", c.User, c.Vars, err)
	}
	if c, err = config.Load(config.Flags{Home: "/d", CodexHomes: []string{"/c"}}, env(nil)); err != nil || c.User != "" {
		t.Errorf("%q, %v", c.User, err)
	}
}

func TestWrongSettingsSayWhere(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "targets = [\n", "line"},
		{"unknown key", "codex_home = \"/x\"\n", `unknown key "codex_home"`},
		{"comfort", "[decide]\ncomfort = 2.0\n", "decide.comfort"},
		{"reserve", "[decide]\nreserve = -1\n", "decide.reserve"},
		{"window", "[models.\"gpt-9\"]\ncontext = 12\n", "gpt-9"},
		{"number for a list", "targets = 3\n", `targets is of a wrong type; give a list of texts in quotes`},
		{"numbers in a list", "codex_homes = [1]\n", `codex_homes is of a wrong type; give a list of texts in quotes`},
		{"text for a number", "[decide]\nreserve = \"much\"\n", "decide.reserve is of a wrong type; give a whole number of tokens"},
		{"threshold", "[handoff]\nthreshold = 80\n", "handoff.threshold is 80; give a share between 0 and 1"},
		{"no threshold", "[handoff]\nthreshold = nan\n", "handoff.threshold"},
		{"text for a threshold", "[handoff]\nthreshold = \"80 %\"\n", "handoff.threshold is of a wrong type; give a share such as 0.8"},
		{"text for a switch", "[handoff]\nthreshold = 1\nnotify = \"yes\"\n", "handoff.notify is of a wrong type; give true or false, without quotes"},
		{"a value for a table", "handoff = true\n", "handoff is of a wrong type; write [handoff]"},
		{"unknown in a table", "[handoff]\nbus = \"x\"\n", "unknown key \"handoff.bus\"; known are codex_homes, targets"},
		{"text for a share", "[decide]\ncomfort = \"0.6\"\n", "decide.comfort is of a wrong type; give a share such as 0.6"},
		{"whole number for a share", "[decide]\ncomfort = 1\nreserve = 1.5\n", "decide.reserve is of a wrong type"},
		{"number for a folder", "[memory]\ndir = 3\n", "memory.dir is of a wrong type; give a folder in quotes"},
		{"list for a table", "memory = [\"a\"]\n", "write [memory] and its settings below it"},
		{"number for models", "models = 3\n", "write [models.NAME] and its settings below it"},
		{"number for a model", "models.a = 3\n", "write [models.a] and its settings below it"},
		{"share for a window", "[models.a]\ncontext = 1.5\n", "models.a.context is of a wrong type; give a whole number of tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			write(t, path, c.text)
			_, err := config.Load(config.Flags{File: path}, env(map[string]string{"HOME": "/u"}))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want it to name %q and the file", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "int64") || strings.Contains(err.Error(), "destination")) {
				t.Errorf("%v speaks of Go's types", err)
			}
		})
	}
	if _, err := config.Load(config.Flags{File: "/no/such/file"}, env(map[string]string{"HOME": "/u"})); err == nil {
		t.Error("a file that was asked for is missing, and nothing is said")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzLoad(f *testing.F) {
	reliability.Figure(f, 23, "settings: the seeds and all inputs that were ever found wrong; make fuzz goes on from them")
	f.Add("codex_homes = [\"/a\"]\n[models.\"x\"]\ncontext = 100000\n")
	f.Add("targets = [\"gpt-5\"]\n[decide]\ncomfort = 0.5\n")
	f.Add("\xff\x00=")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config.toml")
		write(t, path, text)
		c, err := config.Load(config.Flags{File: path}, env(map[string]string{"HOME": "/u"}))
		if err == nil && (len(c.CodexHomes) == 0 || !filepath.IsAbs(c.MemoryDir)) {
			t.Errorf("accepted, but %+v", c)
		}
	})
}

func TestHandoff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("[handoff]\nthreshold = 0.9\nnotify = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Flags{File: path}, env(map[string]string{"HOME": "/u", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}))
	if want := (config.Handoff{Threshold: 0.9, Notify: true, Bus: "unix:path=/run/bus"}); err != nil || c.Handoff != want {
		t.Errorf("%+v, %v", c.Handoff, err)
	}
}
