package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// A receiver that stands still holds changes up; it makes none get lost, and
// the queue grows with the files, not with what happens to them.
func TestStalledReceiver(t *testing.T) {
	const files, rounds = 10_000, 5
	reliability.Fault(t, 11, "the receiver of changes stands still while 10,000 files grow five times: each is delivered once, with its last size")
	bubble(t, func(t *testing.T, home string) {
		b := newFake(plenty, nil)
		paths := make([]string, files)
		for i := range paths {
			paths[i] = filepath.Join(day(home, 1+i/1000), base(i))
			put(t, paths[i], "x")
		}
		r := start(t, Options{Homes: []string{home}}, faked(b))
		for range paths {
			r.get(time.Minute)
		}
		synctest.Wait()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		before := int64(m.HeapAlloc)
		for range rounds {
			for _, p := range paths {
				appendTo(t, p, "y")
				b.ev <- fsnotify.Event{Name: p, Op: fsnotify.Write}
			}
			<-time.After(time.Second)
		}
		runtime.GC()
		runtime.ReadMemStats(&m)
		if grown := int64(m.HeapAlloc) - before; grown > 16<<20 {
			t.Errorf("%d MiB more are held", grown>>20)
		}
		got := make(map[string]bool, files)
		for range paths {
			c := r.get(time.Minute)
			if got[c.File.Path] || c.Kind != Present || c.File.Size != 1+rounds {
				t.Fatalf("change = %+v, want each file once, as it is now", c)
			}
			got[c.File.Path] = true
		}
		r.none(10 * time.Second)
	})
}

// kqueue holds a descriptor for each watched folder and each name in it: with a
// long history they stay few, and an old file that goes on is still seen.
func TestLongHistoryCostsFewDescriptors(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		long := time.Now().Add(-90 * 24 * time.Hour)
		var paths []string
		for i := range 2400 {
			d := i / 2
			path := filepath.Join(home, sessionsDir, fmt.Sprint(2023+d/336), fmt.Sprintf("%02d", 1+d/28%12), fmt.Sprintf("%02d", 1+d%28), base(i))
			put(t, path, "x")
			chtimes(t, path, long)
			paths = append(paths, path)
		}
		b := newFake(plenty, nil)
		limit := budget{newest: 64, active: 64, cost: 128, perFile: true}
		r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
			faked(b)(w)
			w.budget = limit
		})
		for range paths {
			r.get(time.Minute)
		}
		cost := func() (n int) {
			synctest.Wait()
			b.mu.Lock()
			defer b.mu.Unlock()
			for dir := range b.watched {
				names, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				n += 1 + len(names)
			}
			return n
		}
		if n := cost(); n > limit.cost || n < limit.cost/2 {
			t.Errorf("%d descriptors, want at most %d and use of them", n, limit.cost)
		}
		appendTo(t, paths[0], "y")
		r.want(Present, paths[0], 61*time.Second)
		synctest.Wait()
		if !b.watches(filepath.Dir(paths[0])) {
			t.Error("the folder of the file that goes on is not watched")
		}
		if n := cost(); n > limit.cost {
			t.Errorf("%d descriptors, want at most %d", n, limit.cost)
		}
	})
}

// With events there is nothing to do between listings.
func TestIdleSleepsUntilTheListing(t *testing.T) {
	home := realTemp(t)
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "x")
	l := stepped(t, home)
	for range 2 { // what the first listing found is old by then, or not
		now := time.Now()
		l.work(t.Context(), now)
		if wait := l.deadline().Sub(now); wait < defaultRescan-time.Second {
			t.Errorf("wakes after %v, want the listing only", wait)
		}
		l.tree.active[path].active = now.Add(-2 * hotFor)
		l.findActive(now)
	}
}
