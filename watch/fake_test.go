package watch

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// fake is a backend that tells what a test has it tell, and has as many
// watches as the test allows.
type fake struct {
	ev   chan fsnotify.Event
	errs chan error

	mu      sync.Mutex // guards the rest
	watched map[string]bool
	left    int // watches it can still give
	full    error
	adds    int
}

func newFake(left int, full error) *fake {
	return &fake{ev: make(chan fsnotify.Event), errs: make(chan error), watched: map[string]bool{}, left: left, full: full}
}

func (f *fake) name() string { return "fake" }
func (f *fake) add(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adds++
	if f.left == 0 {
		return f.full
	}
	f.left--
	f.watched[dir] = true
	return nil
}
func (f *fake) remove(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watched[dir] {
		delete(f.watched, dir)
		f.left++
	}
}
func (f *fake) allow(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = n
}
func (f *fake) tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adds
}
func (f *fake) watches(dir string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watched[dir]
}
func (f *fake) events() <-chan fsnotify.Event { return f.ev }
func (f *fake) errors() <-chan error          { return f.errs }
func (f *fake) close() error                  { return nil }

// running is a Watcher at work.
type running struct {
	*Watcher
	t    *testing.T
	out  chan Change
	stop func()
}

func start(t *testing.T, opt Options, change func(*Watcher)) *running {
	t.Helper()
	w, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(w)
	}
	r := &running{Watcher: w, t: t, out: make(chan Change)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, r.out) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// get waits for the next change.
func (r *running) get(within time.Duration) Change {
	r.t.Helper()
	select {
	case c := <-r.out:
		return c
	case <-time.After(within):
		r.t.Fatalf("no change within %v; health %+v", within, r.Health())
		return Change{}
	}
}

// want waits for a change of one file.
func (r *running) want(kind Kind, path string, within time.Duration) Change {
	r.t.Helper()
	c := r.get(within)
	if c.Kind != kind || c.File.Path != path {
		r.t.Fatalf("change = %v %s, want %v %s", c.Kind, c.File.Path, kind, path)
	}
	return c
}

// size waits until a file is reported with a size, whatever was seen of it
// before: nothing else may be reported meanwhile.
func (r *running) size(path string, size int64, within time.Duration) Change {
	r.t.Helper()
	for {
		if c := r.want(Present, path, within); c.File.Size == size {
			return c
		}
	}
}

// none checks that nothing comes for so long.
func (r *running) none(during time.Duration) {
	r.t.Helper()
	select {
	case c := <-r.out:
		r.t.Fatalf("unexpected change: %v %s", c.Kind, c.File.Path)
	case <-time.After(during):
	}
}

// bubble runs test with a clock of its own that stands at the time of day, so
// that the times of files mean something.
func bubble(t *testing.T, test func(t *testing.T, home string)) {
	t.Helper()
	home, now := realTemp(t), time.Now()
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(now))
		test(t, home)
	})
}

// faked makes a Watcher use b.
func faked(b *fake) func(*Watcher) {
	return func(w *Watcher) {
		w.open = func() (backend, error) { return b, nil }
		w.budget, w.late = budget{newest: 64, active: 64}, false
		w.remote = func(string) string { return "" }
	}
}

func day(home string, n int) string {
	return filepath.Join(home, sessionsDir, "2026", "08", string([]byte{'0' + byte(n/10), '0' + byte(n%10)}))
}
