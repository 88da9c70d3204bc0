package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
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
	// sweepAge is how old a temporary of ours is before it is taken for left over.
	sweepAge = 10 * time.Minute
)

// dropName is the sink that is always there.
const dropName = "drop"

// publisher renews what the sinks hold, and the selections that the cache keeps
// ready.
type publisher struct {
	e *engine

	// Of settle alone.
	chosen  chosen
	leaving map[string]time.Time // sinks that are off, by when to take away what they wrote

	mu      sync.Mutex // guards the rest
	outlets []*outlet
	packed  map[string]int64 // threads by the revision whose selections are in the cache, as far as this run made them
	briefs  map[string]brief // threads in short, by id
	pins    map[string]bool  // threads that the user keeps

	goneMu sync.Mutex // guards what the cache remembers under goneKey
}

// newPublisher opens the drop folder. One that may never be written to is an
// error; one that can't be for now is tried again. What is due from earlier
// runs is found by run.
func newPublisher(ctx context.Context, e *engine) (*publisher, error) {
	p := &publisher{e: e, packed: map[string]int64{}, briefs: map[string]brief{}, pins: map[string]bool{}, chosen: chosen{home: e.opt.Config.Home}}
	o := p.newOutlet(dropName, func(ctx context.Context) (sink.Sink, error) { return openDrop(ctx, e) })
	k, err := o.open(ctx)
	switch {
	case err == nil:
		o.sink = k
	case errors.Is(err, sink.ErrUnsafe) || errors.Is(err, store.ErrDamaged) || !e.gate.patient:
		return nil, err
	default:
		o.failed(err)
	}
	p.outlets = append(p.outlets, o)
	return p, nil
}

// all gives the outlets of now.
func (p *publisher) all() []*outlet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.outlets)
}

func openDrop(ctx context.Context, e *engine) (sink.Sink, error) {
	drop, err := sink.OpenDrop(e.opt.Config.MemoryDir)
	if err != nil {
		return nil, err
	}
	return opened(ctx, e, drop)
}

// opened readies a sink that was just opened: what a crash left in a folder of
// documents goes, and what is missing there is to be written again.
func opened(ctx context.Context, e *engine, k sink.Sink) (sink.Sink, error) {
	tree, ok := k.(*sink.Drop)
	if !ok {
		return k, nil
	}
	if _, err := tree.Sweep(ctx, time.Now().Add(-sweepAge)); err != nil {
		e.log.Warn("temporaries of ours can't be removed", "sink", k.Name(), "err", err)
	}
	if err := forgetMissing(ctx, e.db, tree); err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return k, nil
}

// forgetMissing forgets the receipts of files that aren't there in a folder that
// isn't ours yet, because it was moved or emptied, or that has lost all of them.
// A single file that someone deleted comes back with its thread's next turn only.
func forgetMissing(ctx context.Context, db *store.DB, tree *sink.Drop) error {
	begun, err := tree.Begun()
	if err != nil {
		return err
	}
	receipts, err := db.Receipts(ctx, tree.Name())
	if err != nil {
		return err
	}
	var missing []string
	there := 0
	for id, r := range receipts {
		if r.Name == "" {
			continue
		}
		has, err := tree.Has(r.Name)
		switch {
		case errors.Is(err, sink.ErrPath): // damage
			if err := db.ForgetReceipt(ctx, tree.Name(), id); err != nil {
				return err
			}
		case has || err != nil: // what lies in its way is told when it is written
			there++
		default:
			missing = append(missing, id)
		}
	}
	if begun && (there > 0 || len(missing) < 2) {
		return nil
	}
	for _, id := range missing {
		if err := db.ForgetReceipt(ctx, tree.Name(), id); err != nil {
			return err
		}
	}
	return nil
}

// changed tells that a thread has something new. It never waits.
func (p *publisher) changed(thread string, ended bool) {
	for _, o := range p.all() {
		o.note(thread, ended)
	}
}

// hurry has a thread that changed written at once. It never waits.
func (p *publisher) hurry(thread string) {
	for _, o := range p.all() {
		o.hurry(thread)
	}
}

// rescan tells that any thread may have something new.
func (p *publisher) rescan() { p.changed("", true) }

// run lets the sinks write what is due until ctx ends, those that are on by
// then. It closes them.
func (p *publisher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	begin := func(o *outlet) {
		running.Go(o.begin(ctx, func(ctx context.Context) {
			if err := o.run(ctx); err != nil {
				cancel(err)
			}
		}))
	}
	for _, o := range p.all() {
		begin(o)
	}
	for {
		if err := p.settle(ctx, time.Now(), begin); err != nil {
			cancel(err)
		}
		if !sleep(ctx, tick) {
			break
		}
	}
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// close closes the sinks of a publisher that doesn't run.
func (p *publisher) close() (err error) {
	for _, o := range p.all() {
		err = errors.Join(err, o.close())
	}
	return err
}

// errThread means that a document can't be made; that is no fault of the sink.
var errThread = errors.New("make the document")

// outcome is what publish did.
type outcome uint8

const (
	publishedBefore outcome = iota + 1 // nothing new
	publishedSame                      // the document is as it was, or somebody's own
	publishedNew                       // the document was written
)

// publish renews a thread's packs and its document.
func (o *outlet) publish(ctx context.Context, id string) (outcome, error) {
	p := o.p
	rev, err := p.e.db.Rev(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return publishedBefore, nil
	}
	if err != nil {
		return publishedBefore, err
	}
	last, err := p.e.db.Receipt(ctx, o.name, id)
	if err != nil {
		return publishedBefore, err
	}
	if last.Rev == rev {
		return publishedBefore, nil
	}
	if !o.fits(last.Name) {
		p.e.log.Warn("a receipt names no document and is forgotten", "sink", o.name, "name", last.Name)
		last = store.Receipt{Sink: o.name, ThreadID: id} // damage; a document of ours is found again by what it says
	}
	if announced(last) && !o.has(last.Name) {
		last.Name, last.Hash = "", "" // it was never written, and may belong elsewhere by now
	}
	if last.Name != "" && !last.Managed && o.has(last.Name) || retired(last) && last.Rev == 0 {
		last.Rev = rev // the file is somebody's own, or was past its time when the cache was made anew
		return publishedSame, p.e.db.SaveReceipt(ctx, last)
	}
	if does, err := o.takes(ctx, id, rev, last); err != nil || !does {
		return publishedBefore, err
	}
	v, err := p.e.pipe.View(ctx, id)
	if errors.Is(err, store.ErrChanged) {
		return publishedBefore, nil // it is read anew, and comes again
	}
	if err != nil {
		return publishedBefore, ofThread(err)
	}
	if !documented(v) {
		return publishedBefore, o.adopt(ctx, v, last)
	}
	if err := p.pack(ctx, v, rev); err != nil {
		return publishedBefore, err
	}
	failpoint.Hit(failpoint.BeforePublish)
	data, err := o.document(ctx, v)
	if err != nil {
		return publishedBefore, ofThread(err)
	}
	a := o.artifact(v.Thread, last)
	a.Name, a.Data = pipeline.MemoryName(v, time.Local), data
	if last.Name == "" {
		if err := o.announce(ctx, a); err != nil {
			return publishedBefore, err
		}
	}
	r, err := o.sink.Put(ctx, a)
	if err != nil {
		return publishedBefore, o.ofPlace(ctx, err)
	}
	o.stir(v.Thread, time.Now())
	if r.State == sink.StateEdited {
		p.e.log.Info("a memory file was edited and is left alone from now on", "path", r.Path)
	}
	failpoint.Hit(failpoint.BeforeReceipt)
	err = p.e.db.SaveReceipt(ctx, store.Receipt{
		Sink: o.name, ThreadID: id, Name: r.Path, Hash: r.Hash, Bytes: int(r.Size), Rev: rev,
		Managed: r.State != sink.StateEdited, Written: time.Now(),
	})
	failpoint.Hit(failpoint.AfterReceipt)
	if r.State == sink.StateWritten {
		return publishedNew, err
	}
	return publishedSame, err
}

// announce keeps the receipt of a thread's first document before it is written.
// Else it would be nobody's after a crash, were the thread in another folder or
// without a turn when we are back.
func (o *outlet) announce(ctx context.Context, a sink.Artifact) error {
	l, ok := o.sink.(looker)
	if !ok {
		return nil
	}
	r, err := l.Look(ctx, a)
	if err != nil || r.State != sink.StateWritten {
		return o.ofPlace(ctx, err)
	}
	return o.p.e.db.SaveReceipt(ctx, store.Receipt{
		Sink: o.name, ThreadID: a.ThreadID, Name: r.Path, Hash: r.Hash, Bytes: int(r.Size), Managed: true, Written: time.Now(),
	})
}

// announced tells whether a receipt may be of a document that is yet to be
// written.
func announced(r store.Receipt) bool { return r.Name != "" && r.Rev == 0 }

// adopt sees to it that the document of a thread that has no turn any more is known
// as it lies there: a crash may have come between the two.
func (o *outlet) adopt(ctx context.Context, v pipeline.View, last store.Receipt) error {
	l, ok := o.sink.(looker)
	if !ok || last.Name == "" {
		return nil
	}
	a := o.artifact(v.Thread, last)
	a.Name = pipeline.MemoryName(v, time.Local) // it is looked for elsewhere if its place is gone
	r, err := l.Look(ctx, a)
	if err != nil || r.Path != last.Name || r.State != sink.StateWritten || r.Hash == "" || r.Hash == last.Hash {
		return o.ofPlace(ctx, err)
	}
	last.Hash, last.Bytes = r.Hash, int(r.Size)
	return o.p.e.db.SaveReceipt(ctx, last)
}

// retired tells whether a document was taken away because it was past its time.
func retired(r store.Receipt) bool { return r.Name == "" && r.Hash != "" }

// document writes a thread's document as the sink takes it.
func (o *outlet) document(ctx context.Context, v pipeline.View) (data []byte, err error) {
	lim := o.sink.Limits()
	q := pipeline.MemoryRequest{Location: time.Local, Units: lim.Units, Bare: lim.Bare}
	err = unlessStopped(ctx, func() (err error) {
		data, err = o.p.e.pipe.Memory(ctx, v, q)
		for err == nil && lim.Bytes > 0 && len(data) > lim.Bytes && q.Units != 1 {
			if q.Units == 0 {
				q.Units = lim.Bytes // a unit has a byte at least
			}
			q.Units = max(1, min(q.Units*9/10, q.Units*lim.Bytes/len(data)))
			data, err = o.p.e.pipe.Memory(ctx, v, q)
		}
		return err
	})
	return data, err
}

// artifact is a thread's document without its text.
func (o *outlet) artifact(t transcript.Thread, last store.Receipt) sink.Artifact {
	a := sink.Artifact{ThreadID: t.ID, Workspace: rootOf(t.Cwd), Cwd: t.Cwd}
	if _, ok := o.sink.(*sink.Drop); ok {
		a.Workspace = pipeline.RedactText(t.Workspace) // it is shown there, and looked for nowhere
	}
	if last.Name != "" {
		a.Last = sink.Receipt{Sink: o.name, ThreadID: t.ID, Path: last.Name, Hash: last.Hash, Size: int64(last.Bytes)}
	}
	return a
}

// looker is a sink that tells beforehand what Put would do.
type looker interface {
	// Look gives the receipt that Put would, and writes nothing. Without data it
	// is that of what lies there and is ours.
	Look(ctx context.Context, a sink.Artifact) (sink.Receipt, error)
}

// takes tells whether the sink takes a thread's document: before it is made,
// because most sinks have a place for few threads. That it has none is noted.
func (o *outlet) takes(ctx context.Context, id string, rev int64, last store.Receipt) (bool, error) {
	if o.mode == sink.ModeAlways {
		return true, nil
	}
	t, err := o.p.e.db.Thread(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || choices.Within(o.said.Off, t.Cwd) {
		return false, err
	}
	if _, ok := o.sink.(looker); !ok || t.Turns == 0 {
		return true, nil
	}
	r, err := o.look(ctx, t, last)
	if err != nil || r.State != sink.StateNone {
		return err == nil, o.ofPlace(ctx, err)
	}
	o.stir(t, time.Now())
	return false, o.p.e.db.SaveReceipt(ctx, store.Receipt{Sink: o.name, ThreadID: id, Rev: rev, Managed: true, Written: time.Now()})
}

// stopPatience is what a computation gets to end by itself after ctx has ended.
const stopPatience = 500 * time.Millisecond

// unlessStopped runs what only computes and can't be interrupted: for the
// largest sessions that takes seconds. After the end of ctx it is waited for a
// moment only and then left to end with the process; what it still writes is
// refused, because ctx has ended.
func unlessStopped(ctx context.Context, compute func() error) error {
	done := make(chan error, 1)
	go func() { done <- compute() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	t := time.NewTimer(stopPatience)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return context.Cause(ctx)
	}
}

// documented tells whether a thread has a document: not what no person asked
// for.
func documented(v pipeline.View) bool { return !v.Thread.Subagent && v.Thread.Turns > 0 }

// ofThread marks an error that is about one thread alone. A cache that can't be
// read or written is not.
func ofThread(err error) error {
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
		return err
	}
	return fmt.Errorf("%w: %w", errThread, err)
}

// prepare does for a thread what needs no sink.
func (p *publisher) prepare(ctx context.Context, id string) error {
	rev, err := p.e.db.Rev(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := p.e.pipe.View(ctx, id)
	if err != nil || !documented(v) {
		return err
	}
	return p.pack(ctx, v, rev)
}

// pack keeps the selections of a thread ready, once a revision, whichever sink
// comes first. v is of rev or newer.
func (p *publisher) pack(ctx context.Context, v pipeline.View, rev int64) error {
	id := v.Thread.ID
	p.mu.Lock()
	last, done := p.packed[id]
	p.mu.Unlock()
	if done && last == rev {
		return nil
	}
	if err := unlessStopped(ctx, func() error { return p.e.pipe.Pack(ctx, v) }); err != nil {
		return ofThread(fmt.Errorf("select from thread %s: %w", id, err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.packed[id] = rev
	return nil
}

// entries gives what the lists of a sink say.
func (p *publisher) entries(ctx context.Context, receipts map[string]store.Receipt) ([]sink.Entry, error) {
	threads, _, err := p.e.db.Threads(ctx, store.Filter{Archived: true})
	if err != nil {
		return nil, err
	}
	var entries []sink.Entry
	for _, t := range threads {
		if r := receipts[t.ID]; r.Name != "" {
			entries = append(entries, entry(t, r))
		}
	}
	return entries, nil
}

func entry(t transcript.Thread, r store.Receipt) sink.Entry {
	return sink.Entry{
		ThreadID: t.ID, Workspace: pipeline.RedactText(t.Workspace), Title: pipeline.RedactText(t.Title), State: t.State,
		Created: t.Created.Local(), Updated: t.Updated.Local(), Turns: t.Turns, Tokens: t.Tokens["o200k_base"], Model: pipeline.RedactText(t.Model), Path: r.Name,
	}
}

func (p *publisher) info() []SinkInfo {
	all := p.all()
	out := make([]SinkInfo, len(all))
	for i, o := range all {
		out[i] = o.info()
	}
	return out
}

// stops tells whether an error concerns all documents, not just the one.
func stops(err error) bool {
	return disk.Full(err) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrDamaged)
}
