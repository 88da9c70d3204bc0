package mcpserver

import (
	"context"
	"log/slog"
	"sync"

	"github.com/session-migrator/session-migrator/store/search"
)

// index opens the search index at the first search that finds one. From then on
// it follows by itself when it is made anew. Without one the cache is looked
// through as it stands.
type index struct {
	path string // empty: there is none
	log  *slog.Logger

	mu     sync.Mutex // guards the rest
	open   *search.Index
	closed bool
}

// get gives the index; nil if there is none that can be asked.
func (i *index) get(ctx context.Context) *search.Index {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open != nil || i.closed || i.path == "" {
		return i.open
	}
	x, err := search.OpenReader(ctx, i.path)
	if err != nil {
		i.log.Debug("the search index can't be asked", "path", i.path, "err", err)
		return nil
	}
	i.open = x
	return x
}

// close closes what is open, when nobody asks it any more.
func (i *index) close() {
	i.mu.Lock()
	x := i.open
	i.open, i.closed = nil, true
	i.mu.Unlock()
	if x == nil {
		return
	}
	if err := x.Close(); err != nil {
		i.log.Warn("close the search index", "err", err)
	}
}
