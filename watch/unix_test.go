//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package watch

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func TestListPipe(t *testing.T) {
	reliability.Fault(t, 41, "mkfifo under the name of a rollout")
	home := realTemp(t)
	mkdir(t, filepath.Join(home, sessionsDir))
	mkdir(t, filepath.Join(home, archivedDir))
	pipe := filepath.Join(home, sessionsDir, base(1))
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	files, problems, err := List(t.Context(), home)
	if err != nil || len(files) != 0 || len(problems) != 1 || !errors.Is(problems[0].Err, ErrNotRegular) {
		t.Errorf("List() = %v, %v, %v, want one problem for the pipe", files, problems, err)
	}
}

// A rewrite of the same size whose writer puts the old time back shows in the
// change time alone.
func TestRewriteOfEqualSizeAndTime(t *testing.T) {
	reliability.Fault(t, 42, "a rewrite of equal size with the old time put back, told by an event and found by a listing")
	for name, told := range map[string]bool{"told by an event": true, "found by the listing": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, home string) {
				path := filepath.Join(day(home, 1), base(1))
				put(t, path, "x")
				was, err := look(path, Name{}, false)
				if err != nil {
					t.Fatal(err)
				}
				b := newFake(plenty, nil)
				r := start(t, Options{Homes: []string{home}}, faked(b))
				r.want(Present, path, time.Second)
				for is := was; is.CTimeNs == was.CTimeNs; { // clocks of some kernels tick every 4 ms
					put(t, path, "y")
					chtimes(t, path, was.ModTime)
					if is, err = look(path, Name{}, false); err != nil {
						t.Fatal(err)
					}
				}
				within := defaultRescan + time.Second
				if told {
					b.ev <- fsnotify.Event{Name: path, Op: fsnotify.Write}
					within = time.Second
				}
				r.want(Present, path, within)
				r.none(5 * time.Minute)
			})
		})
	}
}
