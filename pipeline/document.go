package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch/tail"
)

// maxDocument bounds a rollout that is one JSON document: larger than any that
// the program which wrote such files could keep rewriting.
const maxDocument = 64 << 20

// document takes in a rollout that its writer rewrites whole after every item.
// Half-written is no answer: the next change brings it again.
func (p *Pipeline) document(ctx context.Context, f store.File, cp store.Checkpoint, what plan) (Result, error) {
	if _, err := tail.StatFile(f.Path); err != nil {
		return Result{}, err
	}
	if f.Size > maxDocument {
		return Result{}, fmt.Errorf("document of %d bytes is larger than %d", f.Size, int64(maxDocument))
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return Result{}, fmt.Errorf("read document: %w", err)
	}
	var st rollout.State
	if what == planAppend && len(cp.Parser) > 0 {
		if err := json.Unmarshal(cp.Parser, &st); err != nil {
			return Result{}, fmt.Errorf("read the parser state: %w", err)
		}
	}
	g := &reading{p: p, ctx: ctx, file: f}
	g.batch.Rederive = what == planRederive
	next, err := rollout.Document(text, st, &g.delta)
	if errors.Is(err, rollout.ErrRewritten) {
		g.batch.NewGeneration = true
		g.delta.Reset()
		next, err = rollout.Document(text, rollout.State{}, &g.delta)
	}
	if errors.Is(err, rollout.ErrIncomplete) {
		return Result{ThreadID: f.ThreadID}, nil
	}
	if err != nil {
		return Result{}, err
	}
	select {
	case g.count = <-p.counters:
		defer func() { p.counters <- g.count }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	g.countItems()
	parser, err := json.Marshal(next)
	if err != nil {
		return Result{}, fmt.Errorf("write the parser state: %w", err)
	}
	if next.Facts.ThreadID == "" {
		next.Facts.ThreadID = f.ThreadID
	}
	b := &g.batch
	b.File, b.State, b.Delta, b.Counts, b.Facts = f, store.FileOK, &g.delta, g.counts, next.Facts
	b.Parser, b.ParserVersion, b.Decide = parser, rollout.Version(), p.decisions
	b.Cursor = store.Cursor{Offset: int64(len(text)), Line: int64(len(g.delta.Items))}
	if err := p.db.Commit(ctx, b); err != nil {
		return Result{}, err
	}
	return Result{
		ThreadID: next.Facts.ThreadID, Lines: g.delta.Lines, Bytes: int64(len(text)), Items: len(g.delta.Items),
		Changed: true, TurnEnded: len(g.delta.Items) > 0 && g.delta.Items[len(g.delta.Items)-1].Role == transcript.RoleAssistant,
	}, nil
}
