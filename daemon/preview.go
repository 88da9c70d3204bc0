package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// Preview gives the files that a sink would write for a thread, by a choice: the
// thread's document, and what its workspace shares. Each is given as it is (Old;
// nil: it isn't there) and as it would be (New; nil: it isn't written, Problem
// says why). Nothing is written. sink.ErrNoPlace if the sink has none.
func (o Options) Preview(ctx context.Context, db *store.DB, pipe *pipeline.Pipeline, c sink.Consumer, said choices.Choice, threadID string) (files []sink.SharedFile, err error) {
	e := &engine{opt: o, log: slog.New(slog.DiscardHandler), db: db, pipe: pipe}
	p := &publisher{e: e, briefs: map[string]brief{}}
	out := p.newOutlet(c.Name, nil)
	out.said, out.mode = said, c.Mode
	if out.sink, err = choices.Open(c, o.Config, said.Choice); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if err := out.recall(ctx); err != nil {
		return nil, err
	}
	t, err := db.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	if files, err = out.previewDocument(ctx, t); err != nil {
		return nil, err
	}
	shared, err := out.previewShared(ctx, t, time.Now())
	return append(files, shared...), err
}

// previewDocument gives a thread's document, if the sink takes one.
func (o *outlet) previewDocument(ctx context.Context, t transcript.Thread) ([]sink.SharedFile, error) {
	last, err := o.p.e.db.Receipt(ctx, o.name, t.ID)
	if err != nil {
		return nil, err
	}
	r, err := o.look(ctx, t, last)
	if err != nil || r.State == sink.StateNone {
		return nil, err
	}
	f := sink.SharedFile{Path: o.full(r.Path), Ours: true}
	if f.Old, err = os.ReadFile(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what is there: %w", err)
	}
	if r.State == sink.StateEdited || last.Name != "" && !last.Managed {
		f.Problem = "left alone: it was edited and is yours now"
		return []sink.SharedFile{f}, nil
	}
	v, err := o.p.e.pipe.View(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	f.New, err = o.document(ctx, v)
	return []sink.SharedFile{f}, err
}

// look tells what Put would do with a thread's document.
func (o *outlet) look(ctx context.Context, t transcript.Thread, last store.Receipt) (sink.Receipt, error) {
	l, ok := o.sink.(looker)
	if !ok || t.Turns == 0 || t.Subagent {
		return sink.Receipt{State: sink.StateNone}, nil
	}
	a := o.artifact(t, last)
	a.Name = pipeline.MemoryName(pipeline.View{Thread: t}, time.Local)
	return l.Look(ctx, a)
}

// full is the path of a receipt from the root of the file system.
func (o *outlet) full(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	if o.said.Dir != "" {
		return filepath.Join(o.said.Dir, name)
	}
	return filepath.Join(o.p.e.opt.Config.MemoryDir, name)
}

// previewShared gives what the workspace of a thread shares.
func (o *outlet) previewShared(ctx context.Context, t transcript.Thread, now time.Time) ([]sink.SharedFile, error) {
	s, ok := o.sink.(sink.Sharer)
	if !ok {
		return nil, nil
	}
	if err := o.group(ctx, s, now); err != nil {
		return nil, err
	}
	var out []sink.SharedFile
	due, err := o.unpublished(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, g := range o.share.groups {
		if _, member := g.members[t.Workspace]; !member {
			continue
		}
		q, err := o.sharing(ctx, g, now)
		if err != nil {
			return nil, err
		}
		for i := range q.Sessions {
			if x := &q.Sessions[i]; x.ThreadID == t.ID || slices.Contains(due, x.ThreadID) {
				if err := o.foresee(ctx, x); err != nil {
					return nil, err
				}
			}
		}
		q.Look = true
		files, err := s.Share(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// foresee gives a session the path that its document is going to have.
func (o *outlet) foresee(ctx context.Context, x *sink.Session) error {
	if x.Path != "" {
		return nil
	}
	t, err := o.p.e.db.Thread(ctx, x.ThreadID)
	if err != nil {
		return err
	}
	r, err := o.look(ctx, t, store.Receipt{})
	if err == nil && r.State != sink.StateNone {
		x.Path = r.Path
	}
	return err
}

// TakeAway takes away what sinks wrote that are off by the user's word. It is
// for when no daemon runs, which does so itself: *LockedError then.
func (o Options) TakeAway(ctx context.Context) (err error) {
	e, err := start(ctx, o, roleCommand)
	if err != nil {
		return err
	}
	defer func() { err = e.closed(ctx, err) }()
	p := &publisher{e: e, chosen: chosen{home: o.Config.Home}}
	if err := p.settle(ctx, time.Now(), nil); err != nil {
		return err
	}
	return p.chosen.err // what couldn't be taken away is told, and Written lists it
}

// Written gives the files that hold something a sink wrote: those of ours that
// it keeps current, and those that somebody edited, which stay. With a choice
// that switches the sink off, somewhere or altogether, only what goes by it.
func (o Options) Written(ctx context.Context, db *store.DB, name string, said choices.Choice) (kept, edited []string, err error) {
	p := &publisher{e: &engine{opt: o, db: db}}
	out := p.newOutlet(name, nil)
	out.said = said
	leaves := said.Leaves(sink.ModeFound)
	receipts, err := db.Receipts(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	add := func(path string, yours bool) {
		if yours {
			edited = append(edited, path)
		} else {
			kept = append(kept, path)
		}
	}
	for id, r := range receipts {
		if r.Name == "" {
			continue
		}
		if leaves {
			if gone, err := p.isGone(ctx, said, id); err != nil || !gone {
				if err != nil {
					return nil, nil, err
				}
				continue
			}
		}
		add(out.full(r.Name), !r.Managed)
	}
	files, err := shared(ctx, db, name)
	for _, f := range files {
		if !leaves || said.Gone("") || f.Workspace != "" && said.Gone(f.Workspace) {
			add(f.Path, f.Problem == leftEdited)
		}
	}
	slices.Sort(kept)
	slices.Sort(edited)
	return slices.Compact(kept), slices.Compact(edited), err
}
