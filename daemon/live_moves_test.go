//go:build unix

package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// A home that is a link, and whose roots are made with the first session.
func TestLateAndLinkedRoots(t *testing.T) {
	p := newPlace(t)
	real := p.codex()
	link := filepath.Join(t.TempDir(), "codex")
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("links can't be made here: %v", err)
	}
	reliability.Fault(t, 37, "a Codex home that is an empty folder behind a link; sessions, year, month, day and first file made at once")
	p.opt.Config.CodexHomes = []string{link, real} // the second is the same once more
	stop := p.start()
	db := p.reader()
	b := talk(1)
	p.write(b, -1)
	took := p.until("the first session is read", func() bool { return p.said(db, b.ThreadID()) == "question 1|answer 1" })
	t.Logf("read after %v", took)
	b.User("more").Assistant("and more").End()
	p.write(b, -1)
	p.until("it goes on", func() bool { return strings.HasSuffix(p.said(db, b.ThreadID()), "|more|and more") })
	cps, err := db.Checkpoints(t.Context())
	if err != nil || len(cps) != 1 || cps[0].Home != link {
		t.Errorf("rollouts = %+v, %v, want one, of the home given first", cps, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Codex archives a session while a record is half written; the rest is written
// there. Then it takes the session back.
func TestArchivedWhileWritten(t *testing.T) {
	reliability.Fault(t, 29, "renamed to archived_sessions while a record is half written, completed there, renamed back")
	p := newPlace(t)
	b := talk(1)
	path := p.write(b, -1)
	stop := p.start()
	db := p.reader()
	const before = "question 1|answer 1"
	if got := p.said(db, b.ThreadID()); got != before {
		t.Fatalf("before: %q", got)
	}
	from := len(b.Bytes())
	b.User("second question").Assistant("second answer").End()
	text := b.Bytes()
	write := func(path string, part []byte) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	half := from + (len(text)-from)/3
	write(path, text[from:half])
	archived := filepath.Join(p.codex(), "archived_sessions", filepath.Base(path))
	if err := os.Mkdir(filepath.Dir(archived), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, archived); err != nil {
		t.Fatal(err)
	}
	flag := func(want bool) func() bool {
		return func() bool {
			th, err := db.Thread(t.Context(), b.ThreadID())
			return err == nil && th.Archived == want && !th.Gone
		}
	}
	p.until("it is archived", flag(true))
	write(archived, text[half:])
	const after = before + "|second question|second answer"
	p.until("the rest is read there", func() bool { return p.said(db, b.ThreadID()) == after })
	if err := os.Rename(archived, path); err != nil {
		t.Fatal(err)
	}
	p.until("it is back", flag(false))
	b.User("third").Assistant("done").End()
	p.write(b, -1)
	p.until("it goes on", func() bool { return p.said(db, b.ThreadID()) == after+"|third|done" })
	p.until("one memory file tells all", func() bool {
		files, text := p.memory()
		return len(files) == 1 && strings.Contains(text, "second question") && strings.Contains(text, "done")
	})
	if n, err := db.Count(t.Context()); err != nil || n != 1 {
		t.Errorf("%d threads, %v", n, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
