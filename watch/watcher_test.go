package watch

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

const plenty = 1 << 20

func TestFirstListing(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		paths := make([]string, 5)
		for i := range paths {
			paths[i] = filepath.Join(day(home, 1), base(i))
			put(t, paths[i], "x")
		}
		put(t, filepath.Join(home, indexFile), "{}")
		known, err := look(paths[3], Name{}, false)
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, Options{Homes: []string{home}, Known: func(path string) (File, bool) {
			return known, path == paths[3]
		}}, faked(newFake(plenty, nil)))
		for _, i := range []int{0, 1, 2, 4} {
			c := r.want(Present, paths[i], time.Second)
			if c.Home != home || c.File.Size != 1 || c.File.Name.RolloutID != id(i) || c.Seen.IsZero() {
				t.Errorf("change = %+v", c)
			}
		}
		r.want(IndexChanged, filepath.Join(home, indexFile), time.Second)
		r.none(10 * time.Minute)
		h := r.Health()
		if h.Backend != "fake" || h.Watches != 5 || len(h.Problems) != 0 || h.LastScan.IsZero() {
			t.Errorf("health = %+v, want 5 watches and no problem", h)
		}
	})
}

func TestBurstIsOneChange(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, faked(b))
		r.want(Present, path, time.Second)
		began := time.Now()
		for range 10 { // 45 ms, no pause of 20
			appendTo(t, path, "y")
			b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Write}
			<-time.After(5 * time.Millisecond)
		}
		c := r.want(Present, path, time.Second)
		if c.File.Size != 11 {
			t.Errorf("size = %d, want 11", c.File.Size)
		}
		if took := time.Since(began); took != 65*time.Millisecond {
			t.Errorf("reported after %v, want 65ms: 20 after the last event", took)
		}
		b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Chmod} // nothing is new
		r.none(10 * time.Second)
		if h := r.Health(); h.LastEvent.IsZero() {
			t.Error("no time of the last event")
		}
	})
}

func TestSlowReceiverGetsTheNewest(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		b := newFake(plenty, nil)
		var paths []string
		for i := range 3 {
			paths = append(paths, filepath.Join(day(home, 1), base(i)))
			put(t, paths[i], "x")
		}
		r := start(t, Options{Homes: []string{home}}, faked(b))
		for range 50 {
			for _, p := range paths {
				appendTo(t, p, "y")
				b.ev <- fsnotify.Event{Name: p, Op: fsnotify.Write}
			}
			<-time.After(50 * time.Millisecond)
		}
		<-time.After(time.Second)
		for _, p := range paths {
			if c := r.want(Present, p, time.Second); c.File.Size != 51 {
				t.Errorf("size = %d, want 51", c.File.Size)
			}
		}
		r.none(10 * time.Second)
	})
}

func TestOverflowListsAll(t *testing.T) {
	reliability.Fault(t, 33, "a watcher that says it lost events")
	bubble(t, func(t *testing.T, home string) {
		b := newFake(plenty, nil)
		var paths []string
		for i := range 20 {
			paths = append(paths, filepath.Join(day(home, 1+i%3), base(i)))
			put(t, paths[i], "x")
		}
		r := start(t, Options{Homes: []string{home}}, faked(b))
		for range paths {
			r.get(time.Second)
		}
		for _, p := range paths {
			appendTo(t, p, "y")
		}
		b.errs <- fsnotify.ErrEventOverflow
		for _, p := range paths {
			r.want(Present, p, 2*time.Second)
		}
		appendTo(t, paths[0], "z")
		b.errs <- errors.New("read: something else")
		r.want(Present, paths[0], 2*time.Second)
		if h := r.Health(); h.Dropped != 1 {
			t.Errorf("Dropped = %d, want 1", h.Dropped)
		}
	})
}

// What never had an event is found by the next listing, and after three times
// events are not relied on any more.
func TestMissedEvents(t *testing.T) {
	reliability.Fault(t, 38, "a watcher that loses every event: 3 changes found by listings, then by the clock")
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		r := start(t, Options{Homes: []string{home}}, faked(newFake(plenty, nil)))
		r.want(Present, path, time.Second)
		for i := range int64(3) {
			if h := r.Health(); h.Missed != i || len(h.Problems) != 0 {
				t.Errorf("health = %+v, want %d missed and no problem", h, i)
			}
			appendTo(t, path, "y")
			r.want(Present, path, 61*time.Second)
		}
		appendTo(t, path, "y")
		r.want(Present, path, 300*time.Millisecond)
		if h := r.Health(); h.Missed != 3 || countContains(h.Problems, "without events") != 1 {
			t.Errorf("health = %+v, want 3 missed and a problem", h)
		}
	})
}

func TestGoneAfterTwoListings(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		b := newFake(plenty, nil)
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		r := start(t, Options{Homes: []string{home}}, faked(b))
		r.want(Present, path, time.Second)

		// Away for one listing only: as when it is on its way to another name.
		rename(t, path, path+".aside")
		b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Rename}
		r.none(time.Second) // the event, the first listing
		rename(t, path+".aside", path)
		r.want(Present, path, 10*time.Second) // a move changes a file's times
		r.none(5 * time.Minute)

		remove(t, path)
		b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Remove}
		began := time.Now()
		c := r.want(Gone, path, 10*time.Second)
		if took := time.Since(began); took < confirm {
			t.Errorf("gone after %v, which is one listing", took)
		}
		if c.File.Size != 1 {
			t.Errorf("gone file = %+v, want the last known", c.File)
		}
		r.none(5 * time.Minute)

		put(t, path, "new")
		r.want(Present, path, 61*time.Second)
	})
}

func TestTreeAwayAndBack(t *testing.T) {
	reliability.Fault(t, 31, "the Codex home renamed away for two minutes and back, without an event")
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		put(t, filepath.Join(home, indexFile), "{}")
		r := start(t, Options{Homes: []string{home}}, faked(newFake(plenty, nil)))
		r.want(Present, path, time.Second)
		r.want(IndexChanged, filepath.Join(home, indexFile), time.Second)
		rename(t, home, home+".aside")
		r.want(Gone, path, 2*time.Minute)
		if h := r.Health(); h.Watches != 0 || len(h.Problems) != 1 {
			t.Errorf("health = %+v, want no watch and one problem", h)
		}
		rename(t, home+".aside", home)
		r.want(Present, path, 2*time.Second) // a missing home is looked for each second
		r.want(IndexChanged, filepath.Join(home, indexFile), 2*time.Second)
		if h := r.Health(); h.Watches != 5 || len(h.Problems) != 0 {
			t.Errorf("health = %+v, want watches and no problem", h)
		}
	})
}

func TestHadAndGoneMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		here, gone := filepath.Join(day(home, 1), base(1)), filepath.Join(day(home, 1), base(2))
		put(t, here, "x")
		put(t, gone, "x")
		had, _, err := List(t.Context(), home)
		if err != nil {
			t.Fatal(err)
		}
		remove(t, gone)
		r := start(t, Options{Homes: []string{home}, Had: map[string][]File{home: had}}, faked(newFake(plenty, nil)))
		r.want(Gone, gone, 10*time.Second)
		r.none(5 * time.Minute)
		appendTo(t, here, "y")
		r.want(Present, here, 61*time.Second)
	})
}

func TestBackendEnds(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		b, again := newFake(plenty, nil), newFake(plenty, nil)
		next := []*fake{b, again}
		r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
			faked(b)(w)
			w.open = func() (backend, error) {
				f := next[0]
				next = next[1:]
				return f, nil
			}
		})
		r.want(Present, path, time.Second)
		close(b.ev)
		appendTo(t, path, "y")
		r.want(Present, path, time.Second)
		if h := r.Health(); h.Backend != "poll" || h.Watches != 0 {
			t.Errorf("health = %+v, want poll", h)
		}
		r.none(2 * time.Minute)
		if h := r.Health(); h.Backend != "fake" || h.Watches != 5 || !again.watches(day(home, 1)) {
			t.Errorf("health = %+v, want a new backend", h)
		}
	})
}

func TestTwoFormsSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		plain := filepath.Join(day(home, 1), base(1))
		packed := plain + ".zst"
		put(t, plain, "plain")
		put(t, packed, "packed, and larger")
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, faked(b))
		r.want(Present, plain, time.Second)
		r.none(10 * time.Second)
		if h := r.Health(); countContains(h.Problems, packed) != 1 {
			t.Errorf("problems = %q, want the file that is not read", h.Problems)
		}
		remove(t, plain)
		b.ev <- fsnotify.Event{Name: plain, Op: fsnotify.Remove}
		r.want(Present, packed, time.Second)
		r.none(5 * time.Minute) // and is not gone
		put(t, plain, "plain again")
		b.ev <- fsnotify.Event{Name: plain, Op: fsnotify.Create}
		r.want(Present, plain, time.Second)
		if h := r.Health(); len(h.Problems) != 0 {
			t.Errorf("problems = %q, want none before the next listing", h.Problems)
		}
	})
}

// Two files of one rollout are both told, and each change to either: which of
// them continues the other only their content says.
func TestTwoCopiesAreBothTold(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		path, archived := filepath.Join(day(home, 1), base(1)), filepath.Join(home, archivedDir, base(1))
		put(t, path, "the longer one")
		mkdir(t, filepath.Dir(archived))
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, faked(b))
		r.want(Present, path, time.Second)
		put(t, archived, "short")
		b.ev <- fsnotify.Event{Name: archived, Op: fsnotify.Create}
		r.want(Present, archived, time.Second)
		r.none(5 * time.Minute)
		appendTo(t, archived, "!")
		b.ev <- fsnotify.Event{Name: archived, Op: fsnotify.Write}
		r.want(Present, archived, time.Second)
		appendTo(t, path, "!")
		b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Write}
		r.want(Present, path, time.Second)
		r.none(5 * time.Minute)
		remove(t, path)
		b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Remove}
		r.want(Present, archived, time.Second)
		r.none(5 * time.Minute)
	})
}

// Of a move only the second half may be told, or told first.
func TestMoveToldInPart(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		path, archived := filepath.Join(day(home, 1), base(1)), filepath.Join(home, archivedDir, base(1))
		put(t, path, "x")
		mkdir(t, filepath.Dir(archived))
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, faked(b))
		r.want(Present, path, time.Second)
		rename(t, path, archived)
		b.ev <- fsnotify.Event{Name: archived, Op: fsnotify.Create}
		r.want(Present, archived, time.Second)
		r.none(5 * time.Minute)
	})
}

// A watch stays with the folder it was set on, whatever that is called now.
func TestFolderReplacedInSilence(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, faked(b))
		r.want(Present, path, time.Second)
		before := b.tries()
		rename(t, filepath.Dir(path), filepath.Join(home, "aside"))
		put(t, path, "another")
		r.want(Present, path, 61*time.Second)
		synctest.Wait()
		if n := b.tries() - before; n != 1 || !b.watches(filepath.Dir(path)) {
			t.Errorf("%d watches set anew, want 1", n)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for name, opt := range map[string]Options{
		"no home":           {},
		"negative rescan":   {Homes: []string{"x"}, Rescan: -1},
		"negative debounce": {Homes: []string{"x"}, Debounce: -1},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("New with %s gave no error", name)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		for i := range 150 {
			mkdir(t, filepath.Join(day(home, 1), base(i))) // folders named like rollouts
		}
		r := start(t, Options{Homes: []string{home}}, faked(newFake(plenty, nil)))
		r.none(time.Second)
		h := r.Health()
		if len(h.Problems) != maxProblems || !slices.Contains(h.Problems, "and 51 more") {
			t.Errorf("%d problems, the last %q", len(h.Problems), h.Problems[len(h.Problems)-1])
		}
	})
}
