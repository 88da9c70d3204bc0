package choices_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

func TestChoicesComeBack(t *testing.T) {
	home := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(home, choices.Name)
	if c, err := choices.Load(home); err != nil || !reflect.DeepEqual(c, choices.Choices{}) {
		t.Fatalf("without a file: %+v, %v", c, err)
	}
	on := true
	want := choices.Choices{
		Sinks: map[string]choices.Choice{
			"claude":    {Choice: sink.Choice{Enabled: &on, At: time.Date(2026, 11, 1, 2, 3, 4, 0, time.UTC)}},
			"agents-md": {Choice: sink.Choice{Workspaces: []string{"/w", `C:\w`}, Dir: "/d"}, Off: []string{"/x"}, Keep: true},
		},
		Pins: []string{"a", "b"},
	}
	if err := choices.Change(home, func(c *choices.Choices) error { *c = want; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := choices.Load(home); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "{\n  \"schema\": 1,\n  \"sinks\"") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestBrokenChoicesSayWhereAndStay(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1: the file ends too early"},
		{"cut", "{\n\"schema\": 1,\n\"sinks\": {\n", "line 4: the file ends too early"},
		{"syntax", "{\n\"schema\": 1,\n\"pins\": [\"a\" \"b\"]}", "line 3: invalid character"},
		{"type", "{\n\"schema\": 1,\n\"sinks\": {\"claude\": {\n\"enabled\": \"yes\"}}}", "line 4: enabled is a string"},
		{"unknown field", "{\n\"schema\": 1,\n\"sinks\": {\"claude\": {\"enable\": true}}}", "unknown field \"enable\""},
		{"newer", "{\"schema\": 2}", "its schema is 2"},
		{"none", "{}", "its schema is 0"},
		{"more", "{\"schema\": 1}\n{}", "behind its end"},
		{"relative", "{\"schema\": 1,\n\"sinks\": {\"claude\": {\"dir\": \"a/b\"}}}", "line 2: claude: folder \"a/b\" is not absolute"},
		{"huge", `{"schema": 1, "pins": ["` + strings.Repeat("x", 1<<20) + `"]}`, "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, choices.Name)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := choices.Load(home)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want it to name %q and the file", err, c.want)
			}
			if err := choices.Change(home, func(*choices.Choices) error { return nil }); err == nil {
				t.Error("a broken file was changed")
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != c.text {
				t.Errorf("it is %.80q now, %v", now, err)
			}
		})
	}
}

func TestTwoThatChangeAtOnce(t *testing.T) {
	home := t.TempDir()
	const n = 20
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			err := choices.Change(home, func(c *choices.Choices) error { c.Pins = append(c.Pins, fmt.Sprintf("%02d", i)); return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	c, err := choices.Load(home)
	slices.Sort(c.Pins)
	if err != nil || len(slices.Compact(c.Pins)) != n {
		t.Errorf("%q, %v", c.Pins, err)
	}
}
