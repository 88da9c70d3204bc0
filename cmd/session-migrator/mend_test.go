package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
)

func TestMendNamesTheFolder(t *testing.T) {
	dir := t.TempDir()
	c := config.Config{Home: filepath.Join(dir, "data"), File: filepath.Join(dir, "data", "config.toml"), MemoryDir: filepath.Join(dir, "notes")}
	denied := func(path string, errno syscall.Errno) error {
		return fmt.Errorf("write process id: %w", &fs.PathError{Op: "open", Path: path, Err: errno})
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"data folder", denied(filepath.Join(c.Run(), "daemon.pid"), syscall.EACCES), "write to " + c.Home + " "},
		{"read-only disk", denied(filepath.Join(c.Run(), "daemon.pid"), syscall.EROFS), "write to " + c.Home + " "},
		{"drop folder", denied(filepath.Join(c.MemoryDir, "INDEX.md"), syscall.EACCES), "write to " + c.MemoryDir + " "},
		{"drop folder, as it is seen from inside", denied("projects/a/b.md", syscall.EACCES), "write to " + c.MemoryDir + " "},
		{"nothing to be seen", errors.New("out of luck"), ""},
		{"locked", &daemon.LockedError{Home: c.Home, Daemon: true}, "stop that daemon"},
		{"told already", hinted(denied(c.Home, syscall.EACCES), "as said"), "as said"},
		{"a sentinel's own hint", store.ErrFull, "disk"},
	} {
		_, hint := classify(tc.err)
		if h, ok := errors.AsType[*hintError](explained(c, tc.err)); ok {
			hint = h.hint
		}
		if (tc.want == "") != (hint == "") || !strings.Contains(hint, tc.want) {
			t.Errorf("%s: hint %q, want %q in it", tc.name, hint, tc.want)
		}
	}
	if err := explained(c, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestFoldersAreApartFromCodex(t *testing.T) {
	dir := t.TempDir()
	codex := filepath.Join(dir, "codex")
	if err := os.Mkdir(codex, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(codex, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	for _, tc := range []struct {
		name, home, memory string
		apart              bool
	}{
		{"beside", "data", "data/memory", true},
		{"a name that begins alike", "codex-data", "codex-data/memory", true},
		{"a name that begins with dots", "..data", "..data/memory", true},
		{"around it", ".", "memory", true},
		{"the home itself", "codex", "memory", false},
		{"in it", "codex/a/b", "memory", false},
		{"in it by a link", "link/data", "memory", false},
		{"memory in it", "data", "codex/memory", false},
		{"memory in it by a link", "data", "link/memory", false},
	} {
		c := config.Config{Home: filepath.Join(dir, tc.home), MemoryDir: filepath.Join(dir, tc.memory), CodexHomes: []string{filepath.Join(dir, "other"), codex}}
		err := apart(c)
		if (err == nil) != tc.apart {
			t.Errorf("%s: %v", tc.name, err)
		}
		if code, _ := classify(err); err != nil && code != exitUsage {
			t.Errorf("%s: exit code %d", tc.name, code)
		}
	}
}

func TestFewReasons(t *testing.T) {
	all := []string{"1", "2", "3", "4", "5", "6", "7"}
	for _, tc := range []struct {
		n, more int
		want    string
	}{
		{0, 0, ""}, {5, 0, "1 2 3 4 5"}, {6, 0, "1 2 3 4 5 1 more"}, {3, 1200, "1 2 3 1,200 more"}, {7, 10, "1 2 3 4 5 12 more"},
	} {
		if got := strings.Join(fewReasons(all[:tc.n], tc.more), " "); got != tc.want {
			t.Errorf("of %d and %d more: %q, want %q", tc.n, tc.more, got, tc.want)
		}
	}
	if all[5] != "6" {
		t.Error("the list given was written to")
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/$x": "'/$x'"} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %q, want %q", in, got, want)
		}
	}
}
