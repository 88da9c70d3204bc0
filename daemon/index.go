package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
	"github.com/session-migrator/session-migrator/store/search"
)

const (
	// calm is how long no line must have come in before the search index goes
	// on: live lines go first.
	calm = 200 * time.Millisecond
	// calmMost is how long lines that keep coming can put off one step of it.
	calmMost = 2 * time.Second
	// indexRest is how long nothing must have come before the index is closed: it
	// takes descriptors that others may want, and one without a WAL beside it can
	// be read on any disk.
	indexRest = 500 * time.Millisecond
	// indexSoon is after how long a command that asks for something else begins
	// no further step of the search index, which takes half a second at most. What
	// the index lacks is looked through all the same.
	indexSoon = 300 * time.Millisecond
	// indexSay is how often a run that ends by itself counts what is left.
	indexSay = 500 * time.Millisecond
)

// indexing is what troubles with the search index are filed under.
const indexing = "indexed"

// indexer keeps the search index up to date: its one writer. It gives way to
// intake, and sleeps until the cache changes.
type indexer struct {
	e      *engine
	wake   chan struct{} // holds one: the cache changed, or the index is gone
	filled chan struct{} // closed when the backfill is over: that goes first

	// Of run alone.
	index *search.Index // nil: to be opened
	pace  pace

	mu   sync.Mutex  // guards the rest
	busy int         // files that are being taken in
	last time.Time   // something was
	file os.FileInfo // of the index when it was opened last; nil: it can't be
}

func newIndexer(e *engine) *indexer {
	return &indexer{e: e, wake: make(chan struct{}, 1), filled: make(chan struct{}), pace: pace{state: sinkIdle}}
}

// taking says that a file is being taken in, until done is called. A nil
// indexer takes no notice: a run that ends by itself has none.
func (n *indexer) taking() (done func()) {
	if n == nil {
		return func() {}
	}
	n.mu.Lock()
	n.busy++
	n.mu.Unlock()
	return func() {
		n.mu.Lock()
		n.busy--
		n.last = time.Now()
		n.mu.Unlock()
		n.nudge()
	}
}

// nudge says that there may be something to do. It never waits.
func (n *indexer) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// look nudges if the index was deleted or another lies in its place.
func (n *indexer) look() {
	n.mu.Lock()
	file := n.file
	n.mu.Unlock()
	if file == nil {
		return // it is about to be opened, or tried again in time
	}
	if st, err := os.Stat(n.e.opt.Config.Search()); err != nil || !os.SameFile(st, file) {
		n.nudge()
	}
}

// run keeps the index up to date until ctx ends. What goes wrong with it is
// told and tried again; only damage to the cache ends it.
func (n *indexer) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, n.close()) }()
	select {
	case <-ctx.Done():
		return nil
	case <-n.filled:
	}
	for {
		err := n.step(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, store.ErrDamaged) {
			if err := n.e.db.Check(ctx); errors.Is(err, store.ErrDamaged) {
				return err
			}
		}
		if err == nil {
			n.pace = pace{state: sinkIdle}
			n.e.troubles.set(n.e.log, indexing, "")
			if err = n.rest(ctx); err == nil {
				continue
			}
		}
		n.failed(err)
		if !sleep(ctx, n.pace.pause) {
			return nil
		}
	}
}

// rest waits until there may be something to do, or ctx ends, and closes the
// index meanwhile.
func (n *indexer) rest(ctx context.Context) error {
	soon := time.NewTimer(indexRest)
	defer soon.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.wake:
			return nil
		case <-soon.C:
			if err := n.close(); err != nil {
				return err
			}
		}
	}
}

// failed notes that a step failed. The index is opened anew for the next: then
// one that can't be used is made anew.
func (n *indexer) failed(err error) {
	what := sinkFailed
	if wantsRoom(err) || errors.Is(err, store.ErrBusy) {
		what = sinkFull
	}
	err = errors.Join(err, n.close())
	n.mu.Lock()
	n.file = nil
	n.mu.Unlock()
	n.pace = next(n.pace, what, time.Now())
	n.e.troubles.set(n.e.log, indexing, "the search index can't be brought up to date: "+strings.ReplaceAll(err.Error(), "\n", "; ")+": what it lacks is looked through without it, which takes longer; it is tried again by itself")
}

// wantsRoom tells whether err is over once there is room, or a right to write.
func wantsRoom(err error) bool {
	return disk.Full(err) || disk.ReadOnly(err) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrFolder) || errors.Is(err, fs.ErrPermission)
}

// step brings the index up to date once.
func (n *indexer) step(ctx context.Context) error {
	if err := n.pause(ctx); err != nil {
		return err
	}
	path := n.e.opt.Config.Search()
	if n.index != nil {
		if st, err := os.Stat(path); err != nil || !os.SameFile(st, n.opened()) {
			n.e.log.Info("the search index was deleted or replaced, and is made anew", "path", path)
			if err := n.close(); err != nil {
				return err
			}
			if errors.Is(err, fs.ErrNotExist) { // no new file takes over what lay beside the old one
				if err := removeIndex(path); err != nil {
					return err
				}
			}
		}
	}
	if n.index == nil {
		x, err := search.Open(ctx, path)
		if err != nil {
			return err
		}
		n.index = x
		st, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("look at the search index: %w", err)
		}
		n.mu.Lock()
		n.file = st
		n.mu.Unlock()
	}
	p, err := n.index.CatchUp(ctx, n.e.db, n.pause)
	if p.Items > 0 {
		n.e.log.Debug("the search index took in what is new", "items", p.Items, "bytes", p.Bytes)
	}
	return err
}

func (n *indexer) opened() os.FileInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.file
}

// pause returns when no line came in for a moment, and there is room.
func (n *indexer) pause(ctx context.Context) error {
	for begun := time.Now(); ; {
		n.mu.Lock()
		busy, quiet := n.busy > 0, time.Since(n.last)
		n.mu.Unlock()
		left := calm - quiet
		if busy {
			left = calm
		}
		if left = min(left, calmMost-time.Since(begun)); left <= 0 {
			break
		}
		if !sleep(ctx, left) {
			return context.Cause(ctx)
		}
	}
	return n.e.indexRoom(ctx)
}

// indexRoom is why the index has to wait for room: it leaves as much free as
// intake does.
func (e *engine) indexRoom(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	u, err := e.gate.usage(e.gate.dir)
	if err != nil || u.Free >= needed(u.Total) {
		return nil //nolint:nilerr // the write itself will tell
	}
	return shortOf(e.gate.dir, u)
}

func (n *indexer) close() error {
	x := n.index
	n.index = nil
	if x == nil {
		return nil
	}
	return x.Close()
}

// removeIndex deletes the index at path, which nobody has open for writing.
func removeIndex(path string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} { // a WAL without its file is nobody's
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete the search index: %w", err)
		}
	}
	return nil
}

// indexOnce brings the index up to date in a run that ends by itself, for at
// most so long (0: to the end). That it can't be is said and no more: what it
// lacks is looked through all the same.
func (e *engine) indexOnce(ctx context.Context, most time.Duration, t *tally) {
	err := e.indexFor(ctx, most, t)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errEnough) {
		level := slog.LevelWarn
		if most > 0 {
			level = slog.LevelDebug // who asks now tells of it himself
		}
		e.log.Log(ctx, level, "the search index is not up to date", "err", err)
	}
}

// errEnough ends a step of the index whose time is over.
var errEnough = errors.New("enough for now")

func (e *engine) indexFor(ctx context.Context, most time.Duration, t *tally) (err error) {
	if err := e.indexRoom(ctx); err != nil {
		return err
	}
	begun := time.Now()
	x, err := search.Open(ctx, e.opt.Config.Search())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	all, err := x.Behind(ctx, e.db)
	if err != nil || all == 0 {
		return err
	}
	t.indexed(0, all)
	said := begun
	_, err = x.CatchUp(ctx, e.db, func(ctx context.Context) error {
		switch {
		case most > 0 && time.Since(begun) > most:
			return errEnough // what was taken in stays; a deadline would undo the last step
		case time.Since(said) < indexSay:
			return ctx.Err()
		}
		said = time.Now()
		left, err := x.Behind(ctx, e.db)
		if err == nil {
			t.indexed(all-left, all)
		}
		return errors.Join(err, e.indexRoom(ctx))
	})
	return err
}

// indexed tells how far the search index is.
func (t *tally) indexed(done, all int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Phase, t.progress.Items, t.progress.ItemsDone = PhaseIndex, all, done
	t.report(true)
}
