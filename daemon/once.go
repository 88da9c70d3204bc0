package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// onceWait is how long a run that ends by itself waits for shared files that
// somebody changed just now.
const onceWait = 6 * time.Second

// publishAll writes all that is due at once and says how many documents changed
// in the drop folder and elsewhere, and what its place kept from being written.
func (e *engine) publishAll(ctx context.Context) (drop, elsewhere int, unwritten []FileProblem, err error) {
	p, err := newPublisher(ctx, e)
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.settle(ctx, time.Now(), nil); err != nil {
		return 0, 0, nil, err
	}
	var errs []error
	for _, o := range p.all() {
		n, err := o.once(ctx)
		unwritten = append(unwritten, o.unwritten()...)
		if o.name == dropName {
			drop += n
		} else {
			elsewhere += n
		}
		if err != nil {
			errs = append(errs, err)
		}
		if stops(err) || ctx.Err() != nil {
			break
		}
	}
	return drop, elsewhere, unwritten, errors.Join(errs...)
}

// once writes all that is due in one sink.
func (o *outlet) once(ctx context.Context) (n int, err error) {
	now := time.Now()
	if o.sink == nil {
		if there, err := o.reopen(ctx, now); err != nil || !there {
			return 0, err
		}
	}
	if err := o.lookForPlaces(ctx, now); err != nil {
		return 0, err
	}
	ids, err := o.unpublished(ctx, now)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, id := range ids {
		did, err := o.publish(ctx, id)
		if _, ok := errors.AsType[placeError](err); ok {
			o.hold(id, err, now)
			continue
		}
		if err != nil {
			errs = append(errs, err)
		}
		if stops(err) || ctx.Err() != nil || len(errs) > fewErrors {
			return n, errors.Join(errs...)
		}
		if did == publishedNew {
			n++
		}
	}
	// A run that was cut short may have written documents that no index names,
	// and somebody may have deleted one that they do. What is as it was isn't
	// written.
	errs = append(errs, o.writeIndexes(ctx))
	clear(o.share.due) // only how long a workspace has rested counts
	if err := o.stirAll(ctx, now, now); err != nil {
		return n, errors.Join(append(errs, err)...)
	}
	errs = append(errs, o.lookAfter(ctx, now))
	if at := o.share.next(); !at.IsZero() && at.Sub(now) <= onceWait && sleep(ctx, time.Until(at)) {
		errs = append(errs, o.lookAfter(ctx, time.Now()))
	}
	if !o.indexes.IsZero() {
		errs = append(errs, o.writeIndexes(ctx)) // something was past its time
	}
	return n, errors.Join(errs...)
}

// Write has f work on the cache as its only writer. *LockedError if a daemon is.
func Write(ctx context.Context, opt Options, f func(context.Context, *store.DB) error) error {
	e, err := start(ctx, opt, roleCommand)
	if err != nil {
		return err
	}
	return e.closed(ctx, f(ctx, e.db))
}
