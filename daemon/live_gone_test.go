//go:build unix

package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// The folder tree is taken away and put back: what was read stays, is marked,
// and goes on.
func TestTreeAwayAndBackKeepsRows(t *testing.T) {
	reliability.Fault(t, 31, "the sessions folder renamed away from a running daemon and back; a session grows meanwhile")
	p := newPlace(t)
	b := talk(1)
	p.write(b, -1)
	stop := p.start()
	db := p.reader()
	sessions, aside := filepath.Join(p.codex(), "sessions"), filepath.Join(p.codex(), "aside")
	gone := func() bool {
		th, err := db.Thread(t.Context(), b.ThreadID())
		return err == nil && th.Gone
	}
	if err := os.Rename(sessions, aside); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	p.until("the thread is marked as gone", gone)
	if took := time.Since(begun); took < 2*time.Second {
		t.Errorf("gone after %v: that is one listing", took)
	}
	if got := p.said(db, b.ThreadID()); got != "question 1|answer 1" {
		t.Errorf("while it is gone: %q", got)
	}
	if err := os.Rename(aside, sessions); err != nil {
		t.Fatal(err)
	}
	b.User("back").Assistant("and on").End()
	p.write(b, -1)
	p.until("the session goes on", func() bool { return p.said(db, b.ThreadID()) == "question 1|answer 1|back|and on" })
	p.until("the thread is there again", func() bool { return !gone() })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A process that was stopped finds what happened meanwhile.
func TestStoppedAndGoneOn(t *testing.T) {
	if served(t) {
		return
	}
	reliability.Fault(t, 43, "SIGSTOP for 3 s while sessions grow, begin, move and end; then SIGCONT")
	p := newPlace(t)
	grows, moves := talk(1), talk(2)
	p.write(grows, -1)
	from := p.write(moves, -1)
	s := p.spawn(time.Minute)
	db := p.reader()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begins := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-00000000ffff", Start: time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC)})
	begins.User("a new year").Assistant("begins").End()
	grows.User("more").Assistant("grown").End()
	p.write(grows, -1)
	p.write(begins, -1)
	archive := filepath.Join(p.codex(), "archived_sessions")
	if err := os.Mkdir(archive, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, filepath.Join(archive, filepath.Base(from))); err != nil {
		t.Fatal(err)
	}
	<-time.After(3 * time.Second)
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	took := p.until("all is current", func() bool {
		th, err := db.Thread(t.Context(), moves.ThreadID())
		return strings.HasSuffix(p.said(db, grows.ThreadID()), "|grown") && p.said(db, begins.ThreadID()) == "a new year|begins" &&
			err == nil && th.Archived && !th.Gone
	})
	t.Logf("current %v after it went on", took)
	s.alive()
	s.stop()
	if s.err != nil {
		t.Errorf("%v\n%s", s.err, s.errs.String())
	}
}
