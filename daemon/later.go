package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

const (
	firstLater = time.Second // until a rollout is tried again; doubles up to lastLater
	lastLater  = 5 * time.Minute
)

// later holds the rollouts that the system kept from being read: no descriptors
// left, no permission, a failing disk. Nothing tells when that is over, so they
// are tried again.
type later struct {
	wake chan struct{} // holds one: the next try may be due sooner

	mu    sync.Mutex         // guards files
	files map[string]attempt // by rollout id
}

type attempt struct {
	file store.File
	at   time.Time // of the next try
	wait time.Duration
}

func newLater() *later {
	return &later{wake: make(chan struct{}, 1), files: map[string]attempt{}}
}

// note takes in how a try to read f ended. A nil later takes in nothing: a run
// that ends by itself has no later.
func (l *later) note(f store.File, err error, now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !passes(err) {
		delete(l.files, f.RolloutID)
		return
	}
	wait := min(max(2*l.files[f.RolloutID].wait, firstLater), lastLater)
	l.files[f.RolloutID] = attempt{file: f, at: now.Add(wait), wait: wait}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// due gives the rollouts to try now, and how long it is to the next.
func (l *later) due(now time.Time) (files []store.File, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = time.Hour
	for _, a := range l.files {
		if in := a.at.Sub(now); in > 0 {
			wait = min(wait, in)
		} else {
			files = append(files, a.file)
		}
	}
	return files, wait
}

// passes says that err is the system's and may be over without any change to
// the file.
func passes(err error) bool {
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrFolder)
}

// tryAgain reads what could not be read before, until ctx ends.
func (e *engine) tryAgain(ctx context.Context, pub *publisher) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		files, wait := e.later.due(time.Now())
		for _, f := range files {
			if ctx.Err() != nil {
				return nil
			}
			if err := e.tryOnce(ctx, f, pub); errors.Is(err, store.ErrDamaged) {
				return err
			} // else it is noted again, with its reason
		}
		if len(files) > 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-e.later.wake:
		case <-timer.C:
		}
	}
}

// tryOnce reads f as it is now, if it can be opened by now.
func (e *engine) tryOnce(ctx context.Context, f store.File, pub *publisher) error {
	st, err := os.Lstat(f.Path)
	if err == nil && st.Mode().IsRegular() {
		var file *os.File
		if file, err = os.Open(f.Path); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		e.later.note(f, err, time.Now())
		return err
	}
	if size, at := st.Size(), st.ModTime().UnixNano(); size != f.Size || at != f.ModTimeNs {
		f.Size, f.ModTimeNs, f.ChangeTimeNs = size, at, 0
	}
	return e.present(ctx, f, pub)
}
