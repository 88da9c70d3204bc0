package daemon

import (
	"context"
	"errors"

	"github.com/session-migrator/session-migrator/daemon/summarizing"
)

// newSummarizer makes the worker that has a model write summaries; nil if the
// settings ask for none. It tells renew whose documents are due.
func newSummarizer(e *engine, renew func(threadID string)) *summarizing.Worker {
	return summarizing.New(summarizing.Options{Config: e.opt.Config, DB: e.db, Pipe: e.pipe, Log: e.log, Write: e.gate.written, Renew: renew})
}

// runSummaries has summaries made once the backfill is over: what was said comes
// first.
func (e *engine) runSummaries(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-e.index.filled:
	}
	return e.summaries.Run(ctx)
}

// Summarize has a model write a summary of a thread at once, and renews its
// documents: in the daemon if one runs, else here. Errors are those of package
// summarizing and *LockedError.
func Summarize(ctx context.Context, opt Options, threadID string, wish summarizing.Wish) (r summarizing.Result, err error) {
	e, err := start(ctx, opt, roleCommand)
	if locked, ok := errors.AsType[*LockedError](err); ok && locked.Daemon {
		return summarizing.Ask(ctx, opt.Config, threadID, wish)
	}
	if err != nil {
		return r, err
	}
	defer func() { err = e.closed(ctx, err) }()
	due := false
	r, err = newSummarizer(e, func(string) { due = true }).Now(ctx, threadID, wish)
	if due {
		_, _, _, published := e.publishAll(ctx)
		err = errors.Join(err, published)
	}
	return r, err
}
