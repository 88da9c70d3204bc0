package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/failpoint"
	"github.com/session-migrator/session-migrator/watch/tail"
)

const (
	batchLines = 5_000   // lines a commit holds at most
	batchBytes = 8 << 20 // bytes of text a commit holds at most
)

// Result tells what an Ingest did.
type Result struct {
	ThreadID   string
	Lines      int64
	Bytes      int64 // logical bytes taken in
	Items      int
	Changed    bool         // rows or the place of the file changed
	TurnEnded  bool         // the newest turn has its end
	NewWindows bool         // a rollout reported a window
	Waiting    []store.File // rollouts that waited for this thread and must be read again
	Elsewhere  store.Copy   // set if the file was not read because another file of the rollout is
}

// Ingest takes in what is new of one rollout. A file that can't be read is
// recorded with its reason, so that status can name it, and returned as an
// error; what was taken in before stays.
func (p *Pipeline) Ingest(ctx context.Context, f store.File) (Result, error) {
	defer p.files.hold(f.RolloutID)()
	r, err := p.ingest(ctx, f)
	if errors.Is(err, tail.ErrReplaced) || errors.Is(err, tail.ErrTruncated) {
		// Rewritten while it was read. The rows of what was read until then are
		// in: looked at again, they are of other bytes, and a generation begins.
		r, err = p.ingest(ctx, f)
	}
	if err == nil || ctx.Err() != nil {
		return r, err
	}
	err = fmt.Errorf("ingest %s: %w", f.Path, err)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
		return r, err // it moved, or it isn't the file's fault
	}
	return r, errors.Join(err, p.unreadable(ctx, f, err))
}

// unreadable records why a file could not be read.
func (p *Pipeline) unreadable(ctx context.Context, f store.File, cause error) error {
	if _, err := p.db.Rollout(ctx, f.RolloutID); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(err, p.db.Touch(ctx, f, store.FileUnreadable, cause.Error(), p.decisions))
	}
	return p.db.Commit(ctx, &store.Batch{
		File: f, State: store.FileUnreadable, Reason: cause.Error(),
		Delta: &transcript.Delta{}, Facts: transcript.Facts{ThreadID: f.ThreadID}, Decide: p.decisions,
	})
}

// plan is what the checkpoint and the file's look ask for.
type plan uint8

const (
	planSkip       plan = iota + 1 // nothing can have changed
	planAppend                     // go on at the cursor
	planRederive                   // the same bytes again, with a newer parser or a parent that turned up
	planGeneration                 // the file was rewritten
)

// planFor is pure: what to do about f, given where reading stands.
func planFor(cp store.Checkpoint, known bool, f store.File) plan {
	switch {
	case !known:
		return planAppend
	case cp.ParserVersion != rollout.Version():
		return planRederive // an older parser's; 0: asked for by a rebuild, or nothing could be read yet
	case cp.State == store.FileOK && sameLook(cp.File, f):
		return planSkip
	}
	return planAppend
}

func sameLook(a, b store.File) bool {
	return a.Path == b.Path && a.Form == b.Form && a.Archived == b.Archived && a.Size == b.Size &&
		a.ModTimeNs == b.ModTimeNs && a.ChangeTimeNs == b.ChangeTimeNs && a.Dev == b.Dev && a.Ino == b.Ino
}

func (p *Pipeline) ingest(ctx context.Context, f store.File) (Result, error) {
	cp, err := p.db.Rollout(ctx, f.RolloutID)
	known := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Result{}, err
	}
	if cp.Broken {
		// What the row says would make the file look rewritten.
		if err := p.db.Mend(ctx, f.RolloutID); err != nil {
			return Result{}, err
		}
		if cp, err = p.db.Rollout(ctx, f.RolloutID); err != nil {
			return Result{}, err
		}
	}
	what := planFor(cp, known, f)
	if what == planSkip {
		return Result{ThreadID: cp.ThreadID}, nil
	}
	if known {
		if r, yes, err := p.elsewhere(ctx, cp, f); yes || err != nil {
			return r, err
		}
	}
	if f.Form == store.FormDocument {
		return p.document(ctx, f, cp, what)
	}
	if f.Form == store.FormZstd {
		if err := tail.Verify(f.Path); err != nil {
			return Result{}, err // nothing moves
		}
	}
	mem := &hold{turn: p.huge}
	defer mem.release()
	opt := tailOptions()
	opt.Reserve = func(n int64) error { return mem.reserve(ctx, n) }
	r, err := tail.Open(f.Path, cursorOf(cp.Cursor), opt)
	if errors.Is(err, tail.ErrReplaced) || errors.Is(err, tail.ErrTruncated) {
		// Also where all is to be read again: the rows are of other bytes, and
		// replacing them would lose what only they hold.
		what = planGeneration
	}
	if err == nil && what == planRederive {
		err = r.Close()
	}
	if what == planGeneration || err == nil && what == planRederive {
		r, err = tail.Open(f.Path, tail.Cursor{}, opt)
	}
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = r.Close() }() // only read
	return p.lines(ctx, f, cp, what, r, mem)
}

func tailOptions() tail.Options {
	return tail.Options{Restart: rollout.Restart(), Classify: func(head []byte, whole bool) tail.Want {
		switch rollout.Classify(head, whole) {
		case rollout.NeedAll:
			return tail.WantAll
		case rollout.NeedHead:
			return tail.WantHead
		case rollout.NeedNone:
			return tail.WantNone
		}
		return tail.WantAll
	}}
}

// lineOf gives the parser what the reader has of a line.
func lineOf(l *tail.Line) rollout.Line {
	need := needOf(l.Want)
	if l.Whole {
		need = rollout.NeedAll // it is all there, wanted or not
	}
	return rollout.Line{Bytes: l.Bytes, Number: l.Number, Offset: l.Offset, Size: l.Size, Need: need, TooLong: l.TooLong, Rest: l.Rest}
}

func needOf(w tail.Want) rollout.Need {
	switch w {
	case tail.WantAll:
		return rollout.NeedAll
	case tail.WantHead:
		return rollout.NeedHead
	case tail.WantNone:
		return rollout.NeedNone
	}
	return rollout.NeedAll
}

// reading is one pass over new lines of a file.
type reading struct {
	p      *Pipeline
	ctx    context.Context
	file   store.File
	parser *rollout.Parser
	count  *counters
	delta  transcript.Delta
	batch  store.Batch
	counts []store.ItemCount
	res    Result
	ended  bool
}

// lines reads, parses, counts and commits until no whole line is left.
func (p *Pipeline) lines(ctx context.Context, f store.File, cp store.Checkpoint, what plan, r *tail.Reader, mem *hold) (Result, error) {
	var st rollout.State
	if what == planAppend && len(cp.Parser) > 0 {
		if err := json.Unmarshal(cp.Parser, &st); err != nil {
			return Result{}, fmt.Errorf("read the parser state: %w", err)
		}
	}
	g := &reading{p: p, ctx: ctx, file: f}
	g.batch.NewGeneration, g.batch.Rederive = what == planGeneration, what == planRederive
	g.parser = rollout.NewParser(st, rollout.Options{Parent: p.lineage(ctx)})
	select {
	case g.count = <-p.counters:
		defer func() { p.counters <- g.count }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	start := r.Cursor()
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if r.Cursor().Offset == start.Offset {
				return g.res, err // nothing could be read: no generation begins with that
			}
			// What could be read is kept. That the rest can't be is recorded
			// next; a crash in between must not leave the file looking finished.
			g.file.Size = -1
			return g.res, errors.Join(err, g.commit(r, false))
		}
		g.parser.Line(lineOf(&l), &g.delta)
		if mem.has {
			r.Drop() // before its text is copied on the way into the cache
			debug.FreeOSMemory()
		}
		if mem.has || g.delta.Lines >= batchLines || g.delta.Bytes >= batchBytes {
			if err := g.commit(r, true); err != nil {
				return g.res, err
			}
			mem.release()
			failpoint.Hit(failpoint.BetweenBatches)
		}
	}
	g.res.Bytes = r.Cursor().Offset - start.Offset
	if what == planGeneration && r.Cursor().Offset == 0 {
		// Emptied, to be written anew or not: until there is a line, what it
		// held before is the answer.
		g.res.ThreadID = cp.ThreadID
		return g.res, p.db.Touch(ctx, f, store.FileOK, "", p.decisions)
	}
	if err := g.commit(r, false); err != nil {
		return g.res, err
	}
	return g.res, g.waiting()
}

// commit counts the batch's items and hands it to the store with the cursor
// behind its last line.
func (g *reading) commit(r *tail.Reader, more bool) error {
	g.countItems()
	failpoint.Hit(failpoint.AfterRead)
	st := g.parser.State()
	text, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("write the parser state: %w", err)
	}
	b := &g.batch
	b.File, b.Cursor, b.Pending = g.file, storeCursor(r.Cursor()), r.Pending()
	b.State, b.Delta, b.Counts, b.Facts = store.FileOK, &g.delta, g.counts, st.Facts
	b.Parser, b.ParserVersion, b.AwaitsParent = text, rollout.Version(), g.parser.AwaitsParent()
	b.Decide, b.Quiet = g.p.decisions, more
	if b.Facts.ThreadID == "" {
		b.Facts.ThreadID = g.file.ThreadID
	}
	if more {
		// Until its last line is in, a file must not look finished.
		b.File.Size = -1
	}
	if err := g.p.db.Commit(g.ctx, b); err != nil {
		return err
	}
	g.res.ThreadID = b.Facts.ThreadID
	g.res.Lines += g.delta.Lines
	g.res.Items += len(g.delta.Items)
	g.res.Changed = true
	g.res.NewWindows = g.res.NewWindows || len(g.delta.Windows) > 0
	for _, t := range g.delta.Turns {
		g.ended = t.State != transcript.StateRunning && t.State != transcript.StateUnanswered
	}
	g.res.TurnEnded = g.ended
	b.NewGeneration, b.Rederive = false, false
	g.delta.Reset()
	return nil
}

func (g *reading) countItems() {
	g.counts = g.counts[:0]
	for i := range g.delta.Items {
		g.counts = append(g.counts, g.count.item(&g.delta.Items[i]))
	}
}

// item counts what was said, and the same with long tool output shrunk.
func (c *counters) item(it *transcript.Item) store.ItemCount {
	c.used = true
	body := it.Body()
	n := store.ItemCount{Hash: it.BodyHash()}
	if !it.Role.Migrates() {
		n.O200k = c.o200k.CountString(body)
		return n
	}
	n.O200k = c.o200k.CountString(body) + c.o200k.CountString(it.Name)
	n.Cl100k = c.cl100k.CountString(body) + c.cl100k.CountString(it.Name)
	n.Shrunk = n.O200k
	if short, cut := compress.Shrink(it.Role, it.Name, body); cut {
		n.Shrunk = min(n.O200k, c.o200k.CountString(short))
	}
	return n
}

// lineage answers the parser's question for a parent thread's items. A parent
// that isn't here up to its last line is no answer: the rollout is read again
// when it is.
func (p *Pipeline) lineage(ctx context.Context) func(string) (rollout.Lineage, bool) {
	return func(threadID string) (rollout.Lineage, bool) {
		items, f, err := p.db.Lineage(ctx, threadID)
		if err != nil || !readWhole(f) {
			return nil, false
		}
		out := make(rollout.Lineage, len(items))
		for i, a := range items {
			out[i] = rollout.Ancestor{Key: a.Key, Role: a.Role, Dead: a.Dead}
		}
		return out, true
	}
}

func cursorOf(c store.Cursor) tail.Cursor {
	t := tail.Cursor{Offset: c.Offset, Line: c.Line, HeadLen: c.HeadLen, TailLen: c.TailLen}
	copy(t.Head[:], c.Head)
	copy(t.Tail[:], c.Tail)
	return t
}

func storeCursor(t tail.Cursor) store.Cursor {
	return store.Cursor{Offset: t.Offset, Line: t.Line, HeadLen: t.HeadLen, Head: t.Head[:], TailLen: t.TailLen, Tail: t.Tail[:]}
}

// Gone records that a rollout was deleted. What was taken in stays.
func (p *Pipeline) Gone(ctx context.Context, f store.File) error {
	defer p.files.hold(f.RolloutID)()
	return p.db.Touch(ctx, f, store.FileGone, "the file was deleted", p.decisions)
}

// Stale gives those of the files that a cache with these checkpoints isn't known
// to be up to date with, in the order given. It is pure.
func Stale(known []store.Checkpoint, files []store.File) []store.File {
	byID := make(map[string]store.Checkpoint, len(known))
	for _, c := range known {
		byID[c.RolloutID] = c
	}
	var out []store.File
	for _, f := range files {
		c, ok := byID[f.RolloutID]
		if planFor(c, ok, f) != planSkip {
			out = append(out, f)
		}
	}
	return out
}
