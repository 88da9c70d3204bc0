package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// maxRederive bounds how many bytes an answer reads again if the cache
// disagrees with itself.
const maxRederive = 64 << 20

// Verify compares a thread's figures with its rows, without reading the texts.
// If they disagree the thread is marked for a repair, and it is
// store.ErrChanged.
func (p *Pipeline) Verify(ctx context.Context, threadID string) error {
	return p.suspected(threadID, p.db.Verify(ctx, threadID))
}

func (p *Pipeline) suspected(threadID string, err error) error {
	if errors.Is(err, store.ErrChanged) && p.opt.Suspect != nil {
		p.opt.Suspect(threadID)
	}
	return err
}

// prove does what Verify does, and compares every text with its hash.
func (p *Pipeline) prove(ctx context.Context, v *View) error {
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.BodyHash().String() != m.Hash {
			return p.suspected(v.Thread.ID, fmt.Errorf("thread %s: %w: the text of %s has another hash", v.Thread.ID, store.ErrChanged, m.Ref))
		}
	}
	return p.Verify(ctx, v.Thread.ID)
}

// rederive makes the view from the rollout alone. It gives cause back if that
// can't be done for one answer: the history begins in another file, the file is
// gone, or it is too long.
func (p *Pipeline) rederive(ctx context.Context, v *View, cp store.Checkpoint, cause error) error {
	segments, err := p.db.ThreadCheckpoints(ctx, v.Thread.ID)
	if err != nil {
		return err
	}
	if len(segments) != 1 || cp.State != store.FileOK || cp.Size > maxRederive || cp.Form == store.FormDocument || cp.ParserVersion != rollout.Version() {
		return cause
	}
	was := v.Thread
	v.Messages = nil
	t := &v.Thread
	t.Counts, t.Migrated, t.Turns, t.LastSeq = transcript.Counts{}, 0, 0, 0
	t.Tokens, t.ShrunkTokens = map[string]int64{"o200k_base": 0, "cl100k_base": 0}, map[string]int64{"o200k_base": 0}
	v.Fresh = p.freshness(t, cp)
	cp.Cursor, cp.Parser, cp.LastSeq = store.Cursor{}, nil, cp.GenerationSeq
	if err := p.readThrough(ctx, v, cp); err != nil {
		return fmt.Errorf("read %s again: %w", cp.Path, errors.Join(cause, err))
	}
	if v.Fresh.Read == 0 || len(v.Messages) == 0 {
		return cause // rewritten just now
	}
	t.Usage, t.OwnUsage = was.Usage, was.OwnUsage
	v.Fresh.Rederived = true
	return nil
}

// UnreadError means that nothing of a session's file could ever be read: there
// is no saying what it holds.
type UnreadError struct{ Path, Reason string }

// Error gives the file and the reason.
func (e *UnreadError) Error() string {
	return "the session's file " + e.Path + " can't be read: " + e.Reason
}

// Unread gives *UnreadError for a thread of which nothing was read yet because
// its file can't be.
func (p *Pipeline) Unread(ctx context.Context, threadID string) error {
	if any, err := p.db.AnyUnreadable(ctx, threadID); err != nil || !any {
		return err
	}
	t, err := p.db.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	cp, err := p.db.Rollout(ctx, t.RolloutID)
	if err != nil {
		return err
	}
	if cp.State == store.FileUnreadable && cp.Cursor.Offset == 0 && t.LastSeq == 0 {
		return &UnreadError{Path: cp.Path, Reason: cp.Reason}
	}
	return nil
}
