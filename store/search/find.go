package search

import (
	"context"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// Request is a question.
type Request struct {
	Query     string    // as people type it
	Thread    string    // id; only what stands in this thread. Empty: all
	Workspace string    // key; only threads of this one. Empty: all
	Within    string    // the same, but a limit nobody can ask past: isolation
	Since     time.Time // only what was said since. Zero: all
	Limit     int       // hits at most; 0: 10
	Offset    int       // hits to pass over
	Now       time.Time // for ages
	Vector    []float32 // of the query, normalised; nil: words only
	Model     string    // that made Vector
}

// Hit is one item that answers.
type Hit struct {
	Message transcript.Message // whole, as the cache has it; with Ref
	Thread  transcript.Thread  // that it belongs to
	Dead    bool               // rolled back, or rewritten away
	Words   []string           // what Snippet looks for in the text
	Lists   []string           // that have it: words, recency, meaning
}

// Found is an answer, best hit first.
type Found struct {
	Hits   []Hit
	More   bool     // hits follow after these
	Behind int64    // items that could not be looked through yet
	Notes  []string // what of the question was read otherwise than typed, in sentences
}

// Find answers a question. No text of a user's makes it fail: an error is the
// cache's or the index's.
func (x *Index) Find(ctx context.Context, db *store.DB, r Request) (Found, error) {
	return Found{}, nil
}

// Snippet gives at most limit characters of text around the densest place of
// words, on one line, with "…" where something is left out.
func Snippet(text string, words []string, limit int) string { return "" }
