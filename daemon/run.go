package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/exe"
	"github.com/session-migrator/session-migrator/daemon/life"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

const (
	// tick is how often the daemon looks after itself. At the start it does so
	// sooner, because then most changes.
	tick      = 5 * time.Second
	firstTick = 250 * time.Millisecond
)

const (
	// heals is how often a run starts again at once with a new cache; then it
	// waits longer and longer in between: what damages it may go on.
	heals    = 3
	healWait = 5 * time.Second
	healMost = 5 * time.Minute
)

// healed is how long a run must have gone on for its start to count as a cure.
const healed = 10 * time.Minute

// errReplaced says that the cache's file is no longer the one we write to.
var errReplaced = errors.New("the cache was deleted or replaced")

// Run brings everything up to date and keeps it so until ctx ends; then it
// returns nil. A cache that is found damaged, or was taken away, is made anew
// from the rollouts. *LockedError if another process does so already.
func Run(ctx context.Context, opt Options) error {
	opt.began, opt.program, opt.pulse = time.Now().UTC(), exe.This(), life.New(opt.Life)
	defer context.AfterFunc(ctx, opt.pulse.Stop)()
	alive, end := context.WithCancel(ctx)
	var pulse sync.WaitGroup
	pulse.Go(func() { opt.pulse.Run(alive) })
	defer pulse.Wait()
	defer end()
	for n := 1; ; n++ {
		begun := time.Now()
		err := run(ctx, opt)
		if time.Since(begun) > healed {
			n = 1 // another day's damage
		}
		if !errors.Is(err, errReplaced) && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		wait := healDelay(n)
		if opt.Log != nil {
			opt.Log.Warn("the cache is made anew", "err", err, "in", wait)
		}
		if wait > 0 && !sleep(ctx, wait) {
			return nil
		}
	}
}

// healDelay is pure: how long to wait before the n-th new cache in a row.
func healDelay(n int) time.Duration {
	if n <= heals {
		return 0
	}
	return min(healWait<<min(n-heals-1, 10), healMost)
}

func run(ctx context.Context, opt Options) (err error) {
	e, err := start(ctx, opt, roleDaemon)
	if err != nil {
		return stopped(ctx, err)
	}
	defer func() { err = e.closed(ctx, err) }()
	e.later, e.index = newLater(), newIndexer(e)
	e.embed, e.exact = newEmbedder(e), newExact(e)
	t := newTally(opt.Progress)
	t.phase(PhaseList)
	l, err := e.list(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	w, err := e.watcher(ctx, l)
	if err != nil {
		return stopped(ctx, err)
	}
	pub, err := newPublisher(ctx, e)
	if err != nil {
		return stopped(ctx, err)
	}
	e.summaries = newSummarizer(e, func(id string) { pub.changed(id, true) })
	if e.relay, err = newRelay(ctx, e, pub); err != nil {
		return stopped(ctx, errors.Join(err, pub.close()))
	}
	return stopped(ctx, e.serve(ctx, l, t, w, pub))
}

// stopped hides what an ended ctx made fail.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // told to stop
	}
	return err
}

// watcher reports what changes from the listing on.
func (e *engine) watcher(ctx context.Context, l listing) (*watch.Watcher, error) {
	listed := map[string]store.File{}
	for _, f := range l.files {
		listed[f.Path] = f
	}
	had, err := e.had(ctx)
	if err != nil {
		return nil, err
	}
	return watch.New(watch.Options{
		Homes: e.opt.Config.CodexHomes,
		Had:   had,
		Known: func(path string) (watch.File, bool) {
			f, ok := listed[path]
			return watchFile(store.Checkpoint{File: f}), ok
		},
		Log: e.log,
	})
}

// serve runs the parts of the daemon side by side; the first that fails stops
// the others.
func (e *engine) serve(ctx context.Context, l listing, t *tally, w *watch.Watcher, pub *publisher) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changes := make(chan watch.Change)
	var parts sync.WaitGroup
	part := func(name string, f func(context.Context) error) {
		parts.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	part("watch", func(ctx context.Context) error { return w.Run(ctx, changes) })
	for range max(2, runtime.GOMAXPROCS(0)) {
		part("ingest", func(ctx context.Context) error { return e.intake(ctx, changes, pub) })
	}
	part("backfill", func(ctx context.Context) error {
		if err := e.catchUp(ctx, l, t); err != nil {
			return err
		}
		close(e.index.filled)
		e.exact.everything()
		pub.rescan()
		e.summaries.Changed("")
		if err := e.relay.all(ctx); err != nil {
			return err
		}
		t.phase(PhaseWatch)
		e.log.Info("backfill done", "files", t.progress.FilesDone, "bytes", t.bytes, "items", t.items, "took", time.Since(t.started))
		return nil
	})
	part("try again", func(ctx context.Context) error { return e.tryAgain(ctx, pub) })
	part("publish", pub.run)
	part("notify", e.relay.run)
	part("index", e.index.run)
	part("embed", e.runEmbed)
	part("count exactly", e.exact.run)
	part("summarize", e.runSummaries)
	part("take summaries in", func(ctx context.Context) error { return e.takeSummaries(ctx, pub) })
	part("warm up", func(ctx context.Context) error { e.pipe.Warm(ctx); return nil })
	part("release vocabularies", e.release)
	part("look after the cache", e.upkeep)
	part("keep house", func(ctx context.Context) error { return e.house(ctx, w, pub) })
	parts.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// releaseEvery: vocabularies that were not used for so long are let go; to build
// them again takes less than a tenth of a second.
const releaseEvery = 5 * time.Minute

// release gives the memory of what counts back while nothing is counted.
func (e *engine) release(ctx context.Context) error {
	t := time.NewTicker(releaseEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			e.pipe.Release()
		}
	}
}

// intake ingests what watch reports, one change after the other.
func (e *engine) intake(ctx context.Context, changes <-chan watch.Change, pub *publisher) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-changes:
			err := e.change(ctx, c, pub)
			if errors.Is(err, store.ErrDamaged) {
				return err
			}
			if err != nil && ctx.Err() == nil {
				// The file is named in status with its reason; the others go on.
				e.log.Warn("a rollout can't be read", "path", c.File.Path, "err", err)
			}
		}
	}
}

func (e *engine) change(ctx context.Context, c watch.Change, pub *publisher) error {
	switch c.Kind {
	case watch.IndexChanged:
		if err := e.gate.through(ctx, func() error { return e.pipe.IngestNames(ctx, c.Home) }); err != nil {
			return err
		}
		pub.rescan()
		return nil
	case watch.Gone:
		return e.gate.through(ctx, func() error { return e.pipe.Gone(ctx, fileOf(c.Home, c.File)) })
	case watch.Present:
	}
	return e.present(ctx, fileOf(c.Home, c.File), pub)
}

// present ingests a rollout that is new or changed.
func (e *engine) present(ctx context.Context, f store.File, pub *publisher) error {
	t := newTally(nil)
	if err := e.take(ctx, f, t); err != nil {
		return err
	}
	if t.windows {
		if err := e.retarget(ctx); err != nil {
			return err
		}
	}
	for id := range t.changed {
		pub.changed(id, t.ended)
		e.exact.changed(id)
		e.summaries.Changed(id)
		if err := e.relay.changed(ctx, id); err != nil {
			return err
		}
	}
	if len(t.problems) > 0 {
		return errors.New(t.problems[0].Reason)
	}
	return nil
}

// house keeps what the daemon says of itself current, and the WAL short.
func (e *engine) house(ctx context.Context, w *watch.Watcher, pub *publisher) error {
	since := e.opt.began
	e.opt.pulse.Begin()
	defer e.opt.pulse.End()
	var said Info
	var version, seen int64 = -1, 0
	wait := firstTick
	defer func() { _ = forgetInfo(e.opt.Config.Run()) }() // an old file misleads nobody: the lock tells
	for {
		e.opt.pulse.Beat()
		e.watchWAL()
		h := w.Health()
		now := Info{
			Running: true, PID: pid(), Since: since, Version: e.opt.Version, Backend: h.Backend, Watches: h.Watches,
			Dropped: h.Dropped, LastEvent: h.LastEvent.UTC(), Problems: append(slices.Clone(h.Problems), e.troubles.list()...),
			Sinks: pub.info(), Paused: e.gate.state(), Program: e.opt.program, Homes: e.opt.Config.CodexHomes, MemoryDir: e.opt.Config.MemoryDir,
			Embeddings: e.embed.Info(), Summaries: e.opt.Config.Summaries.ByCaller, Summarizing: e.summaries.Info(),
			Service: e.opt.Service, Supervisor: e.opt.Supervisor, UserHome: e.opt.Config.User,
		}
		if !now.same(said) {
			if err := writeInfo(e.opt.Config.Run(), now); err != nil {
				e.log.Warn("can't say how the daemon is", "err", err)
			}
			said = now
		}
		if e.db.Replaced() {
			return errors.Join(errReplaced, e.taken(ctx))
		}
		e.index.look()
		if err := e.exact.look(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("imported vocabularies can't be taken in", "err", err)
		}
		if anew, err := e.keepLock(); err != nil {
			return err
		} else if anew {
			said = Info{} // it may have gone with the lock file
		}
		v, err := e.db.Commits(ctx)
		if err == nil && v != seen {
			seen = v
			e.index.nudge() // what isn't taken in but mended changes texts, too
		}
		if err == nil && v != version {
			version = v
		} else if err == nil && version >= 0 {
			// Nothing was written for a whole tick: now is the time.
			switch err := e.db.Checkpoint(ctx); {
			case err == nil:
				version = -2
			case !errors.Is(err, store.ErrBusy) && !errors.Is(err, store.ErrFull):
				return err
			}
		}
		if !sleep(ctx, wait) {
			return nil
		}
		wait = min(2*wait, tick)
	}
}

// keepLock holds on to the data folder; *LockedError if it went to another.
func (e *engine) keepLock() (anew bool, err error) {
	anew, err = e.lock.keep()
	if anew {
		e.log.Warn("the lock file was deleted and is made anew", "path", e.lock.path)
		err = errors.Join(err, writeHolder(e.opt.Config.Run(), roleDaemon))
	}
	if errors.Is(err, errHeld) && e.lock.folder == nil {
		pid, role := holder(e.opt.Config.Run())
		return anew, &LockedError{Home: e.opt.Config.Home, PID: pid, Daemon: role != roleCommand}
	}
	if err != nil && e.lock.folder == nil && !anew {
		return anew, err
	}
	if err != nil {
		// Full disk, or somebody looked just now; the folder's lock is ours still.
		e.log.Debug("the lock file can't be made anew yet", "err", err)
	}
	return anew, nil
}

// sleep waits; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
