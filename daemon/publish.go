package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/failpoint"
)

const (
	// restEnded is how long a thread must be quiet after a turn's end before its
	// file is renewed: the last lines of a turn come within a few ms.
	restEnded = 150 * time.Millisecond
	// restRunning is the same while a turn is going on.
	restRunning = 2 * time.Second
	// restIndexes is how long the indexes wait for more documents.
	restIndexes = 500 * time.Millisecond
	// flushTime is what the indexes may take at the end of a run.
	flushTime = time.Second
	// pauseSink is how long a sink that can't write is left alone.
	pauseSink = 30 * time.Second
	// sweepAge is how old a temporary of ours is before it is taken for left over.
	sweepAge = 10 * time.Minute
)

// note says that a thread changed.
type note struct {
	thread string
	ended  bool // its newest turn has its end
}

// publisher renews memory files. One goroutine runs it; the others only tell
// it what changed.
type publisher struct {
	e    *engine
	drop *sink.Drop
	due  map[string]time.Time // threads by when they are to be written; of run alone
	wake chan struct{}        // holds one: there are notes

	mu      sync.Mutex // guards the rest
	notes   []note
	files   int
	lastErr string
}

// newPublisher opens the drop folder. What is due from earlier runs is found
// by run.
func newPublisher(ctx context.Context, e *engine) (*publisher, error) {
	drop, err := sink.OpenDrop(e.opt.Config.MemoryDir)
	if err != nil {
		return nil, err
	}
	if _, err := drop.Sweep(ctx, time.Now().Add(-sweepAge)); err != nil {
		return nil, errors.Join(err, drop.Close())
	}
	if err := forgetMissing(ctx, e.db, drop); err != nil {
		return nil, errors.Join(err, drop.Close())
	}
	return &publisher{e: e, drop: drop, wake: make(chan struct{}, 1), due: map[string]time.Time{}}, nil
}

// forgetMissing forgets the receipts of files that aren't there in a folder that
// isn't ours yet: it was moved, or deleted as a whole. A single file that
// someone deleted comes back with its thread's next turn only.
func forgetMissing(ctx context.Context, db *store.DB, drop *sink.Drop) error {
	begun, err := drop.Begun()
	if err != nil || begun {
		return err
	}
	receipts, err := db.Receipts(ctx, drop.Name())
	if err != nil {
		return err
	}
	for id, r := range receipts {
		there, err := drop.Has(r.Name)
		if err != nil {
			return err
		}
		if !there {
			if err := db.ForgetReceipt(ctx, drop.Name(), id); err != nil {
				return err
			}
		}
	}
	return nil
}

// changed tells that a thread has something new. It never waits: what is live
// goes before what is published.
func (p *publisher) changed(thread string, ended bool) {
	p.mu.Lock()
	p.notes = append(p.notes, note{thread, ended})
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// rescan tells that any thread may have something new.
func (p *publisher) rescan() { p.changed("", true) }

// run writes what is due until ctx ends. It closes the drop folder.
func (p *publisher) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, p.drop.Close()) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var indexes time.Time // when they are to be written; zero: not
	for {
		select {
		case <-ctx.Done():
			if indexes.IsZero() {
				return nil
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
			defer cancel()
			return p.indexes(last)
		case <-p.wake:
			p.mu.Lock()
			notes := p.notes
			p.notes = nil
			p.mu.Unlock()
			for _, n := range notes {
				if err := p.take(ctx, n, time.Now()); err != nil {
					return stopped(ctx, err)
				}
				if n.thread == "" && indexes.IsZero() {
					indexes = time.Now().Add(restIndexes) // an earlier run may have ended before it wrote them
				}
			}
		case <-timer.C:
			wrote, err := p.writeDue(ctx, time.Now())
			if err == nil && !indexes.IsZero() && !time.Now().Before(indexes) {
				indexes, err = time.Time{}, p.indexes(ctx)
			}
			if errors.Is(err, store.ErrDamaged) {
				return err
			}
			if err != nil && ctx.Err() == nil {
				p.failed(err)
				if !sleep(ctx, pauseSink) {
					return nil
				}
				wrote = true
			}
			if wrote && indexes.IsZero() {
				indexes = time.Now().Add(restIndexes)
			}
		}
		timer.Reset(p.wait(time.Now(), indexes))
	}
}

// take notes when a thread is due.
func (p *publisher) take(ctx context.Context, n note, now time.Time) error {
	if n.thread != "" {
		p.due[n.thread] = dueAt(p.due[n.thread], now, n.ended)
		return nil
	}
	ids, err := p.e.db.Unpublished(ctx, p.drop.Name())
	if err != nil {
		return err
	}
	for _, id := range ids {
		p.due[id] = dueAt(p.due[id], now, true)
	}
	return nil
}

// dueAt is pure: when to write a thread that changed now and was due before
// (zero: wasn't). An ended turn is never put off by more than restEnded, a
// running one not at all once it is due.
func dueAt(before, now time.Time, ended bool) time.Time {
	if ended {
		return now.Add(restEnded)
	}
	if !before.IsZero() {
		return before
	}
	return now.Add(restRunning)
}

// wait is how long nothing is due.
func (p *publisher) wait(now, indexes time.Time) time.Duration {
	next := now.Add(time.Hour)
	if !indexes.IsZero() {
		next = indexes
	}
	for _, at := range p.due {
		if at.Before(next) {
			next = at
		}
	}
	return max(0, next.Sub(now))
}

func (p *publisher) writeDue(ctx context.Context, now time.Time) (wrote bool, err error) {
	for id, at := range p.due {
		if at.After(now) || ctx.Err() != nil {
			continue
		}
		delete(p.due, id)
		w, err := p.publish(ctx, id)
		if err != nil {
			p.due[id] = now // again after the pause
			return wrote, err
		}
		wrote = wrote || w != publishedBefore
	}
	return wrote, nil
}

// outcome is what publish did.
type outcome uint8

const (
	publishedBefore outcome = iota + 1 // nothing new
	publishedSame                      // the document is as it was, or somebody's own
	publishedNew                       // the document was written
)

// publish renews a thread's packs and its document.
func (p *publisher) publish(ctx context.Context, id string) (outcome, error) {
	rev, err := p.e.db.Rev(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return publishedBefore, nil
	}
	if err != nil {
		return publishedBefore, err
	}
	last, err := p.e.db.Receipt(ctx, p.drop.Name(), id)
	if err != nil {
		return publishedBefore, err
	}
	if last.Rev == rev {
		return publishedBefore, nil
	}
	if last.Name != "" && !last.Managed {
		last.Rev = rev // the file is somebody's own; what the indexes say of the thread is not
		return publishedSame, p.e.db.SaveReceipt(ctx, last)
	}
	v, err := p.e.pipe.View(ctx, id)
	if err != nil {
		return publishedBefore, err
	}
	if v.Thread.Subagent || v.Thread.Turns == 0 {
		return publishedBefore, nil // no document for what no person asked for
	}
	if err := p.e.pipe.Pack(ctx, v); err != nil {
		return publishedBefore, fmt.Errorf("select from thread %s: %w", id, err)
	}
	failpoint.Hit(failpoint.BeforePublish)
	data, err := p.e.pipe.Memory(ctx, v, pipeline.MemoryRequest{Location: time.Local})
	if err != nil {
		return publishedBefore, fmt.Errorf("write memory of thread %s: %w", id, err)
	}
	r, err := p.drop.Put(ctx, sink.Artifact{
		ThreadID: id, Workspace: pipeline.RedactText(v.Thread.Workspace), Name: pipeline.MemoryName(v, time.Local), Data: data,
		Last: sink.Receipt{Sink: p.drop.Name(), ThreadID: id, Path: last.Name, Hash: last.Hash, Size: int64(last.Bytes)},
	})
	if err != nil {
		return publishedBefore, err
	}
	if r.State == sink.StateEdited {
		p.e.log.Info("a memory file was edited and is left alone from now on", "path", r.Path)
	}
	failpoint.Hit(failpoint.BeforeReceipt)
	err = p.e.db.SaveReceipt(ctx, store.Receipt{
		Sink: p.drop.Name(), ThreadID: id, Name: r.Path, Hash: r.Hash, Bytes: int(r.Size), Rev: rev,
		Managed: r.State != sink.StateEdited, Written: time.Now(),
	})
	failpoint.Hit(failpoint.AfterReceipt)
	if r.State == sink.StateWritten {
		return publishedNew, err
	}
	return publishedSame, err
}

// indexes renews the lists of sessions.
func (p *publisher) indexes(ctx context.Context) error {
	receipts, err := p.e.db.Receipts(ctx, p.drop.Name())
	if err != nil {
		return err
	}
	threads, _, err := p.e.db.Threads(ctx, store.Filter{Archived: true})
	if err != nil {
		return err
	}
	var entries []sink.Entry
	for _, t := range threads {
		if r, ok := receipts[t.ID]; ok {
			entries = append(entries, entry(t, r))
		}
	}
	if err := p.drop.WriteIndexes(ctx, entries); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files, p.lastErr = len(entries), ""
	return nil
}

func entry(t transcript.Thread, r store.Receipt) sink.Entry {
	return sink.Entry{
		ThreadID: t.ID, Workspace: pipeline.RedactText(t.Workspace), Title: pipeline.RedactText(t.Title), State: t.State,
		Created: t.Created.Local(), Updated: t.Updated.Local(), Turns: t.Turns, Tokens: t.Tokens["o200k_base"], Model: t.Model, Path: r.Name,
	}
}

func (p *publisher) failed(err error) {
	p.e.log.Warn("the drop folder can't be written, publishing waits", "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr = err.Error()
}

func (p *publisher) info() []SinkInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []SinkInfo{{Name: p.drop.Name(), Enabled: true, Files: p.files, LastError: p.lastErr}}
}

// publishAll writes all that is due at once and says how many files changed.
func (e *engine) publishAll(ctx context.Context) (n int, err error) {
	p, err := newPublisher(ctx, e)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.drop.Close()) }()
	ids, err := e.db.Unpublished(ctx, p.drop.Name())
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	for _, id := range ids {
		did, err := p.publish(ctx, id)
		if err != nil {
			return n, err
		}
		if did == publishedNew {
			n++
		}
	}
	return n, p.indexes(ctx)
}
