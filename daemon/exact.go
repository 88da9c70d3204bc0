package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// recountRest is how long threads that change are left before they are counted
// in imported vocabularies: what is kept ready is estimated until then.
const recountRest = time.Second

// exact counts threads in the vocabularies that the user imported, beside what
// is taken in: that counts with the program's own alone. A nil one does nothing.
type exact struct {
	e    *engine
	wake chan struct{} // one place

	mu  sync.Mutex // guards the rest
	all bool       // every thread is to be looked at
	due map[string]bool
}

func newExact(e *engine) *exact {
	return &exact{e: e, wake: make(chan struct{}, 1), due: map[string]bool{}}
}

// changed tells that a thread has something new. It never waits.
func (x *exact) changed(thread string) {
	if x == nil || !x.e.pipe.Recounts() {
		return
	}
	x.mu.Lock()
	x.due[thread] = true
	x.mu.Unlock()
	x.nudge()
}

// look takes in what was imported or removed since it was last called. It never
// waits for a count.
func (x *exact) look(ctx context.Context) error {
	if x == nil {
		return nil
	}
	changed, err := x.e.pipe.Follow(ctx)
	if changed {
		x.everything()
	}
	return err
}

// everything has all threads looked at.
func (x *exact) everything() {
	x.mu.Lock()
	x.all = true
	x.mu.Unlock()
	x.nudge()
}

func (x *exact) nudge() {
	select {
	case x.wake <- struct{}{}:
	default: // it is awake
	}
}

// take gives what is to be done.
func (x *exact) take() (all bool, due map[string]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all, due = x.all, x.due
	x.all, x.due = false, map[string]bool{}
	return all, due
}

// run counts until ctx ends.
func (x *exact) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
		all, due := x.take()
		var err error
		if all {
			err = x.e.recountAll(ctx)
		} else if sleep(ctx, recountRest) {
			_, more := x.take()
			for id := range more {
				due[id] = true
			}
			for id := range due {
				if err = x.e.recount(ctx, id); err != nil {
					break
				}
			}
		}
		if err != nil {
			return stopped(ctx, err)
		}
	}
}

// recountAll decides by what is imported now, and counts every thread in it that
// isn't, the newest first.
func (e *engine) recountAll(ctx context.Context) error {
	err := e.gate.through(ctx, func() error {
		if err := e.pipe.ForgetCounts(ctx); err != nil {
			return err
		}
		return e.pipe.DecideAnew(ctx)
	})
	if err != nil || !e.pipe.Recounts() {
		return err
	}
	ids, err := e.db.ThreadIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := e.recount(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// recount counts one thread. One that is damaged is to be repaired, the others
// go on.
func (e *engine) recount(ctx context.Context, id string) error {
	return e.gate.through(ctx, func() error {
		_, err := e.pipe.Recount(ctx, id)
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}
