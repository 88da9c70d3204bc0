//go:build linux && faults

package watch

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// stalled is the system's backend with a reader that a test can hold up.
type stalled struct {
	backend
	out  chan fsnotify.Event
	hold sync.Mutex // events pass while nobody has it
	end  chan struct{}
	wait sync.WaitGroup
}

func newStalled(t *testing.T) *stalled {
	t.Helper()
	b, err := openFsnotify()
	if err != nil {
		t.Fatal(err)
	}
	s := &stalled{backend: b, out: make(chan fsnotify.Event), end: make(chan struct{})}
	s.wait.Go(func() {
		for ev := range b.events() {
			s.hold.Lock()
			s.hold.Unlock() //nolint:staticcheck // only waits
			select {
			case s.out <- ev:
			case <-s.end:
			}
		}
	})
	return s
}

func (s *stalled) events() <-chan fsnotify.Event { return s.out }

func (s *stalled) close() error {
	close(s.end)
	err := s.backend.close()
	s.wait.Wait()
	return err
}

// liveHeap is what is held now, garbage left out.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFaultOverflow(t *testing.T) {
	const files, perDay = 28_000, 500
	reliability.Fault(t, 33, "28,000 appends while the reader of the events stands still: more than the queue of the system holds")
	home := realTemp(t)
	paths := make([]string, files)
	for i := range paths {
		paths[i] = filepath.Join(home, sessionsDir, "2026", fmt.Sprintf("%02d", 1+i/perDay/28), fmt.Sprintf("%02d", 1+i/perDay%28), base(i))
		put(t, paths[i], "x")
	}
	s := newStalled(t)
	r := start(t, Options{Homes: []string{home}, Rescan: never}, func(w *Watcher) {
		w.open = func() (backend, error) { return s, nil }
	})
	for range paths {
		r.get(time.Minute)
	}
	r.none(time.Second)
	if h := r.Health(); h.Watches < files/perDay {
		t.Fatalf("health = %+v, want all folders watched", h)
	}
	before := liveHeap()
	s.hold.Lock()
	for _, p := range paths {
		appendTo(t, p, "y")
	}
	<-time.After(missedAge + 500*time.Millisecond) // no event comes any more for these
	stalledHeap := liveHeap()
	began := time.Now()
	s.hold.Unlock()
	current := make(map[string]bool, files)
	for len(current) < files {
		c := r.get(time.Minute)
		if c.Kind != Present || c.File.Size != 2 {
			t.Fatalf("change = %+v", c)
		}
		current[c.File.Path] = true
	}
	took := time.Since(began)
	grown := max(stalledHeap, liveHeap()) - before
	h := r.Health()
	if h.Dropped == 0 {
		t.Skipf("the queue of this system holds them all: %+v", h)
	}
	// What the system owned up to is no reason to doubt it from now on.
	if h.Missed != 0 || len(h.Problems) != 0 {
		t.Errorf("health = %+v, want nothing missed", h)
	}
	appendTo(t, paths[0], "z")
	r.want(Present, paths[0], soon)
	reliability.Figure(t, 4, "%d changed files, all reported current %d ms after events flowed again; live heap grew by %.1f MiB", files, took.Milliseconds(), float64(grown)/(1<<20))
	if took > 20*time.Second || grown > 16<<20 {
		t.Errorf("took %v, heap grew by %d bytes", took, grown)
	}
}
