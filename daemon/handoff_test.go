package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// screen is a desktop that the test looks at.
type screen struct {
	mu    sync.Mutex // guards the rest
	shown []string
	now   int // messages being shown
	most  int // of them at once
	slow  time.Duration
	err   error
}

func (s *screen) Show(_ context.Context, title, text string) error {
	s.mu.Lock()
	s.shown = append(s.shown, title+"\n"+text)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	return s.err
}

func (s *screen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.shown, "\n")
}

// watched is a desk whose engine tells what runs out, to a screen and a log.
type watched struct {
	*desk
	screen screen
	log    bytes.Buffer // read when the daemon is at rest
}

func newWatched(t *testing.T, n int) *watched {
	w := &watched{desk: newDesk(t, n)}
	w.e.log = slog.New(slog.NewTextHandler(&w.log, nil))
	w.remember()
	return w
}

// remember begins as a daemon does that was started anew.
func (w *watched) remember() {
	var err error
	if w.e.relay, err = newRelay(w.t.Context(), w.e, w.pub); err != nil {
		w.t.Fatal(err)
	}
	w.e.relay.desktop = &w.screen
}

// working runs the publisher and the relay during f.
func (w *watched) working(f func()) {
	w.run(func() {
		ctx, cancel := context.WithCancel(w.t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = w.e.relay.run(ctx) })
		f()
		cancel()
		running.Wait()
	})
}

// add writes what a rollout has by now, as Codex does, and has the daemon take
// it in.
func (w *watched) add(b *rollouttest.Rollout) {
	w.t.Helper()
	path := filepath.Join(w.e.opt.Config.CodexHomes[0], filepath.FromSlash(b.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		w.t.Fatal(err)
	}
	f := store.File{RolloutID: b.ThreadID(), ThreadID: b.ThreadID(), Stamp: b.Path()[len(b.Path())-62:][:19], Home: w.e.opt.Config.CodexHomes[0], Path: path,
		Form: store.FormPlain, Size: st.Size(), ModTimeNs: st.ModTime().UnixNano()}
	if err := w.e.present(w.t.Context(), f, w.pub); err != nil {
		w.t.Fatal(err)
	}
}

func live(n int) *rollouttest.Rollout {
	return rollouttest.New(rollouttest.Marked, rollouttest.Options{ThreadID: fmt.Sprintf("019b0000-0000-7000-8000-%012d", n), Start: time.Now(), Window: 1000}).User("the request")
}

// A turn that goes on is written 2 s after its last line. One that takes the
// context over the threshold is written at once, and it is said once.
func TestFullContextIsHandedOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, 1)
		b := live(1)
		w.working(func() {
			time.Sleep(10 * time.Second)
			w.add(b.Assistant("calm answer").Context(799))
			time.Sleep(restRunning - time.Millisecond)
			if n := w.files("calm answer"); n != 0 {
				t.Fatal("written before it is due: the test proves nothing")
			}
			time.Sleep(time.Second)
			w.add(b.Assistant("urgent answer").Context(800))
			time.Sleep(time.Millisecond)
			if n := w.files("urgent answer"); n != 1 {
				t.Error("the file isn't current at once")
			}
			v, err := w.e.pipe.View(t.Context(), b.ThreadID())
			rev, revErr := w.e.db.Rev(t.Context(), b.ThreadID())
			w.pub.mu.Lock()
			packed := w.pub.packed[b.ThreadID()]
			w.pub.mu.Unlock()
			if err := errors.Join(err, revErr); err != nil || packed != rev || v.Thread.ContextTokens != 800 {
				t.Errorf("selections of revision %d, want %d, %v", packed, rev, err)
			}
			w.add(b.Assistant("later answer").Context(900))
			time.Sleep(time.Millisecond)
			if w.files("later answer") != 0 {
				t.Error("every line is written at once")
			}
			w.remember() // a restart
			if err := w.e.relay.all(t.Context()); err != nil {
				t.Error(err)
			}
			w.add(b.Context(950))
			time.Sleep(10 * time.Second)
			if n := strings.Count(w.log.String(), "should be handed on"); n != 1 {
				t.Errorf("said %d times:\n%s", n, w.log.String())
			}
			w.add(b.Context(100))
			w.add(b.Context(810))
			time.Sleep(10 * time.Second)
		})
		if n := strings.Count(w.log.String(), "should be handed on"); n != 2 {
			t.Errorf("said %d times after a compaction:\n%s", n, w.log.String())
		}
		const want = "session-migrator: context 80 % full\nthe request | next: session-migrator migrate 00000001 --to codex/gpt-6.2-sol"
		if got := w.screen.all(); !strings.HasPrefix(got, want) {
			t.Errorf("shown: %s, want %s", got, want)
		}
		if !strings.Contains(w.log.String(), `next="session-migrator migrate 00000001 --to codex/gpt-6.2-sol"`) {
			t.Error(w.log.String())
		}
	})
}

// What passed the threshold while no daemon ran is said when one starts, but not
// of a session that nobody uses.
func TestQuotaIsToldAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, 0)
		old := live(1).Quota(99, time.Now().Add(100*time.Hour)).End()
		time.Sleep(25 * time.Hour)
		reset := time.Now().Add(time.Hour)
		w.add(old)
		w.add(live(2).Quota(85, time.Now().Add(-time.Hour)))
		w.add(live(3).Quota(85, reset))
		w.log.Reset()
		if err := w.e.db.SetMeta(t.Context(), "handoffs", "?"); err != nil {
			t.Fatal(err)
		}
		w.remember()
		w.working(func() {
			if err := w.e.relay.all(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		})
		want := fmt.Sprintf("session-migrator: quota 85 %% used, resets at %s\nthe request | next: session-migrator migrate 00000003 --to gpt-6.1-sol", reset.Local().Format("2006-01-02 15:04"))
		if got := w.screen.all(); got != want {
			t.Errorf("shown: %s, want %s", got, want)
		}
		if n := strings.Count(w.log.String(), "should be handed on"); n != 1 {
			t.Error(w.log.String())
		}
	})
}

// A desktop that takes its time holds nothing up, is shown one message after the
// other, and not more than a few.
func TestSlowDesktopHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, 0)
		w.screen.slow, w.screen.err = 5*time.Second, errors.New("no server")
		w.working(func() {
			begun := time.Now()
			for n := range 3 * notices {
				w.add(live(n).Context(900))
			}
			if took := time.Since(begun); took > 0 {
				t.Errorf("held up for %s", took)
			}
			time.Sleep(10 * time.Minute)
		})
		if n := len(w.screen.shown); w.screen.most != 1 || n < notices || n > notices+1 {
			t.Errorf("%d shown, %d at once", n, w.screen.most)
		}
		if n := strings.Count(w.log.String(), "should be handed on"); n != 3*notices {
			t.Errorf("%d in the log", n)
		}
		if got := w.e.troubles.list(); len(got) != 1 || got[0] != "no server" {
			t.Errorf("status says %q", got)
		}
	})
}
