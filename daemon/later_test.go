package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

func TestLaterBacksOff(t *testing.T) {
	l := newLater()
	f := store.File{RolloutID: "a", Path: "/a"}
	now := time.Unix(1_000_000, 0)
	var waits []time.Duration
	for range 12 {
		l.note(f, fmt.Errorf("ingest: %w", &fs.PathError{Op: "open", Path: "/a", Err: syscall.EMFILE}), now)
		files, wait := l.due(now)
		if len(files) != 0 {
			t.Fatalf("due at once: %v", files)
		}
		waits = append(waits, wait)
		now = now.Add(wait)
		if files, _ = l.due(now); len(files) != 1 || files[0] != f {
			t.Fatalf("due after %v: %v", wait, files)
		}
	}
	if waits[0] != firstLater || waits[1] != 2*firstLater || waits[11] != lastLater {
		t.Errorf("waits %v", waits)
	}
	l.note(f, nil, now)
	if files, _ := l.due(now.Add(time.Hour)); len(files) != 0 {
		t.Errorf("due after it was read: %v", files)
	}
	var none *later
	none.note(f, syscall.EMFILE, now)
}

func TestWhatPasses(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                              false,
		syscall.EMFILE:                   true,
		syscall.EACCES:                   true,
		syscall.EIO:                      true,
		syscall.ENOENT:                   false, // it moved: a change of its own
		store.ErrBusy:                    true,
		store.ErrFolder:                  true,
		errors.New("not a regular file"): false,
	} {
		if got := passes(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
