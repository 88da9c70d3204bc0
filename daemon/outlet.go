package daemon

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
)

// outlet renews the documents of one sink. One goroutine runs it; the others
// only tell it what changed. It has a pace of its own: a sink that can't write
// holds up neither the others nor the cache.
type outlet struct {
	p    *publisher
	name string
	open func(ctx context.Context) (sink.Sink, error)
	said choices.Choice // of the user
	mode sink.Mode
	wake chan struct{} // holds one: there are notes
	stop func()        // ends run; nil: it doesn't run
	done chan struct{} // closed when run has ended

	// Of run alone.
	sink    sink.Sink            // nil: to be opened
	anew    bool                 // it was open before: much may have changed there
	due     map[string]time.Time // threads by when they are to be written
	held    map[string]bool      // threads at rest that a pause holds up
	indexes time.Time            // when the lists are to be written; zero: not
	absent  time.Time            // when to look again for a place of the program's; zero: there is one
	places  time.Time            // when to look again for places of threads that had none
	placed  map[string]bool      // workspaces: there was a place
	retains time.Time            // when to look again for documents that are past their time
	share   sharings

	mu      sync.Mutex      // guards the rest
	notes   map[string]bool // threads that changed: their newest turn has its end
	urgent  map[string]bool // threads that are not to wait for rest
	all     bool            // any thread may have changed
	pace    pace
	files   int
	waiting int
	lastErr string
	gone    bool              // there is no place
	told    []sink.SharedFile // as of the last sharing
	stuck   map[string]stuck  // what its place keeps from being written, by thread
}

// lister is a sink that keeps lists of its documents.
type lister interface {
	WriteIndexes(ctx context.Context, entries []sink.Entry) error
}

// clearer is a sink whose lists go once it has no documents.
type clearer interface {
	Clear(ctx context.Context) error
}

// closer is a sink that holds something open.
type closer interface{ Close() error }

func (p *publisher) newOutlet(name string, open func(ctx context.Context) (sink.Sink, error)) *outlet {
	return &outlet{
		p: p, name: name, open: open, mode: sink.ModeAlways, wake: make(chan struct{}, 1), pace: pace{state: sinkIdle}, share: newSharings(),
		placed: map[string]bool{}, due: map[string]time.Time{}, held: map[string]bool{}, notes: map[string]bool{}, urgent: map[string]bool{}, stuck: map[string]stuck{},
	}
}

// note tells that a thread has something new; without one, that any may have.
// It never waits: what is live goes before what is published. There is one note
// a thread at most.
func (o *outlet) note(thread string, ended bool) {
	o.mu.Lock()
	if thread == "" {
		o.all = true
	} else {
		o.notes[thread] = ended
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// hurry has a thread that changed written at once. It never waits.
func (o *outlet) hurry(thread string) {
	o.mu.Lock()
	o.urgent[thread] = true
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// begin runs the outlet until ctx ends or end is called.
func (o *outlet) begin(ctx context.Context, run func(context.Context)) (wait func()) {
	ctx, o.stop = context.WithCancel(ctx)
	o.done = make(chan struct{})
	return func() {
		defer close(o.done)
		defer o.stop()
		run(ctx)
	}
}

// end ends an outlet that runs, and waits for that.
func (o *outlet) end() {
	if o.stop != nil {
		o.stop()
		<-o.done
	}
}

// run writes what is due until ctx ends.
func (o *outlet) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, o.close()) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return o.flush(ctx)
		case <-o.wake:
			err = o.take(ctx, time.Now())
		case <-timer.C:
			err = o.work(ctx, time.Now())
		}
		if errors.Is(err, store.ErrDamaged) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			o.failed(err)
		}
		timer.Reset(o.wait(time.Now()))
	}
}

// flush writes the lists if they are due, as the last thing.
func (o *outlet) flush(ctx context.Context) error {
	if o.indexes.IsZero() || o.sink == nil || o.pace.state == sinkPaused {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := o.writeIndexes(ctx); err != nil {
		o.p.e.log.Warn("the lists of a sink are not current; the next start renews them", "sink", o.name, "err", err)
	}
	return nil
}

// take notes when threads are due.
func (o *outlet) take(ctx context.Context, now time.Time) error {
	o.mu.Lock()
	notes, urgent, all := o.notes, o.urgent, o.all
	o.notes, o.urgent, o.all = map[string]bool{}, map[string]bool{}, false
	if len(notes) > 0 || len(urgent) > 0 || all {
		o.pace = next(o.pace, sinkNoted, now)
	}
	o.mu.Unlock()
	if !o.absent.IsZero() {
		o.anew = true // all of it is due when there is a place
		return nil
	}
	for id, ended := range notes {
		delete(o.held, id)
		o.due[id] = dueAt(o.due[id], now, ended)
	}
	for id := range urgent {
		delete(o.held, id)
		o.due[id] = now
	}
	if !all {
		return nil
	}
	ids, err := o.unpublished(ctx, now)
	if err == nil {
		err = o.stirAll(ctx, now, now.Add(restIndexes)) // after the documents
	}
	if err != nil {
		o.mu.Lock()
		o.all = true
		o.mu.Unlock()
		return err
	}
	for _, id := range ids {
		if o.due[id] = o.stuckUntil(id); !o.due[id].After(now) {
			o.due[id] = dueAt(o.due[id], now, true)
		}
	}
	if o.indexes.IsZero() {
		o.indexes = now.Add(restIndexes) // an earlier run may have ended before it wrote them
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

// wait is how long nothing is to be done.
func (o *outlet) wait(now time.Time) time.Duration {
	paused := o.pace.state == sinkPaused
	if now.Before(o.absent) && (!paused || !now.Before(o.pace.retry)) {
		return o.absent.Sub(now) // work does nothing before, whatever is due
	}
	at := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	for _, t := range o.due {
		sooner(t)
	}
	if paused {
		sooner(o.pace.retry)
	} else {
		for _, t := range []time.Time{o.indexes, o.absent, o.places, o.retains, o.share.next()} {
			sooner(t)
		}
	}
	return max(0, at.Sub(now))
}

// work does what has come to rest. In a pause that is what the cache keeps of
// it; the sink is not touched.
func (o *outlet) work(ctx context.Context, now time.Time) error {
	if o.pace.state == sinkPaused && now.Before(o.pace.retry) {
		return o.prepareDue(ctx, now)
	}
	if now.Before(o.absent) {
		return nil
	}
	if o.sink == nil {
		if there, err := o.reopen(ctx, now); err != nil || !there {
			return err
		}
	}
	o.mu.Lock()
	missed := o.all || o.anew
	o.all = missed
	o.mu.Unlock()
	if missed {
		if err := o.take(ctx, now); err != nil {
			return err
		}
		o.anew = false
	}
	for id := range o.held {
		o.due[id] = now
	}
	clear(o.held)
	wrote, err := o.writeDue(ctx, now)
	if wrote && o.indexes.IsZero() {
		o.indexes = now.Add(restIndexes)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	if !o.indexes.IsZero() && (!now.Before(o.indexes) || o.pace.state == sinkPaused) {
		at := o.indexes
		o.indexes = time.Time{}
		if err := o.writeIndexes(ctx); err != nil {
			o.indexes = at
			return err
		}
	}
	if err := o.lookAfter(ctx, now); err != nil || ctx.Err() != nil {
		return err
	}
	o.went(now)
	return nil
}

// reopen opens the sink; false if it has no place on this machine, which is no
// failure: it is looked for again.
func (o *outlet) reopen(ctx context.Context, now time.Time) (there bool, err error) {
	k, err := o.open(ctx)
	none := errors.Is(err, sink.ErrNoPlace)
	o.mu.Lock()
	o.gone = none
	o.mu.Unlock()
	if none {
		o.absent, o.anew = now.Add(placeEvery), true
		clear(o.due)
		clear(o.held)
		o.mu.Lock()
		clear(o.stuck)
		o.mu.Unlock()
		o.went(now)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	o.sink, o.absent = k, time.Time{}
	return true, o.recall(ctx)
}

// lookAfter does what is due beside the documents: what a workspace shares, new
// places, and what is past its time.
func (o *outlet) lookAfter(ctx context.Context, now time.Time) error {
	if err := o.shareDue(ctx, now); err != nil {
		return err
	}
	if err := o.lookForPlaces(ctx, now); err != nil {
		return err
	}
	return o.retain(ctx, now)
}

// went notes that a try went well.
func (o *outlet) went(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pace.state == sinkPaused {
		o.p.e.log.Info("a sink goes on", "sink", o.name, "took", now.Sub(o.pace.since))
	}
	o.pace, o.lastErr = next(o.pace, sinkWrote, now), ""
	if o.waiting = len(o.due); o.waiting == 0 {
		o.pace = next(o.pace, sinkEmptied, now)
	}
}

// failed notes that a try failed, and says so if that is news. The sink is
// opened anew: its folder may be another by then.
func (o *outlet) failed(err error) {
	e := sinkFailed
	if disk.Full(err) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
		e = sinkFull
	}
	o.anew = true
	if cErr := o.close(); cErr != nil {
		err = errors.Join(err, cErr)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pace.state != sinkPaused {
		o.p.e.log.Warn("a sink can't be written and waits", "sink", o.name, "err", err)
	}
	o.pace, o.lastErr = next(o.pace, e, time.Now()), err.Error()
	o.waiting = len(o.due) + len(o.held)
}

func (o *outlet) close() error {
	k := o.sink
	o.sink = nil
	if c, ok := k.(closer); ok {
		return c.Close()
	}
	return nil
}

// ripe gives the threads that are due by now and takes them off the list.
func (o *outlet) ripe(now time.Time) []string {
	var ids []string
	for id, at := range o.due {
		if !at.After(now) {
			ids = append(ids, id)
			delete(o.due, id)
		}
	}
	return ids
}

// writeDue writes what is due. What fails is due again after the pause; where
// that isn't for want of room, the others are written all the same.
func (o *outlet) writeDue(ctx context.Context, now time.Time) (wrote bool, err error) {
	ids := o.ripe(now)
	var errs []error
	for i, id := range ids {
		if ctx.Err() != nil {
			break
		}
		if at, is := o.blocked(id, now); is {
			o.due[id] = at
			continue
		}
		w, err := o.publish(ctx, id)
		if _, ok := errors.AsType[placeError](err); ok {
			o.due[id] = o.hold(id, err, now)
			continue
		}
		switch {
		case err == nil:
			o.free(id)
			wrote = wrote || w != publishedBefore
		case errors.Is(err, errThread):
			o.p.e.log.Warn("a memory file can't be made", "thread", id, "err", err)
			o.due[id] = now.Add(lastPause)
		case stops(err) || len(errs) == fewErrors:
			for _, id := range ids[i:] {
				o.held[id] = true
			}
			return wrote, errors.Join(append(errs, err)...)
		default:
			o.held[id] = true
			errs = append(errs, err)
		}
	}
	return wrote, errors.Join(errs...)
}

// fewErrors is after how many documents that can't be written the rest isn't
// tried.
const fewErrors = 2

// prepareDue keeps the cache's part of what is due current during a pause.
func (o *outlet) prepareDue(ctx context.Context, now time.Time) error {
	ids := o.ripe(now)
	for _, id := range ids {
		o.held[id] = true
	}
	o.mu.Lock()
	o.waiting = len(o.due) + len(o.held)
	o.mu.Unlock()
	for _, id := range ids {
		if err := o.p.prepare(ctx, id); errors.Is(err, store.ErrDamaged) {
			return err
		} else if err != nil && ctx.Err() == nil {
			o.p.e.log.Warn("a selection can't be kept ready", "thread", id, "err", err)
		}
	}
	return nil
}

// writeIndexes renews the lists of sessions, if the sink keeps any.
func (o *outlet) writeIndexes(ctx context.Context) error {
	receipts, err := o.p.e.db.Receipts(ctx, o.name)
	if err != nil {
		return err
	}
	receipts = o.present(ctx, receipts)
	n := 0
	for _, r := range receipts {
		if r.Name != "" {
			n++
		}
	}
	o.mu.Lock()
	o.files = n
	o.mu.Unlock()
	l, ok := o.sink.(lister)
	if !ok {
		return nil
	}
	entries, err := o.p.entries(ctx, receipts)
	if err != nil {
		return err
	}
	err = o.ofPlace(ctx, l.WriteIndexes(ctx, entries))
	if _, ok := errors.AsType[placeError](err); ok {
		o.indexes = o.hold(listsStuck, err, time.Now())
		return nil
	}
	o.free(listsStuck)
	return err
}

func (o *outlet) info() SinkInfo {
	places := o.unwritten()
	o.mu.Lock()
	defer o.mu.Unlock()
	i := SinkInfo{Name: o.name, Enabled: true, Files: o.files, LastError: pipeline.RedactText(o.lastErr),
		Since: o.pace.since.UTC(), NextTry: o.pace.retry.UTC(), Waiting: o.waiting, Absent: o.gone, Problems: []string{}}
	for _, p := range places {
		i.Unwritten = append(i.Unwritten, pipeline.RedactText(p.Path+": "+p.Reason))
	}
	i.Problems = append(i.Problems, i.Unwritten...)
	for _, f := range o.told {
		if f.Hash != "" || f.Ours {
			i.Shared++
		}
		if f.Problem != "" && !strings.HasPrefix(f.Problem, sink.Unwritten) { // those are among the places
			i.Problems = append(i.Problems, pipeline.RedactText(f.Path+": "+f.Problem))
		}
		if f.Note != "" {
			i.Problems = append(i.Problems, pipeline.RedactText(f.Note))
		}
	}
	return i
}
