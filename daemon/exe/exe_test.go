package exe_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/exe"
)

// asChild makes the test binary a process that answers each line it is sent
// with what it thinks of its own file.
const asChild = "PROGRAM_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(m.Run())
	}
	f := exe.This()
	in := bufio.NewScanner(os.Stdin)
	for fmt.Println("ready"); in.Scan(); {
		c, changed := f.Changed()
		fmt.Println(changed, c.Gone)
	}
}

// child is a copy of the test binary, running.
type child struct {
	t     *testing.T
	in    io.Writer
	lines *bufio.Scanner
}

// start runs the program at path by the name given.
func start(t *testing.T, path, name string, env ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path) // it ends with its input
	cmd.Args[0] = name
	cmd.Env = append(append(os.Environ(), asChild+"=1"), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	})
	c := &child{t, in, bufio.NewScanner(out)}
	c.read("ready")
	return c
}

func (c *child) read(want string) {
	c.t.Helper()
	if !c.lines.Scan() || c.lines.Text() != want {
		c.t.Fatalf("child says %q (%v), want %q", c.lines.Text(), c.lines.Err(), want)
	}
}

func (c *child) thinks(changed, gone bool) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, "?\n"); err != nil {
		c.t.Fatal(err)
	}
	c.read(fmt.Sprint(changed, " ", gone))
}

// install puts a copy of the test binary at path, as old as the original.
func install(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return // quick; another name, the same file
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
}

func exeName(dir string) string {
	name := filepath.Join(dir, "session-migrator")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// another is what an upgrade puts in place: it needn't run.
func another(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "new")
	if err := os.WriteFile(path, []byte("another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// A running program can be renamed on every system, and another put in its
// place; that is how installers do it.
func TestReplacedWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	path := exeName(dir)
	install(t, path)
	c := start(t, path, path)
	c.thinks(false, false)
	rename(t, path, path+".old")
	c.thinks(true, true)
	rename(t, another(t, dir), path)
	c.thinks(true, false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	rename(t, path+".old", path) // taken back
	c.thinks(false, false)
}

func TestRenamedOverWhileItRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a running program can't be renamed over")
	}
	dir := t.TempDir()
	path := exeName(dir)
	install(t, path)
	c := start(t, path, path)
	// The same size and time, another file: the name alone can't tell.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copy")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(copied, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	c.thinks(false, false)
	rename(t, copied, path)
	c.thinks(true, false)
}

// Homebrew keeps the old version's folder and turns the link.
func TestLinkTurnedWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	link, old := exeName(dir), filepath.Join(dir, "1.2")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	install(t, exeName(old))
	if err := os.Symlink(exeName(old), link); err != nil {
		t.Skip("no links here: ", err)
	}
	byPath := start(t, link, link)
	byName := start(t, link, filepath.Base(link), "PATH="+dir) // as a shell starts it
	byFile := start(t, exeName(old), exeName(old))
	for _, c := range []*child{byPath, byName, byFile} {
		c.thinks(false, false)
	}
	turned := filepath.Join(dir, "turned")
	if err := os.Symlink(another(t, dir), turned); err != nil {
		t.Fatal(err)
	}
	rename(t, turned, link)
	byPath.thinks(true, false)
	byName.thinks(true, false)
	byFile.thinks(false, false) // that one is still what it was
}

func TestAskedFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	path := another(t, dir)
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f := exe.File{Path: path, Size: st.Size(), ModTime: st.ModTime().UTC()}
	if c, changed := f.Changed(); changed {
		t.Errorf("%+v, though nothing happened", c)
	}
	later := st.ModTime().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if c, changed := f.Changed(); !changed || c.Gone || !c.At.Equal(later) || c.Version() != "" {
		t.Errorf("%+v, %t", c, changed)
	}
	if _, changed := (exe.File{}).Changed(); changed {
		t.Error("a program that isn't known was replaced")
	}
}

func TestThisIsTheTest(t *testing.T) {
	f := exe.This()
	if !strings.Contains(filepath.Base(f.Path), "exe.test") || f.Size == 0 {
		t.Errorf("%+v", f)
	}
}
