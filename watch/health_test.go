package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// What the system says it lost is no reason to distrust it.
func TestOverflowIsNoMissedEvent(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		b := newFake(plenty, nil)
		var paths []string
		for i := range 2 * missedLimit {
			paths = append(paths, filepath.Join(day(home, 1), base(i)))
			put(t, paths[i], "x")
		}
		r := start(t, Options{Homes: []string{home}}, faked(b))
		for range paths {
			r.get(time.Second)
		}
		for _, p := range paths {
			appendTo(t, p, "y")
		}
		<-time.After(missedAge + time.Second) // the reader was held up
		b.errs <- fsnotify.ErrEventOverflow
		for _, p := range paths {
			r.want(Present, p, 2*time.Second)
		}
		if h := r.Health(); h.Dropped != 1 || h.Missed != 0 || h.Backend != "fake" || len(h.Problems) != 0 {
			t.Errorf("health = %+v, want one loss, nothing missed, events still trusted", h)
		}
	})
}

// stepped is a loop that a test works by hand.
func stepped(t *testing.T, home string) *loop {
	t.Helper()
	w, err := New(Options{Homes: []string{home}})
	if err != nil {
		t.Fatal(err)
	}
	faked(newFake(plenty, nil))(w)
	l := newLoop(w)
	l.openBackend()
	l.scanAt = time.Now()
	l.work(t.Context(), time.Now())
	l.apply(<-l.scanned)
	l.planned = l.deadline()
	t.Cleanup(l.scans.Wait)
	if l.scanning {
		t.Fatal("listing without a reason")
	}
	return l
}

func TestListingAfterSleep(t *testing.T) {
	reliability.Fault(t, 43, "a clock that ran on while ours stood still; a process that wakes 40 s late")
	now := time.Now()
	for name, c := range map[string]struct {
		sleep func(l *loop)
		lists bool
	}{
		"the machine slept":      {func(l *loop) { l.lastWall = l.lastWall.Add(-40 * time.Second) }, true},
		"the process stood":      {func(l *loop) { l.planned = now.Add(-40 * time.Second) }, true},
		"a moment late":          {func(l *loop) { l.planned = now.Add(-2 * time.Second) }, false},
		"clock put ten years on": {func(l *loop) { l.lastWall = l.lastWall.AddDate(-10, 0, 0) }, true},
		"and ten years back":     {func(l *loop) { l.lastWall = l.lastWall.AddDate(10, 0, 0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := stepped(t, realTemp(t))
			now = time.Now()
			c.sleep(l)
			l.scanAt = now.Add(time.Minute)
			l.work(t.Context(), now)
			if l.scanning != c.lists {
				t.Errorf("listing = %v, want %v", l.scanning, c.lists)
			}
			if !l.scanning {
				return
			}
			l.apply(<-l.scanned)
			if l.planned = l.deadline(); l.scanning || !l.scanAt.After(now) {
				t.Error("lists again and again")
			}
			l.work(t.Context(), time.Now())
			if l.scanning {
				t.Error("lists again without a reason")
			}
		})
	}
}

func TestClockJumps(t *testing.T) {
	reliability.Fault(t, 42, "the wall clock put ten years on and back, and by one hour; files from 1970 and from 2099")
	home := realTemp(t)
	for _, at := range []time.Time{time.Unix(0, 0), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)} {
		path := filepath.Join(day(home, 1), base(at.Year()))
		put(t, path, "x")
		chtimes(t, path, at)
	}
	for _, jump := range []time.Duration{87_600 * time.Hour, -87_600 * time.Hour, time.Hour, -time.Hour} {
		l := stepped(t, home)
		for range 2 {
			if _, ok := l.tree.next(); !ok {
				t.Fatal("a file with an odd time isn't reported")
			}
			l.tree.sent()
		}
		l.lastWall = l.lastWall.Add(-jump) // it was so late before
		now := time.Now()
		l.work(t.Context(), now)
		if l.scanning {
			l.apply(<-l.scanned)
		}
		if c, ok := l.tree.next(); ok {
			t.Errorf("jump by %v: change %+v, want none", jump, c)
		}
		if wait := time.Until(l.deadline()); wait < time.Second {
			t.Errorf("jump by %v: next work in %v, want no busy loop", jump, wait)
		}
		path := filepath.Join(day(home, 1), base(2099))
		appendTo(t, path, "y")
		chtimes(t, path, time.Unix(0, 0)) // Codex puts old times back
		l.settle.touch(path, now)
		l.work(t.Context(), now.Add(time.Second))
		if c, ok := l.tree.next(); !ok || c.File.Path != path {
			t.Errorf("jump by %v: change %+v, want the append", jump, c)
		}
		if l.scanning {
			l.apply(<-l.scanned)
		}
	}
	reliability.Figure(t, 22, "4 jumps of the clock (ten years and an hour, both ways): 0 changes lost, 0 invented, next work never sooner than a second")
}

// Where others change files unseen, active files are looked at from the start.
func TestRemoteFileSystem(t *testing.T) {
	reliability.Fault(t, 38, "a file system said to be remote: looked at by the clock from the start, within half a second")
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		local := home + ".local"
		mkdir(t, local)
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home, local}}, func(w *Watcher) {
			faked(b)(w)
			w.remote = func(path string) string {
				if filepath.Base(path) == sessionsDir {
					return "9p"
				}
				return ""
			}
		})
		r.want(Present, path, time.Second)
		for range 10 {
			began := time.Now()
			appendTo(t, path, "y")
			r.want(Present, path, time.Second)
			if took := time.Since(began); took > 500*time.Millisecond {
				t.Errorf("an append was seen after %v", took)
			}
		}
		fresh := filepath.Join(day(home, 2), base(2))
		put(t, fresh, "x")
		r.want(Present, fresh, 2*time.Second)
		appendTo(t, path, "z")
		b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Write} // events that do come are used
		r.want(Present, path, 25*time.Millisecond)
		r.none(5 * time.Minute)
		if h := r.Health(); h.Backend != pollBackend || h.Missed != 0 || len(h.Problems) != 0 {
			t.Errorf("health = %+v, want poll and nothing to complain of", h)
		}
	})
}

// Three missed in ten minutes are too many, fewer are not; one home that loses
// events says nothing of another.
func TestDistrustIsByHomeAndTime(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		other := home + ".other"
		a, b := filepath.Join(day(home, 1), base(1)), filepath.Join(day(other, 1), base(2))
		put(t, a, "x")
		put(t, b, "x")
		r := start(t, Options{Homes: []string{home, other}}, faked(newFake(plenty, nil)))
		r.want(Present, a, time.Second)
		r.want(Present, b, time.Second)
		for range 6 { // one in six minutes
			appendTo(t, a, "y")
			r.want(Present, a, 61*time.Second)
			<-time.After(6 * time.Minute)
		}
		if h := r.Health(); h.Missed != 6 || len(h.Problems) != 0 || h.Backend != "fake" {
			t.Fatalf("health = %+v, want events still trusted", h)
		}
		for range missedLimit {
			appendTo(t, a, "y")
			r.want(Present, a, 61*time.Second)
		}
		synctest.Wait()
		h := r.Health()
		if len(h.Problems) != 1 || !strings.HasPrefix(h.Problems[0], home+": changes come without events") || h.Backend != pollBackend {
			t.Fatalf("health = %+v, want one home polled", h)
		}
		appendTo(t, b, "y")
		r.none(2 * time.Second)
		r.want(Present, b, 61*time.Second)
		<-time.After(distrustFor + time.Minute)
		if h := r.Health(); len(h.Problems) != 0 || h.Backend != "fake" {
			t.Errorf("health = %+v, want events trusted again", h)
		}
	})
}

func TestLimitSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("add: %w", syscall.ENOSPC), "sudo sysctl fs.inotify.max_user_watches="},
		{syscall.EMFILE, "sudo sysctl fs.inotify.max_user_instances="},
		{syscall.ENFILE, "sudo sysctl fs.file-max="},
		{errors.New("watches ended"), ""},
	} {
		got := moreWatches(c.err)
		if runtime.GOOS != "linux" {
			t.Skip("the other systems have no such limits")
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	got := readable(Problem{Path: "/home/a b/it's", Err: fs.ErrPermission})
	if want := `chmod u+rX '/home/a b/it'\''s'`; runtime.GOOS != "windows" && !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}
