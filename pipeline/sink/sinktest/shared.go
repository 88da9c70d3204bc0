package sinktest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// now is after any time that a file of a test has.
var now = time.Now().Add(24 * time.Hour).Truncate(time.Second)

const (
	pace = 10 * time.Minute // between two writes
	mark = "session-migrator:"
)

// shared tests the shared files of a sink: each by itself, with all the others
// there too.
func shared(t *testing.T, open Open) {
	tests := []struct {
		name string
		test func(*testing.T, *fixture, sink.Sharer, File)
	}{
		{"makes and takes away", makes},
		{"keeps what others wrote", keepsOthers},
		{"does nothing twice", idle},
		{"looks without writing", looks},
		{"keeps to the file's limits", fitsFile},
		{"keeps to its part", fitsPart},
		{"says nothing harmful", harmless},
		{"follows links inside only", followsLinks},
		{"leaves read-only files alone", leavesReadOnly},
		{"leaves what is no file alone", leavesFolders},
		{"leaves edited parts alone", leavesEditedParts},
		{"stops sharing when told to", stopsSharing},
		{"takes no other paths", takesNoOtherPaths},
		{"replaces shared files whole", replacesSharedWhole},
	}
	subject := open(t)
	for i, file := range subject.Files {
		for _, c := range tests {
			t.Run(filepath.Base(file.Path)+" "+c.name, func(t *testing.T) {
				f := &fixture{Subject: open(t), before: map[string]bool{}}
				f.s = f.Sink
				for name := range tree(t, f.Home) {
					f.before[name] = true
				}
				c.test(t, f, f.s.(sink.Sharer), f.Files[i])
				f.clean(t)
			})
		}
	}
}

// session is the i-th session of the workspace, counted from the oldest.
func (f *fixture) session(i int) sink.Session {
	at := now.Add(time.Duration(i-100) * time.Hour)
	return sink.Session{
		ThreadID: fmt.Sprintf("019c4a10-9790-7c5e-9a41-3f08%08x", i), Workspace: f.Workspace, Cwd: f.Cwd,
		Title: fmt.Sprintf("session %d of them", i), State: transcript.StateAnswered, Created: at.Add(-time.Minute), Updated: at, Turns: i + 1,
		Lang: "en", Did: []string{"changed a/b.go"}, Result: "12 passed", Open: "two steps", Next: "run the tests again",
		Document: func(units int, _ bool) ([]byte, error) { return []byte("# Record\n\nshort\n"), nil },
	}
}

func (f *fixture) sharing(file File, at time.Time, last []sink.SharedFile, sessions ...sink.Session) sink.Sharing {
	s := sink.Sharing{Workspace: f.Workspace, Sessions: sessions, Now: at, Last: last}
	if file.All {
		s.Workspace = ""
	}
	return s
}

func share(t *testing.T, s sink.Sharer, sh sink.Sharing) []sink.SharedFile {
	t.Helper()
	files, err := s.Share(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// about gives what is known of a file.
func about(t *testing.T, files []sink.SharedFile, path string) sink.SharedFile {
	t.Helper()
	for _, f := range files {
		if f.Path == path {
			return f
		}
	}
	t.Fatalf("nothing is known of %s: %+v", path, files)
	return sink.SharedFile{}
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ours tells whether our part is in a file.
func ours(text string) bool { return strings.Contains(text, mark) }

func (f *fixture) fill(t *testing.T, file File, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	f.write(t, file.Path, text)
}

func makes(t *testing.T, f *fixture, s sink.Sharer, file File) {
	before := tree(t, f.Home)
	files := share(t, s, f.sharing(file, now, nil, f.session(2), f.session(1)))
	is := about(t, files, file.Path)
	if is.Problem != "" || !is.Again.IsZero() || is.Written.IsZero() || is.Hash == "" || !is.Ours || is.Backup != "" {
		t.Errorf("%+v", is)
	}
	got := text(t, file.Path)
	if !ours(got) || !strings.Contains(got, "session 2") || !strings.Contains(got, "session 1") || strings.Index(got, "session 2") > strings.Index(got, "session 1") {
		t.Errorf("newest first, not\n%s", got)
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(file.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	for range 2 { // gone already is no error
		for _, is := range files {
			if err := s.Unshare(t.Context(), is); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range tree(t, f.Home) {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is left over", name)
		}
	}
}

const others = "# Notes\r\n\r\n- mine\r\n\r\n## More\r\nthe end, without a line end"

func keepsOthers(t *testing.T, f *fixture, s sink.Sharer, file File) {
	f.fill(t, file, others)
	if err := os.Chmod(file.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	is := about(t, share(t, s, f.sharing(file, now, nil, f.session(1))), file.Path)
	got := text(t, file.Path)
	if file.Whole {
		if got != others || is.Problem == "" {
			t.Errorf("somebody else's file: %+v\n%s", is, got)
		}
		return
	}
	if !ours(got) || !strings.HasPrefix(got, "# Notes\r\n") || !strings.HasSuffix(got, others[len("# Notes\r\n"):]) {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(file.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if is.Ours || is.Backup == "" || text(t, is.Backup) != others {
		t.Errorf("backup: %+v", is)
	}
	// There is one backup, also if the record is lost.
	is.Backup = ""
	later := about(t, share(t, s, f.sharing(file, now.Add(2*pace), []sink.SharedFile{is}, f.session(2))), file.Path)
	if later.Backup == "" || text(t, later.Backup) != others {
		t.Errorf("second backup: %+v", later)
	}
	if err := s.Unshare(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if got := text(t, file.Path); got != others {
		t.Errorf("after that the file holds %q", got)
	}
}

func idle(t *testing.T, f *fixture, s sink.Sharer, file File) {
	if !file.Whole {
		f.fill(t, file, others)
	}
	sessions := []sink.Session{f.session(2), f.session(1)}
	files := share(t, s, f.sharing(file, now, nil, sessions...))
	before := tree(t, f.Home)
	for _, last := range [][]sink.SharedFile{files, nil} { // also without a record
		again := about(t, share(t, s, f.sharing(file, now.Add(2*pace), last, sessions...)), file.Path)
		was := about(t, files, file.Path)
		if again.Problem != "" || !again.Again.IsZero() || again.Hash != was.Hash || last != nil && !again.Written.Equal(was.Written) {
			t.Errorf("%+v\nafter %+v", again, was)
		}
		same(t, before, tree(t, f.Home))
	}
}

func looks(t *testing.T, f *fixture, s sink.Sharer, file File) {
	if !file.Whole {
		f.fill(t, file, others)
	}
	sh := f.sharing(file, now, nil, f.session(1))
	sh.Look = true
	before := tree(t, f.Home)
	is := about(t, share(t, s, sh), file.Path)
	same(t, before, tree(t, f.Home))
	if want := before[relative(t, f.Home, file.Path)].text; string(is.Old) != want || !ours(string(is.New)) {
		t.Errorf("from %q to %q", is.Old, is.New)
	}
	sh.Look = false
	share(t, s, sh)
	if got := text(t, file.Path); got != string(is.New) {
		t.Errorf("looked like\n%s\nbecame\n%s", is.New, got)
	}
}

func relative(t *testing.T, base, path string) string {
	t.Helper()
	rel, err := filepath.Rel(base, path)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

func followsLinks(t *testing.T, f *fixture, s sink.Sharer, file File) {
	if file.Whole {
		t.Skip("a link is no file of ours")
	}
	real := filepath.Join(filepath.Dir(file.Path), "real.md")
	f.before[relative(t, f.Home, real)] = true
	f.fill(t, file, others)
	if err := os.Rename(file.Path, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.md", file.Path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	share(t, s, f.sharing(file, now, nil, f.session(1)))
	if info, err := os.Lstat(file.Path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
	if !ours(text(t, real)) {
		t.Error("the file behind the link was not written")
	}

	outside := filepath.Join(t.TempDir(), "outside.md")
	for _, there := range []bool{true, false} {
		if err := errors.Join(os.RemoveAll(outside), os.Remove(file.Path), os.Symlink(outside, file.Path)); err != nil {
			t.Fatal(err)
		}
		if there {
			f.write(t, outside, others)
		}
		is := about(t, share(t, s, f.sharing(file, now.Add(2*pace), nil, f.session(2))), file.Path)
		if is.Problem == "" {
			t.Errorf("nothing was said of a link out of the folder: %+v", is)
		}
		if err := s.Unshare(t.Context(), sink.SharedFile{Path: file.Path, Hash: is.Hash}); err == nil {
			t.Error("taken out through a link")
		}
		if data, err := os.ReadFile(outside); there && string(data) != others || !there && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("outside holds %q, %v", data, err)
		}
	}
}

func leavesReadOnly(t *testing.T, f *fixture, s sink.Sharer, file File) {
	if file.Whole {
		t.Skip("a file of ours is never read-only")
	}
	f.fill(t, file, others)
	if err := os.Chmod(file.Path, 0o440); err != nil {
		t.Fatal(err)
	}
	is := about(t, share(t, s, f.sharing(file, now, nil, f.session(1))), file.Path)
	if got := text(t, file.Path); got != others || !strings.Contains(is.Problem, "read-only") {
		t.Errorf("%+v\n%s", is, got)
	}
}

func leavesFolders(t *testing.T, f *fixture, s sink.Sharer, file File) {
	if err := os.MkdirAll(file.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	before := tree(t, file.Path)
	is := about(t, share(t, s, f.sharing(file, now, nil, f.session(1))), file.Path)
	if is.Problem == "" {
		t.Errorf("%+v", is)
	}
	same(t, before, tree(t, file.Path))
}

func leavesEditedParts(t *testing.T, f *fixture, s sink.Sharer, file File) {
	is := about(t, share(t, s, f.sharing(file, now, nil, f.session(1))), file.Path)
	edited := strings.Replace(text(t, file.Path), "session 1", "session one, as I call it", 1)
	f.write(t, file.Path, edited)
	if err := s.Unshare(t.Context(), is); !errors.Is(err, sink.ErrEdited) {
		t.Errorf("unshare: %v", err)
	}
	if got := text(t, file.Path); got != edited {
		t.Errorf("now %q", got)
	}
	later := about(t, share(t, s, f.sharing(file, now.Add(2*pace), []sink.SharedFile{is}, f.session(2))), file.Path)
	if got := text(t, file.Path); !strings.Contains(got, "session one, as I call it") || file.Whole && (got != edited || later.Problem == "") {
		t.Errorf("%+v\n%s", later, got)
	}
}

func stopsSharing(t *testing.T, f *fixture, s sink.Sharer, file File) {
	is := about(t, share(t, s, f.sharing(file, now, nil, f.session(1))), file.Path)
	before := tree(t, f.Home)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Share(ctx, f.sharing(file, now.Add(2*pace), []sink.SharedFile{is}, f.session(2))); !errors.Is(err, context.Canceled) {
		t.Errorf("share: %v", err)
	}
	if err := s.Unshare(ctx, is); !errors.Is(err, context.Canceled) {
		t.Errorf("unshare: %v", err)
	}
	same(t, before, tree(t, f.Home))
	// Nothing of another kind of sharing either.
	sh := f.sharing(file, now, nil, f.session(2))
	if sh.Workspace = f.Workspace; !file.All {
		sh.Workspace = ""
	}
	if files := share(t, s, sh); len(files) != 0 {
		t.Errorf("%+v", files)
	}
	same(t, before, tree(t, f.Home))
}

func takesNoOtherPaths(t *testing.T, f *fixture, s sink.Sharer, file File) {
	foreign := filepath.Join(filepath.Dir(file.Path), "mine.md")
	f.fill(t, File{Path: foreign}, others)
	f.before[relative(t, f.Home, foreign)] = true
	before := tree(t, f.Home)
	for _, name := range []string{"", ".", "MEMORY.md", foreign, filepath.Dir(file.Path), filepath.Dir(file.Path) + "/../x/" + filepath.Base(file.Path)} {
		if err := s.Unshare(t.Context(), sink.SharedFile{Path: name, Ours: true}); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	same(t, before, tree(t, f.Home))
}

func replacesSharedWhole(t *testing.T, f *fixture, s sink.Sharer, file File) {
	end := "the end\n"
	if file.Whole {
		end = " -->\n"
	} else {
		f.fill(t, file, "# Notes\n\n"+end)
	}
	files := share(t, s, f.sharing(file, now, nil, f.session(0)))
	head := text(t, file.Path)[:7]
	stop := poll(t, file.Path, head, end)
	for i := range f.updates() {
		x := f.session(1)
		x.Title = strings.Repeat("x", 1+i%60)
		files = share(t, s, f.sharing(file, now.Add(time.Duration(i+1)*2*pace), files, x))
		if is := about(t, files, file.Path); is.Problem != "" || !is.Again.IsZero() || !strings.Contains(text(t, file.Path), " "+x.Title+" ") {
			t.Fatalf("%d: %+v", i, is)
		}
	}
	stop()
}
