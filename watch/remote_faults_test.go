//go:build linux && faults

package watch

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// behind gives a Codex home on a FUSE file system, and the folder that another
// machine would write to: what happens there has no event.
func behind(t *testing.T) (home, source string) {
	t.Helper()
	dir := realTemp(t)
	home, source = filepath.Join(dir, "mount"), filepath.Join(dir, "source")
	mkdir(t, home)
	mkdir(t, source)
	if _, err := exec.LookPath("bindfs"); err != nil {
		t.Skip("bindfs is not installed")
	}
	run(t, "bindfs", "-o", "attr_timeout=0,entry_timeout=0,negative_timeout=0", source, home)
	t.Cleanup(func() {
		if out, err := exec.Command("fusermount", "-u", home).CombinedOutput(); err != nil {
			t.Errorf("fusermount -u: %v: %s", err, out)
		}
	})
	return home, source
}

func TestFaultRemoteFileSystem(t *testing.T) {
	home, source := behind(t)
	reliability.Fault(t, 38, "a real FUSE file system (bindfs), written to behind its back: polled from the start")
	path, there := filepath.Join(day(home, 1), base(1)), filepath.Join(day(source, 1), base(1))
	put(t, there, "x")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.size(path, 1, soon)
	var took []time.Duration
	for i := range int64(20) {
		<-time.After(time.Duration(i) * 13 * time.Millisecond)
		began := time.Now()
		appendTo(t, there, "y")
		r.size(path, 2+i, soon)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	began := time.Now()
	put(t, filepath.Join(day(source, 2), base(2)), "x")
	r.size(filepath.Join(day(home, 2), base(2)), 1, soon)
	reliability.Figure(t, 6, "on a FUSE file system written to behind its back: append to reported change %d ms at most, the first file of a new day %d ms",
		took[len(took)-1].Milliseconds(), time.Since(began).Milliseconds())
	if best := took[0]; best > time.Second {
		t.Errorf("appends seen after %v at best, want 500ms at most", best)
	}
	if h := r.Health(); h.Backend != pollBackend || h.Missed != 0 || len(h.Problems) != 0 {
		t.Errorf("health = %+v, want poll and no complaint", h)
	}
}

// A file system whose kind says nothing gives itself away.
func TestFaultMissedChanges(t *testing.T) {
	home, source := behind(t)
	reliability.Fault(t, 38, "the same, its kind not known: found out by 3 changes without an event")
	path, there := filepath.Join(day(home, 1), base(1)), filepath.Join(day(source, 1), base(1))
	put(t, there, "x")
	r := start(t, Options{Homes: []string{home}, Rescan: 2500 * time.Millisecond}, func(w *Watcher) {
		w.remote = func(string) string { return "" }
	})
	r.size(path, 1, soon)
	size := int64(1)
	for end := time.Now().Add(time.Minute); r.Health().Backend != pollBackend; size++ {
		if time.Now().After(end) {
			t.Fatalf("health = %+v, want its events distrusted", r.Health())
		}
		appendTo(t, there, "y")
		r.size(path, size+1, soon)
	}
	if h := r.Health(); h.Missed < missedLimit || len(h.Problems) != 1 || !strings.Contains(h.Problems[0], "without events") {
		t.Errorf("health = %+v, want the reason", h)
	}
	best := soon
	for range 5 {
		began := time.Now()
		appendTo(t, there, "y")
		size++
		r.size(path, size, soon)
		best = min(best, time.Since(began))
	}
	if best > time.Second {
		t.Errorf("appends seen after %v at best, want 500ms at most", best)
	}
}
