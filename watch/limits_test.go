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

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func TestWatchLimit(t *testing.T) {
	reliability.Fault(t, 34, "a watcher that gives 2 watches; asked again after 1, 2, 4, … 60 minutes")
	reliability.Fault(t, 35, "a watcher that can't be opened; tried again after 1, 2, 4, … 60 minutes")
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

// Where events come late, as on Windows, active files are looked at, and only
// they.
func TestLateEvents(t *testing.T) {
	reliability.Fault(t, 39, "a watcher that tells of nothing while the writer has the file open; 50 appends")
	bubble(t, func(t *testing.T, home string) {
		path, old := filepath.Join(day(home, 1), base(1)), filepath.Join(day(home, 1), base(2))
		put(t, path, "x")
		put(t, old, "x")
		chtimes(t, old, time.Now().Add(-2*warmFor))
		var looks [2]atomic.Int32
		r := start(t, Options{Homes: []string{home}, Rescan: never}, func(w *Watcher) {
			faked(newFake(plenty, nil))(w)
			w.late = true
			w.see.look = func(p string, n Name, a bool) (File, error) {
				switch p {
				case path:
					looks[0].Add(1)
				case old:
					looks[1].Add(1)
				}
				return look(p, n, a)
			}
		})
		r.want(Present, path, time.Second)
		r.want(Present, old, time.Second)
		for i := range 50 {
			<-time.After(time.Duration(i) * 7 * time.Millisecond)
			began := time.Now()
			appendTo(t, path, "y")
			r.want(Present, path, time.Second)
			if took := time.Since(began); took > 500*time.Millisecond {
				t.Errorf("an append was seen after %v", took)
			}
		}
		if n := looks[1].Load(); n > 2 { // the listing, and the reading of its folder
			t.Errorf("%d looks at a file nobody writes", n)
		}
		r.none(hotFor + 5*time.Minute) // its user thinks
		began := time.Now()
		appendTo(t, path, "y")
		r.want(Present, path, time.Minute)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the next append was seen after %v", took)
		}
		r.none(warmFor + time.Minute)
		before := looks[0].Load()
		r.none(10 * time.Minute)
		if n := looks[0].Load() - before; n != 0 {
			t.Errorf("%d looks at a file that has been quiet for long", n)
		}
	})
}
