package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// A file changes its place after its folder was read and before it is looked at.
func TestChangeBetweenListingAndLook(t *testing.T) {
	archived := func(home string) string { return filepath.Join(home, archivedDir, base(1)) }
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, home, path string)
		end       func(home, path string) string // where it is to be found then
	}{
		"renamed to another folder": {
			func(t *testing.T, home, path string) { rename(t, path, archived(home)) },
			func(home, _ string) string { return archived(home) },
		},
		"its folder renamed": {
			func(t *testing.T, home, path string) { rename(t, filepath.Dir(path), day(home, 9)) },
			func(home, _ string) string { return filepath.Join(day(home, 9), base(1)) },
		},
		"replaced by its compressed form": {
			func(t *testing.T, _, path string) { rename(t, path, path+".zst") },
			func(_, path string) string { return path + ".zst" },
		},
		"deleted and made anew": {
			func(t *testing.T, _, path string) { remove(t, path) },
			func(_, path string) string { return path },
		},
	} {
		t.Run(name, func(t *testing.T) {
			reliability.Fault(t, 30, name+" by a hook between the reading of its folder and the look at it")
			bubble(t, func(t *testing.T, home string) {
				path, other := filepath.Join(day(home, 1), base(1)), filepath.Join(day(home, 2), base(2))
				put(t, path, "x")
				put(t, other, "x")
				var armed atomic.Bool
				r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
					faked(newFake(plenty, nil))(w)
					w.see.look = func(p string, n Name, a bool) (File, error) {
						if p == path && armed.CompareAndSwap(true, false) {
							c.meanwhile(t, home, path)
						}
						return look(p, n, a)
					}
				})
				r.want(Present, path, time.Second)
				r.want(Present, other, time.Second)
				armed.Store(true)
				end := c.end(home, path)
				if end == path {
					for armed.Load() {
						r.none(time.Second)
					}
					put(t, path, "anew")
				}
				r.want(Present, end, 61*time.Second+2*confirm) // never gone first
				r.none(5 * time.Minute)
			})
		})
	}
}

// A listing that met an error takes nothing for gone, and says what it met.
func TestUncleanListingEndsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no descriptors":    {syscall.EMFILE, "too many open files"},
		"no permission":     {fs.ErrPermission, "let this user read it"},
		"a failing disk":    {syscall.EIO, "input/output error"},
		"a stale file":      {syscall.ESTALE, ""},
		"something unheard": {errors.New("odd"), "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, home string) {
				path := filepath.Join(day(home, 1), base(1))
				put(t, path, "x")
				var broken atomic.Bool
				r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
					faked(newFake(plenty, nil))(w)
					w.see.look = func(p string, n Name, a bool) (File, error) {
						if p == path && broken.Load() {
							return File{}, &os.PathError{Op: "lstat", Path: p, Err: c.err}
						}
						return look(p, n, a)
					}
				})
				r.want(Present, path, time.Second)
				broken.Store(true)
				r.none(5 * time.Minute)
				if h := r.Health(); countContains(h.Problems, path) != 1 || countContains(h.Problems, c.want) != 1 {
					t.Errorf("problems = %q, want the file with %q", h.Problems, c.want)
				}
				appendTo(t, path, "y")
				broken.Store(false)
				r.want(Present, path, 61*time.Second)
			})
		})
	}
}

// Without descriptors no folder can be read: that is made up for soon, not only
// by the next listing.
func TestNoDescriptorsForAWhile(t *testing.T) {
	reliability.Fault(t, 36, "folders that can't be read for want of descriptors: first a new one, then all of a listing")
	bubble(t, func(t *testing.T, home string) {
		path := filepath.Join(day(home, 1), base(1))
		put(t, path, "x")
		b := newFake(plenty, nil)
		var short atomic.Bool
		r := start(t, Options{Homes: []string{home}}, func(w *Watcher) {
			faked(b)(w)
			w.see.readDir = func(dir string) ([]os.DirEntry, error) {
				if short.Load() {
					return nil, &os.PathError{Op: "open", Path: dir, Err: syscall.EMFILE}
				}
				return os.ReadDir(dir)
			}
		})
		r.want(Present, path, time.Second)
		for range 2 {
			short.Store(true)
			fresh := filepath.Join(day(home, 2), base(2))
			put(t, fresh, "x")
			b.ev <- fsnotify.Event{Name: filepath.Dir(fresh), Op: fsnotify.Create}
			r.none(3 * afterLimit)
			short.Store(false)
			r.want(Present, fresh, 2*afterLimit)
			remove(t, filepath.Dir(fresh))
			b.ev <- fsnotify.Event{Name: filepath.Dir(fresh), Op: fsnotify.Remove}
			r.want(Gone, fresh, 10*time.Second)
		}
		if h := r.Health(); len(h.Problems) != 0 || h.Watches != 5 {
			t.Errorf("health = %+v, want no problem left", h)
		}
	})
}
