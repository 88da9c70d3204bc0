package atomicfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteReplacesWholeAndLeavesNothingBehind(t *testing.T) {
	root, dir := open(t)
	for _, text := range []string{"first, the longer one", "second", ""} {
		if err := atomicfile.Write(root, "a.md", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := content(t, filepath.Join(dir, "a.md")); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("folder holds %q, want a.md alone", got)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits carry no rights on windows")
	}
	root, dir := open(t)
	if err := atomicfile.MkdirAll(root, "x/y"); err != nil {
		t.Fatal(err)
	}
	for _, perm := range []fs.FileMode{0o600, 0o644, 0o640} {
		if err := atomicfile.Write(root, "x/y/f", []byte("1"), perm); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "x/y/f"))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != perm {
			t.Errorf("file mode %o, want %o", got, perm)
		}
	}
	for _, name := range []string{"x", "x/y"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("mode of folder %s is %o, want 700", name, got)
		}
	}
}

func TestWriteIfChanged(t *testing.T) {
	root, dir := open(t)
	name := filepath.Join(dir, "a")
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(text string) bool {
		t.Helper()
		changed, err := atomicfile.WriteIfChanged(root, "a", []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	if !write("one") {
		t.Error("new file: not changed")
	}
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	if write("one") {
		t.Error("equal content: changed")
	}
	if info, err := os.Stat(name); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("equal content was written again: %v, %v", info.ModTime(), err)
	}
	if !write("two") || content(t, name) != "two" { // same length
		t.Error("other content of equal length was not written")
	}
}

func TestWriteIfChangedSetsModeRight(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits carry no rights on windows")
	}
	root, dir := open(t)
	name := filepath.Join(dir, "a")
	if err := os.WriteFile(name, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if changed, err := atomicfile.WriteIfChanged(root, "a", []byte("one"), 0o600); changed || err != nil {
		t.Fatal(changed, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestLinkAtTargetIsReplacedNotFollowed(t *testing.T) {
	root, dir := open(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "a")
	if err := os.Symlink(outside, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	// The same bytes as behind the link: still no reason to keep the link.
	if changed, err := atomicfile.WriteIfChanged(root, "a", []byte("theirs"), 0o600); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if got := content(t, outside); got != "theirs" {
		t.Errorf("the file behind the link was written: %q", got)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("target is still %v, %v", info.Mode(), err)
	}
}

// Not even if the link's own length and the content behind it are the same as
// what is written.
func TestLinkInsideTheRootIsReplacedToo(t *testing.T) {
	root, dir := open(t)
	if err := os.WriteFile(filepath.Join(dir, "cd"), []byte("ab"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("cd", filepath.Join(dir, "a")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if changed, err := atomicfile.WriteIfChanged(root, "a", []byte("ab"), 0o600); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "a")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("target is still %v, %v", info.Mode(), err)
	}
}

func TestNothingOutsideTheRoot(t *testing.T) {
	root, dir := open(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "linked")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	for _, name := range []string{"../x", "linked/x", outside + "/x", "a\x00b", ""} {
		if err := atomicfile.Write(root, name, []byte("x"), 0o600); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if got := names(t, outside); len(got) != 0 {
		t.Errorf("outside holds %q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("root holds %q, want the link alone", got)
	}
}

func TestFolderAtTargetIsAnError(t *testing.T) {
	root, dir := open(t)
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	changed, err := atomicfile.WriteIfChanged(root, "a", []byte("x"), 0o600)
	if err == nil || !strings.Contains(err.Error(), "write a:") {
		t.Errorf("changed %v, error %v", changed, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("folder holds %q, want a alone", got)
	}
	if err := atomicfile.Write(root, "none/x", nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: error %v", err)
	}
}

func TestSweepTakesOldTemporariesOnly(t *testing.T) {
	root, dir := open(t)
	now := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	old := now.Add(-time.Hour)
	files := []struct {
		name string
		time time.Time
		kept bool
	}{
		{".sm-0123456789abcdef.tmp", old, false},
		{"p/q/.sm-aaaaaaaaaaaaaaaa.tmp", old, false},
		{".sm-0123456789abcdee.tmp", now, true},
		{".sm-0123456789ABCDEF.tmp", old, true},
		{".sm-0123.tmp", old, true},
		{".sm-0123456789abcdef.tmp.md", old, true},
		{"note.tmp", old, true},
		{"p/a.md", old, true},
	}
	if err := atomicfile.MkdirAll(root, "p/q"); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		full := filepath.Join(dir, f.name)
		if err := os.WriteFile(full, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(full, f.time, f.time); err != nil {
			t.Fatal(err)
		}
	}
	// A folder by the name of a temporary is none of ours.
	if err := os.Mkdir(filepath.Join(dir, ".sm-bbbbbbbbbbbbbbbb.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	removed, err := atomicfile.Sweep(root, now.Add(-time.Minute))
	if removed != 2 || err != nil {
		t.Errorf("removed %d, error %v; want 2", removed, err)
	}
	for _, f := range files {
		_, err := os.Stat(filepath.Join(dir, f.name))
		if kept := err == nil; kept != f.kept {
			t.Errorf("%s kept: %v, want %v", f.name, kept, f.kept)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".sm-bbbbbbbbbbbbbbbb.tmp")); err != nil {
		t.Error(err)
	}
}

// A reader that opens the file again and again while it is written sees only
// whole contents, each made of one letter and of one of the written lengths.
func TestReadersSeeWholeContentOnly(t *testing.T) {
	root, dir := open(t)
	if err := atomicfile.Write(root, "a", bytes.Repeat([]byte("a"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				b, err := os.ReadFile(filepath.Join(dir, "a"))
				if err != nil {
					t.Error(err)
					return
				}
				if err := whole(b); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 60 {
		c := byte('a' + i%26)
		if err := atomicfile.Write(root, "a", bytes.Repeat([]byte{c}, 100+int(c-'a')*1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

func whole(b []byte) error {
	if len(b) == 0 {
		return errors.New("empty file seen")
	}
	if want := 100 + int(b[0]-'a')*1000; len(b) != want || len(bytes.Trim(b, string(b[:1]))) != 0 {
		return fmt.Errorf("%d bytes of %q seen, want %d", len(b), b[:1], want)
	}
	return nil
}

// What the target became while the data was written is asked last, and a no
// changes nothing.
func TestReplaceAsksBeforeTheRename(t *testing.T) {
	root, dir := open(t)
	if err := atomicfile.Write(root, "a", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := errors.New("changed meanwhile")
	err := atomicfile.Replace(root, "a", []byte("new"), 0o600, func() error {
		if n := len(names(t, dir)); n != 2 {
			t.Errorf("asked with %d files in the folder, want the target and the whole temporary", n)
		}
		return changed
	})
	if !errors.Is(err, changed) {
		t.Errorf("error %v", err)
	}
	if got := content(t, filepath.Join(dir, "a")); got != "old" {
		t.Errorf("file holds %q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

func TestSweepFolderStaysInIt(t *testing.T) {
	root, dir := open(t)
	if err := atomicfile.MkdirAll(root, "p/q"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".sm-0123456789abcdef.tmp", "p/.sm-0123456789abcdef.tmp", "p/q/.sm-0123456789abcdef.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := atomicfile.SweepFolder(root, "p", time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "p", ".sm-0123456789abcdef.tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder's own temporary: %v", err)
	}
}
