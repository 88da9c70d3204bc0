package mcpserver

import (
	"context"

	"github.com/session-migrator/session-migrator/pipeline"
)

// rebuilding says that and how far the cache is being made anew; empty if it
// isn't. Then what is missing may only not be read yet.
func (s *server) rebuilding(ctx context.Context, h *handle) string {
	r, err := pipeline.Rebuilding(ctx, h.db)
	if err != nil {
		s.log.Warn("ask how far the cache is", "err", err)
	}
	if r == nil {
		return ""
	}
	return r.String()
}

// notYet adds to the text about a session that wasn't found that it may not
// have been read yet.
func (s *server) notYet(ctx context.Context, h *handle, text string) error {
	if r := s.rebuilding(ctx, h); r != "" {
		return advise("%s But %s. Try again in a few seconds; migrator_status tells how far it is.", text, r)
	}
	return &advice{text}
}
