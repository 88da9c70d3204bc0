package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchLimit(t *testing.T) {
	for name, opens := range map[string]bool{"no more watches": true, "no instance": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, home string) {
				old, live := filepath.Join(day(home, 1), base(1)), filepath.Join(day(home, 2), base(2))
				put(t, old, "x")
				put(t, live, "x")
				b := newFake(2, fmt.Errorf("add: %w", syscall.ENOSPC))
				var tries atomic.Int32
				var free atomic.Bool
				r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
					faked(b)(w)
					w.open = func() (backend, error) {
						if tries.Add(1); !opens && !free.Load() {
							return nil, syscall.EMFILE
						}
						return b, nil
					}
				})
				r.want(Present, old, time.Second)
				r.want(Present, live, time.Second)
				h := r.Health()
				if h.Backend != "poll" || countContains(h.Problems, "not enough watches") != 1 {
					t.Fatalf("health = %+v, want poll and one problem", h)
				}
				// An active file, a new file in a known folder, a new folder.
				appendTo(t, live, "y")
				r.want(Present, live, 300*time.Millisecond)
				fresh := filepath.Join(day(home, 2), base(3))
				put(t, fresh, "x")
				r.want(Present, fresh, 2*time.Second)
				fresh = filepath.Join(day(home, 3), base(4))
				put(t, fresh, "x")
				r.want(Present, fresh, 2*time.Second)
				put(t, filepath.Join(home, indexFile), "{}")
				r.want(IndexChanged, filepath.Join(home, indexFile), 2*time.Second)

				// Retries come further and further apart.
				attempts := func() int {
					if opens {
						return b.tries()
					}
					return int(tries.Load())
				}
				before := attempts()
				r.none(2 * time.Hour)
				if n := attempts() - before; n < 5 || n > 8 {
					t.Errorf("%d attempts in two hours, want 1, 2, 4, … minutes apart", n)
				}
				if h := r.Health(); countContains(h.Problems, "not enough watches") != 1 {
					t.Errorf("problems = %q, want it said once", h.Problems)
				}
				free.Store(true)
				b.allow(plenty)
				r.none(time.Hour + time.Minute)
				if h := r.Health(); h.Backend != "fake" || h.Watches != 7 || len(h.Problems) != 0 {
					t.Errorf("health = %+v, want all watches back", h)
				}
			})
		})
	}
}

func countContains(texts []string, part string) int {
	n := 0
	for _, s := range texts {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// Only the newest day folders are watched, and those where something goes on.
func TestWatchBudget(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		long := time.Now().Add(-240 * time.Hour)
		var paths []string
		for m := 1; m <= 6; m++ {
			for d := 1; d <= 28; d++ {
				p := filepath.Join(home, sessionsDir, "2026", fmt.Sprintf("%02d", m), fmt.Sprintf("%02d", d), base(m*100+d))
				put(t, p, "x")
				if err := os.Chtimes(p, long, long); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, p)
			}
		}
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, faked(b))
		for range paths {
			r.get(time.Second)
		}
		synctest.Wait()
		upper := 1 + 1 + 1 + 6 // home, root, year, months
		if h := r.Health(); h.Watches != upper+64 {
			t.Errorf("%d watches, want %d", h.Watches, upper+64)
		}
		oldest := paths[0]
		if b.watches(filepath.Dir(oldest)) {
			t.Error("the oldest folder is watched")
		}
		appendTo(t, oldest, "y")
		r.want(Present, oldest, 61*time.Second)
		synctest.Wait()
		if !b.watches(filepath.Dir(oldest)) {
			t.Error("the folder of an active file is not watched")
		}
	})
}

// With kqueue's costs little is watched, and active files and new names are
// looked at by the clock.
func TestSmallBudget(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		var paths []string
		for i := range 300 {
			paths = append(paths, filepath.Join(day(home, 1+i/100), base(i)))
			put(t, paths[i], "x")
		}
		b := newFake(plenty, nil)
		r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
			faked(b)(w)
			w.budget = budget{newest: 64, active: 64, cost: 50, perFile: true}
		})
		for range paths {
			r.get(time.Second)
		}
		synctest.Wait()
		for d := 1; d <= 3; d++ {
			if b.watches(day(home, d)) {
				t.Errorf("folder %d with 100 files is watched", d)
			}
		}
		appendTo(t, paths[299], "y")
		r.want(Present, paths[299], 300*time.Millisecond)
		fresh := filepath.Join(day(home, 3), base(400))
		put(t, fresh, "x")
		r.want(Present, fresh, 2*time.Second)
	})
}

// Where events come late, as on Windows, active files are looked at.
func TestLateEvents(t *testing.T) {
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
			faked(newFake(plenty, nil))(w)
			w.late = true
		})
		r.want(Present, path, time.Second)
		appendTo(t, path, "y")
		r.want(Present, path, 300*time.Millisecond)
	})
}
