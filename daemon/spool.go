package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/session-migrator/session-migrator/daemon/spool"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/summary"
)

const (
	// spoolTick is how often what agents wrote is looked for: one listing of a
	// folder that is mostly empty.
	spoolTick = time.Second
	// spoolPatience is how long a summary may be of messages that are not taken
	// in yet.
	spoolPatience = time.Minute
)

// spoolTrouble is what troubles know the spool by.
const spoolTrouble = "spool"

// takeSummaries takes in what agents write, if the settings let them.
func (e *engine) takeSummaries(ctx context.Context, pub *publisher) error {
	if !e.opt.Config.Summaries.ByCaller {
		return nil
	}
	if err := spool.Sweep(e.opt.Config.Spool(), time.Now()); err != nil {
		e.log.Debug("temporaries in the spool stay", "err", err)
	}
	for {
		filled := false
		select {
		case <-e.index.filled:
			filled = true
		default:
		}
		threads, err := e.drainSpool(ctx, filled)
		for _, id := range threads {
			pub.changed(id, true)
		}
		if err != nil {
			return err
		}
		if !sleep(ctx, spoolTick) {
			return nil
		}
	}
}

// drainSpool takes in what waits, and gives the threads that have a new summary.
// What can never be taken in is set aside; filled says that all rollouts were
// read, so that a thread that isn't here won't come. Only damage to the cache is
// an error.
func (e *engine) drainSpool(ctx context.Context, filled bool) (threads []string, err error) {
	if !e.opt.Config.Summaries.ByCaller {
		return nil, nil
	}
	dir := e.opt.Config.Spool()
	waiting, err := spool.Waiting(dir)
	if err != nil {
		e.troubles.set(e.log, spoolTrouble, "summaries that agents wrote can't be taken in: "+err.Error())
		return nil, nil //nolint:nilerr // told, and tried again
	}
	stays := ""
	for _, f := range waiting {
		if ctx.Err() != nil {
			return threads, nil //nolint:nilerr // told to stop: what waits is taken in at the next start
		}
		s, err := spool.Read(dir, f.Name)
		if err == nil {
			if s.Created.Unix() <= 0 || s.Created.After(time.Now()) {
				s.Created = f.ModTime // what the file says of itself is no time
			}
			err = e.gate.through(ctx, func() error { return e.pipe.SaveSummary(ctx, s) })
		}
		if ctx.Err() != nil {
			return threads, nil //nolint:nilerr // told to stop: it may not have been saved, and stays
		}
		early := errors.Is(err, store.ErrNotFound) || errors.Is(err, pipeline.ErrThrough)
		switch {
		case err == nil:
			threads = append(threads, s.ThreadID)
			e.log.Info("a summary was taken in", "thread", s.ThreadID, "through", s.Through)
			err = spool.Remove(dir, f.Name)
		case errors.Is(err, store.ErrDamaged):
			return threads, err
		case errors.Is(err, fs.ErrNotExist), stops(err), early && (!filled || time.Since(f.ModTime) < spoolPatience):
			continue // it comes again
		case errors.Is(err, summary.ErrCoversLess):
			e.log.Info("a summary was left out", "thread", s.ThreadID, "err", err)
			err = spool.Remove(dir, f.Name)
		default:
			e.log.Debug("a summary can't be taken in", "file", f.Name, "err", err) // status says so
			err = spool.Refuse(dir, f.Name, err)
		}
		if err != nil {
			stays = "summaries that agents wrote can't be moved out of the way: " + err.Error()
		}
	}
	if stays == "" {
		stays = refusedText(dir)
	}
	e.troubles.set(e.log, spoolTrouble, stays)
	return threads, nil
}

// refusedText says what was set aside; empty: nothing.
func refusedText(dir string) string {
	n, newest, reason := spool.Refused(dir)
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a summary that an agent wrote could not be taken in: %s (%s); delete it and the file beside it when you have seen it", reason, newest)
	}
	return fmt.Sprintf("%d summaries that agents wrote could not be taken in, the newest: %s (%s); delete what lies there when you have seen it", n, reason, newest)
}
