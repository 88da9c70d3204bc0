// Package sinktest is the contract that every sink keeps. A sink's own test
// calls Run; what is special about its consumer it tests itself.
//
//	[1] documents: files of ours, one a thread
//	[2] shared files, if the sink has any
package sinktest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// Subject is a sink on a machine of its own.
type Subject struct {
	Sink sink.Sink
	Home string // all of the machine's files lie below it
	Dir  string // paths of receipts that are not absolute lie below it
	// Roots are the folders below which the sink may write.
	Roots []string
	// Workspace and Cwd are of threads that the sink has a place for.
	Workspace, Cwd string
	// Bare says that the sink writes no files of single threads.
	Bare bool
	// Updates is how often a file is written while it is read; 0: a few times.
	Updates int
	// Files are the shared files that it keeps for the workspace.
	Files []File
}

// File is a shared file.
type File struct {
	Path string // absolute
	// Whole says that the file is ours as a whole, or none.
	Whole bool
	// What the file may have once our part is in it; 0: no limit.
	Units, Bytes, Lines int
	// Part is the most of our part, UTF-16 units or bytes, whichever the
	// consumer counts; 0: no limit.
	PartUnits, PartBytes int
	// All says that the file is about all workspaces.
	All bool
}

// Open makes a sink on a machine where its consumer is at home and nothing was
// written yet.
type Open func(t *testing.T) Subject

// Run tests that the sinks made by open keep the contract.
func Run(t *testing.T, open Open) {
	t.Run("documents", func(t *testing.T) { documents(t, open) })
	t.Run("shared", func(t *testing.T) { shared(t, open) })
}

func documents(t *testing.T, open Open) {
	tests := []struct {
		name string
		test func(*testing.T, *fixture)
	}{
		{"writes and tells", writes},
		{"leaves equal content alone", leavesEqual},
		{"replaces under the old name", replaces},
		{"leaves an edited file alone for good", leavesEdited},
		{"leaves a foreign file alone", leavesForeign},
		{"writes again what was deleted", writesDeleted},
		{"removes what it wrote", removes},
		{"removes nothing else", removesNothingElse},
		{"keeps to its folder", keepsInside},
		{"stops when told to", stops},
		{"keeps files private", private},
		{"keeps to its limits", keepsLimits},
		{"says when a folder can't be written", readOnly},
		{"replaces files whole", replacesWhole},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			f := &fixture{Subject: open(t)}
			f.s, f.before = f.Sink, map[string]bool{}
			for name := range tree(t, f.Home) {
				f.before[name] = true
			}
			if f.Bare {
				f.bare(t)
				return
			}
			c.test(t, f)
			f.clean(t)
		})
	}
}

type fixture struct {
	Subject
	s      sink.Sink
	before map[string]bool // what was there, below Home
}

// bare tests a sink without files of single threads.
func (f *fixture) bare(t *testing.T) {
	before := tree(t, f.Home)
	r, err := f.s.Put(t.Context(), f.artifact("one", sink.Receipt{}))
	if err != nil || r.State != sink.StateNone || r.Path != "" {
		t.Errorf("put: %+v, %v", r, err)
	}
	if err := f.s.Remove(t.Context(), r); err != nil {
		t.Errorf("remove: %v", err)
	}
	same(t, before, tree(t, f.Home))
}

// clean tests that nothing is outside of where it may be.
func (f *fixture) clean(t *testing.T) {
	t.Helper()
	for name := range tree(t, f.Home) {
		full := filepath.Join(f.Home, name)
		inside := func(root string) bool {
			rel, err := filepath.Rel(root, full)
			return err == nil && filepath.IsLocal(rel)
		}
		if !slices.ContainsFunc(f.Roots, inside) && !f.before[name] {
			t.Errorf("%s was written, outside of %v", full, f.Roots)
		}
	}
}

func (f *fixture) artifact(text string, last sink.Receipt) sink.Artifact {
	return sink.Artifact{
		ThreadID: "019c4a10-9790-7c5e-9a41-3f08b7d20e63", Workspace: f.Workspace, Cwd: f.Cwd,
		Name: "2026-02-11-0818-freeze-golden-invoices-b7d20e63.md", Data: []byte(text), Last: last,
	}
}

func (f *fixture) put(t *testing.T, a sink.Artifact) sink.Receipt {
	t.Helper()
	r, err := f.s.Put(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f *fixture) path(r sink.Receipt) string {
	if name := filepath.FromSlash(r.Path); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.Dir, filepath.FromSlash(r.Path))
}

func (f *fixture) want(t *testing.T, r sink.Receipt, text string) {
	t.Helper()
	got, err := os.ReadFile(f.path(r))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("file holds %q, want %q", got, text)
	}
}

func (f *fixture) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writes(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	f.want(t, r, "one")
	if r.State != sink.StateWritten || r.Sink != f.s.Name() || r.ThreadID == "" || r.Size != 3 || len(r.Hash) != 64 {
		t.Errorf("receipt %+v", r)
	}
}

func leavesEqual(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(f.path(r), old, old); err != nil {
		t.Fatal(err)
	}
	again := f.put(t, f.artifact("one", r))
	if again.State != sink.StateUnchanged || again.Hash != r.Hash || again.Path != r.Path {
		t.Errorf("receipt %+v", again)
	}
	// Also without a receipt: equal content is equal.
	if lost := f.put(t, f.artifact("one", sink.Receipt{})); lost.State != sink.StateUnchanged {
		t.Errorf("receipt %+v", lost)
	}
	if info, err := os.Stat(f.path(r)); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("file was written again: %v, %v", info, err)
	}
}

func replaces(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	a := f.artifact("two, longer", r)
	a.Name, a.Workspace, a.Cwd = "2026-02-11-0818-another-title-b7d20e63.md", "/elsewhere", "/elsewhere"
	next := f.put(t, a)
	if next.State != sink.StateWritten || next.Path != r.Path || next.Hash == r.Hash {
		t.Errorf("receipt %+v after %+v", next, r)
	}
	f.want(t, next, "two, longer")
}

func leavesEdited(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	f.write(t, f.path(r), "one, with a note of mine")
	edited := f.put(t, f.artifact("two", r))
	if edited.State != sink.StateEdited || edited.Path != r.Path {
		t.Errorf("receipt %+v", edited)
	}
	// Even if it looks like ours again.
	f.write(t, f.path(r), "one")
	if later := f.put(t, f.artifact("three", edited)); later.State != sink.StateEdited {
		t.Errorf("receipt %+v", later)
	}
	f.want(t, r, "one")
	if err := f.s.Remove(t.Context(), edited); !errors.Is(err, sink.ErrEdited) {
		t.Errorf("remove: %v", err)
	}
	f.want(t, r, "one")
}

func leavesForeign(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	f.write(t, f.path(r), "somebody else's")
	lost := f.put(t, f.artifact("two", sink.Receipt{}))
	if lost.State != sink.StateEdited {
		t.Errorf("receipt %+v", lost)
	}
	f.want(t, r, "somebody else's")
}

func writesDeleted(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	if err := os.Remove(f.path(r)); err != nil {
		t.Fatal(err)
	}
	if again := f.put(t, f.artifact("one", r)); again.State != sink.StateWritten {
		t.Errorf("receipt %+v", again)
	}
	f.want(t, r, "one")
}

func removes(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	for range 2 { // gone already is no error
		if err := f.s.Remove(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(f.path(r)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("file is still there: %v", err)
	}
}

func removesNothingElse(t *testing.T, f *fixture) {
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	beside := filepath.Join(filepath.Dir(f.path(r)), "note-of-mine.md")
	f.write(t, beside, "mine")
	f.write(t, f.path(r), "changed since")
	if err := f.s.Remove(t.Context(), r); !errors.Is(err, sink.ErrEdited) {
		t.Errorf("remove of a changed file: %v", err)
	}
	f.want(t, r, "changed since")
	f.write(t, f.path(r), "one")
	if err := f.s.Remove(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(beside); err != nil || string(got) != "mine" {
		t.Errorf("the file beside it: %q, %v", got, err)
	}
}

func keepsInside(t *testing.T, f *fixture) {
	outside := t.TempDir()
	for _, name := range []string{"", ".", "..", "../x.md", "a/b.md", `a\b.md`, "/etc/x.md", "a\x00.md", "A.md", "x.txt", ".hidden.md", "con.md", "com1.md", "a..md", "ü.md", "-x.md", outside + "/x.md"} {
		a := f.artifact("x", sink.Receipt{})
		a.Name = name
		if r, err := f.s.Put(t.Context(), a); err == nil {
			t.Errorf("name %q was written to %q", name, r.Path)
		}
	}
	for _, path := range []string{"../x.md", "/etc/passwd", "projects/../../x.md", "x.md", "."} {
		if _, err := f.s.Put(t.Context(), f.artifact("x", sink.Receipt{Path: path})); err == nil {
			t.Errorf("path %q was written", path)
		}
		if err := f.s.Remove(t.Context(), sink.Receipt{Path: path}); err == nil {
			t.Errorf("path %q was removed", path)
		}
	}
	a := f.artifact("x", sink.Receipt{})
	a.Workspace = "/home/../../../etc\x00/..\n"
	r := f.put(t, a)
	f.want(t, r, "x")

	// A folder swapped for a link to elsewhere.
	parent := filepath.Dir(f.path(r))
	if err := os.RemoveAll(parent); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, parent); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if r, err := f.s.Put(t.Context(), a); err == nil && r.State != sink.StateNone {
		t.Errorf("written through a link: %+v", r)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside holds %v, %v", entries, err)
	}
}

func stops(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.s.Put(ctx, f.artifact("one", sink.Receipt{})); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	if err := f.s.Remove(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("remove: %v", err)
	}
	f.want(t, r, "one")
}

func private(t *testing.T, f *fixture) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits carry no rights on windows")
	}
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	if info, err := os.Stat(f.path(r)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(f.path(r))); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(f.path(r)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if bytes.HasSuffix([]byte(e.Name()), []byte(".tmp")) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// The most that is allowed is written, and one more is refused: with the limit
// nowhere near, nothing says whether there is one.
func keepsLimits(t *testing.T, f *fixture) {
	l := f.s.Limits()
	n := l.Units
	if l.Bytes > 0 && (n == 0 || l.Bytes < n) {
		n = l.Bytes
	}
	if n == 0 {
		t.Skip("no limits")
	}
	r := f.put(t, f.artifact(strings.Repeat("x", n), sink.Receipt{}))
	if r.State != sink.StateWritten {
		t.Errorf("the most: %+v", r)
	}
	if _, err := f.s.Put(t.Context(), f.artifact(strings.Repeat("x", n+1), r)); err == nil {
		t.Errorf("%d were taken, the most is %d", n+1, n)
	}
	f.want(t, r, strings.Repeat("x", n))
	if l.Units > 0 && l.Bytes == 0 { // characters beyond the BMP are two units
		if _, err := f.s.Put(t.Context(), f.artifact(strings.Repeat("😀", n/2)+"x", r)); err == nil {
			t.Error("units were counted as characters")
		}
		f.put(t, f.artifact(strings.Repeat("长", n), r))
	}
}

func readOnly(t *testing.T, f *fixture) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("nothing is read-only for this user")
	}
	r := f.put(t, f.artifact("one", sink.Receipt{}))
	dir := filepath.Dir(f.path(r))
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := f.s.Put(t.Context(), f.artifact("two", r))
	if err2 := os.Chmod(dir, 0o700); err2 != nil {
		t.Fatal(err2)
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("put: %v", err)
	}
	f.want(t, r, "one")
}

// Who reads all the time sees whole documents only.
func replacesWhole(t *testing.T, f *fixture) {
	var r sink.Receipt
	text := func(i int) string { return "begin " + strings.Repeat("x", i*97) + " end" }
	r = f.put(t, f.artifact(text(0), r))
	stop := poll(t, f.path(r), "begin ", " end")
	for i := range f.updates() {
		r = f.put(t, f.artifact(text(1+i%100), r))
	}
	stop()
}
