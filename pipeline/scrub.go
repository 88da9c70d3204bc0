package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch/tail"
)

// Scrubbed is what a check of a rollout found.
type Scrubbed struct {
	ThreadID string
	Skipped  bool // it can't be compared now: rewritten, moved, or waiting for another file
	Differs  []string
	Windows  []transcript.Window // that it reports
}

// errSkip: nothing can be said by deriving the rollout now.
var errSkip = errors.New("not comparable now")

// Scrub derives a rollout again from the bytes before its cursor, compares that
// with its rows, and repairs them in place if they differ: item numbers, and
// with them refs, stay. Then it does the same for the thread's figures and
// decisions. What can't be derived any more, because the file is gone or its agent
// rewrote it, is proved by its own hashes.
func (p *Pipeline) Scrub(ctx context.Context, f store.File) (Scrubbed, error) {
	if cp, err := p.db.Rollout(ctx, f.RolloutID); err == nil && (cp.State == store.FileGone || cp.GenerationSeq > 0 && !cp.Broken) {
		if kept, err := p.proveKept(ctx, cp); err != nil || cp.State == store.FileGone || len(kept.Differs) > 0 {
			return kept, err
		}
	}
	s := &scrub{p: p, ctx: ctx, file: f}
	var err error
	s.out.Differs, err = p.db.Compare(ctx, f.RolloutID, s.derive)
	s.out.ThreadID = s.cp.ThreadID
	if errors.Is(err, errSkip) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNotFound) {
		s.out.Skipped, s.out.Differs = true, nil
		return s.out, nil
	}
	if err != nil {
		return s.out, fmt.Errorf("check %s: %w", f.Path, err)
	}
	if s.cp.Stamp != f.Stamp || s.cp.Home != f.Home {
		s.out.Differs = append(s.out.Differs, "the name of the file")
	}
	if len(s.out.Differs) > 0 {
		if again, err := s.parentRewritten(); err != nil || again {
			s.out.Skipped, s.out.Differs = true, nil
			return s.out, err
		}
		if err := p.repair(ctx, f, s.cp); err != nil {
			return s.out, fmt.Errorf("repair %s: %w", f.Path, err)
		}
		now, err := p.db.Rollout(ctx, f.RolloutID)
		if err != nil {
			return s.out, err
		}
		s.out.ThreadID = now.ThreadID
	}
	defer p.files.hold(f.RolloutID)() // while it is read, the figures are of before
	changed, err := p.db.Recompute(ctx, s.out.ThreadID, p.decisions)
	if err != nil {
		return s.out, fmt.Errorf("check the figures of %s: %w", s.out.ThreadID, err)
	}
	if changed && len(s.out.Differs) == 0 {
		s.out.Differs = []string{"the figures or decisions of the thread"}
	}
	return s.out, nil
}

// proveKept checks what no file holds any more by its own hashes and counts. What
// is lost comes back from a backup if it is in one.
func (p *Pipeline) proveKept(ctx context.Context, cp store.Checkpoint) (Scrubbed, error) {
	out := Scrubbed{ThreadID: cp.ThreadID}
	var c *counters
	select {
	case c = <-p.counters:
	case <-ctx.Done():
		return out, ctx.Err()
	}
	mended, lost, err := p.db.Recount(ctx, cp.RolloutID, c.item)
	p.counters <- c
	if err != nil {
		return out, fmt.Errorf("prove what is left of %s: %w", cp.Path, err)
	}
	if mended > 0 {
		out.Differs = append(out.Differs, fmt.Sprintf("counts of %d items that no file holds any more", mended))
	}
	if lost > 0 {
		out.Differs = append(out.Differs, fmt.Sprintf("texts of %d items that no file holds any more, taken from a backup if it has them", lost))
		if _, _, err := p.db.Restore(ctx); err != nil {
			return out, err
		}
	}
	changed, err := p.db.Recompute(ctx, cp.ThreadID, p.decisions)
	if changed && len(out.Differs) == 0 {
		out.Differs = []string{"the figures or decisions of the thread"}
	}
	return out, err
}

// Recompute makes a thread's figures and decisions again from its rows.
func (p *Pipeline) Recompute(ctx context.Context, threadID string) error {
	_, err := p.db.Recompute(ctx, threadID, p.decisions)
	return err
}

// KeepTargets forgets decisions for models that are no target: only damage to
// their names leaves such behind.
func (p *Pipeline) KeepTargets(ctx context.Context) error {
	mark, err := p.db.Targets(ctx)
	if err != nil {
		return err
	}
	return p.db.SetTargets(ctx, mark, p.targetModels())
}

// repair reads a rollout anew in place, unless its file was rewritten meanwhile.
func (p *Pipeline) repair(ctx context.Context, f store.File, cp store.Checkpoint) error {
	defer p.files.hold(f.RolloutID)()
	if err := unchanged(cp, f); err != nil && !cp.Broken {
		return err
	}
	if err := p.db.Mend(ctx, f.RolloutID); err != nil {
		return err
	}
	st, err := os.Stat(f.Path)
	if err != nil {
		return fmt.Errorf("look at the file: %w", err)
	}
	f.Size, f.ModTimeNs = st.Size(), st.ModTime().UnixNano()
	_, err = p.ingest(ctx, f)
	return err
}

// unchanged tells whether the file still holds what the cursor was taken from.
func unchanged(cp store.Checkpoint, f store.File) error {
	if cp.Form == store.FormDocument {
		st, err := os.Stat(f.Path)
		if err != nil || st.Size() != cp.Size || st.ModTime().UnixNano() != cp.ModTimeNs {
			return errSkip
		}
		return nil
	}
	r, err := tail.Open(f.Path, cursorOf(cp.Cursor), tailOptions())
	if errors.Is(err, tail.ErrReplaced) || errors.Is(err, tail.ErrTruncated) || errors.Is(err, tail.ErrCorrupt) {
		return errSkip
	}
	if err != nil {
		return err
	}
	return r.Close()
}

// scrub is one check.
type scrub struct {
	p       *Pipeline
	ctx     context.Context
	file    store.File // as the folder shows it
	cp      store.Checkpoint
	parents []string // threads that were asked for copied lines
	delta   transcript.Delta
	out     Scrubbed
}

// parentRewritten tells whether a thread that lines were copied from holds other
// lines now than it did then.
func (s *scrub) parentRewritten() (bool, error) {
	for _, id := range s.parents {
		gone, err := s.p.db.Rewritten(s.ctx, id)
		if err != nil || len(gone) > 0 {
			return true, err
		}
	}
	return false, nil
}

// derive hands over what the lines before the cursor say.
func (s *scrub) derive(cp store.Checkpoint, add func(*store.Batch) error) error {
	s.cp = cp
	if !cp.Broken {
		if cp.State != store.FileOK || cp.ParserVersion != rollout.Version() || cp.Cursor.Offset == 0 || cp.Size < 0 {
			return errSkip // being read, or to be
		}
		if err := unchanged(cp, s.file); err != nil {
			return err
		}
	}
	if cp.Form == store.FormDocument {
		return s.document(add)
	}
	r, err := tail.Open(s.file.Path, tail.Cursor{}, tailOptions())
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	lineage := s.p.lineage(s.ctx)
	parser := rollout.NewParser(rollout.State{}, rollout.Options{Parent: func(id string) (rollout.Lineage, bool) {
		s.parents = append(s.parents, id)
		return lineage(id)
	}})
	for r.Cursor().Offset < cp.Cursor.Offset {
		l, err := r.Next()
		if errors.Is(err, io.EOF) && cp.Broken {
			break // where the cursor stands was never written
		}
		if errors.Is(err, io.EOF) {
			return errSkip // it became shorter
		}
		if err != nil {
			return err
		}
		parser.Line(lineOf(&l), &s.delta)
		if len(l.Bytes) >= hugeLine {
			r.Drop()
		}
		if s.delta.Lines >= batchLines || s.delta.Bytes >= batchBytes {
			if err := s.hand(&store.Batch{}, add); err != nil {
				return err
			}
		}
	}
	st := parser.State()
	if parser.AwaitsParent() != "" && cp.AwaitsParent == "" && !cp.Broken {
		return errSkip // the parent is being read
	}
	return s.last(st, &store.Batch{Cursor: storeCursor(r.Cursor()), Pending: s.pending(), AwaitsParent: parser.AwaitsParent()}, add)
}

// pending is what the file holds of a line that isn't finished, if it is as it
// was when it was read.
func (s *scrub) pending() int64 {
	if st, err := os.Stat(s.file.Path); err == nil && s.cp.Form == store.FormPlain && st.Size() == s.cp.Size {
		return s.cp.Size - s.cp.Cursor.Offset
	}
	return s.cp.Pending
}

func (s *scrub) document(add func(*store.Batch) error) error {
	text, err := os.ReadFile(s.file.Path)
	if err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	st, err := rollout.Document(text, rollout.State{}, &s.delta)
	if errors.Is(err, rollout.ErrIncomplete) {
		return errSkip
	}
	if err != nil {
		return err
	}
	c := s.cp.Cursor // it counts what was added last
	c.Offset = int64(len(text))
	return s.last(st, &store.Batch{Cursor: c, Pending: s.cp.Pending}, add)
}

func (s *scrub) last(st rollout.State, b *store.Batch, add func(*store.Batch) error) error {
	var err error
	if b.Parser, err = json.Marshal(st); err != nil {
		return fmt.Errorf("write the parser state: %w", err)
	}
	b.Facts = st.Facts
	if b.Facts.ThreadID == "" {
		b.Facts.ThreadID = s.file.ThreadID
	}
	return s.hand(b, add)
}

// hand counts what was read and hands it over. The counter is held no longer:
// live lines need it.
func (s *scrub) hand(b *store.Batch, add func(*store.Batch) error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	b.Delta = &s.delta
	select {
	case c := <-s.p.counters:
		for i := range s.delta.Items {
			b.Counts = append(b.Counts, c.item(&s.delta.Items[i]))
		}
		s.p.counters <- c
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.out.Windows = append(s.out.Windows, s.delta.Windows...)
	err := add(b)
	s.delta.Reset()
	return err
}
