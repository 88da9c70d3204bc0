package exe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNoteIsLookedForAtMostOnceASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	put := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	put("old", old)
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch(File{Path: path, Size: 3, ModTime: old}, "v1.2.0")
		if n := w.Note(); n != "" {
			t.Errorf("at the start: %q", n)
		}
		put("newer", old.Add(time.Hour))
		if n := w.Note(); n != "" {
			t.Errorf("looked again at once: %q", n)
		}
		time.Sleep(lookEvery)
		if n, want := w.Note(), "session-migrator was updated (file changed at 2026-09-01T09:00:00Z)"; n != want {
			t.Errorf("%q, want %q", n, want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		if n := w.Note(); !strings.Contains(n, "removed") {
			t.Errorf("removed: %q", n)
		}
		put("old", old)
		time.Sleep(lookEvery)
		if n := w.Note(); n != "" {
			t.Errorf("put back: %q", n)
		}
	})
}

func TestOnlyReleasesAreNamed(t *testing.T) {
	for v, want := range map[string]bool{
		"v1.2.3": true, "v1.2.3-rc.1": true, "(devel)": false, "": false,
		"v1.2.4-0.20260901080000-0123456789ab": false, "v1.2.3+dirty": false,
	} {
		if got := released().MatchString(v); got != want {
			t.Errorf("%q: %t, want %t", v, got, want)
		}
	}
}
