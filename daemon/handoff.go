package daemon

import (
	"context"
	"errors"

	"github.com/session-migrator/session-migrator/daemon/handoff"
	"github.com/session-migrator/session-migrator/daemon/notify"
	"github.com/session-migrator/session-migrator/store"
)

// notifier shows a message to the user.
type notifier interface {
	Show(ctx context.Context, title, text string) error
}

const (
	// notices is how many messages wait to be shown; more are in the log alone.
	notices = 8
	// noticeName is how many characters of a session's title a message has.
	noticeName = 60
	// notifying is what troubles with the desktop are filed under.
	notifying = "notify"
)

// relay tells once which sessions run out of context or quota: in the log, and
// on the desktop where the user asked for that. The selections and documents of
// such a session are renewed at once.
type relay struct {
	e       *engine
	pub     *publisher
	book    *handoff.Book
	desktop notifier             // nil: not asked for, or not to be had
	waiting chan handoff.Handoff // to be shown
}

func newRelay(ctx context.Context, e *engine, pub *publisher) (*relay, error) {
	c := e.opt.Config.Handoff
	book, err := handoff.NewBook(ctx, e.db, c.Threshold, func(ctx context.Context, key, text string) error {
		err := e.gate.through(ctx, func() error { return e.db.SetMeta(ctx, key, text) })
		return errors.Join(err, context.Cause(ctx)) // the gate gives up without an error
	})
	if err != nil {
		return nil, err
	}
	r := &relay{e: e, pub: pub, book: book, waiting: make(chan handoff.Handoff, notices)}
	if !c.Notify {
		return r, nil
	}
	d := notify.Desktop{Bus: c.Bus}
	if err := d.Ready(); err != nil {
		e.troubles.set(e.log, notifying, err.Error())
		return r, nil
	}
	r.desktop = d
	return r, nil
}

// look tells what a session that changed runs out of, if that is news.
func (r *relay) look(ctx context.Context, id string) error {
	due, err := r.book.Look(ctx, id, r.e.now())
	if err != nil || len(due) == 0 {
		return err
	}
	r.pub.hurry(id)
	t, err := r.e.db.Thread(ctx, id)
	if err != nil {
		return err
	}
	for _, d := range due {
		h := handoff.Of(ctx, r.e.db, r.e.pipe, t, d)
		r.e.log.Warn("a session should be handed on", "thread", id, "why", h.String(), "next", h.Command)
		if r.desktop == nil {
			continue
		}
		select {
		case r.waiting <- h:
		default:
			r.e.log.Info("too many messages at once: one is not shown", "thread", id)
		}
	}
	return nil
}

// changed looks at a session; what keeps it from that is no fault of the lines
// that were read.
func (r *relay) changed(ctx context.Context, id string) error {
	return r.passed(ctx, r.look(ctx, id))
}

func (r *relay) passed(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return err
	}
	if err != nil && ctx.Err() == nil {
		r.e.log.Warn("can't tell whether a session runs out; its next line tells", "err", err)
	}
	return nil
}

// all looks at the sessions in use: what happened to them while no daemon ran is
// news too.
func (r *relay) all(ctx context.Context) error {
	threads, _, err := r.e.db.Threads(ctx, store.Filter{Since: r.e.now().Add(-daily)})
	if err != nil {
		return r.passed(ctx, err)
	}
	for i := range threads {
		if err := r.changed(ctx, threads[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// run shows messages, one after the other, until ctx ends.
func (r *relay) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case h := <-r.waiting:
			err := r.desktop.Show(ctx, "session-migrator: "+h.String(), h.Name(noticeName)+" | next: "+h.Command)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // told to stop
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			r.e.troubles.set(r.e.log, notifying, text)
		}
	}
}
