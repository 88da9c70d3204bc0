package daemon

import (
	"context"

	"github.com/session-migrator/session-migrator/daemon/embedding"
)

// newEmbedder makes the worker that makes vectors; nil if the settings ask for
// none.
func newEmbedder(e *engine) *embedding.Worker {
	return embedding.New(embedding.Options{Config: e.opt.Config, DB: e.db, Log: e.log, Write: e.gate.written, Room: e.indexRoom})
}

// runEmbed makes vectors once the backfill is over: the index of words, which
// anybody may ask, goes first.
func (e *engine) runEmbed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-e.index.filled:
	}
	return e.embed.Run(ctx)
}
