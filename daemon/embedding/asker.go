package embedding

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline/meaning"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
	"github.com/session-migrator/session-migrator/store/spend"
)

// Asker gives questions what search by meaning needs. A process has one; it is
// safe for concurrent use. What it asks the endpoint is not in the ledger, which
// only the daemon writes, but bounded for each process.
type Asker struct {
	c    config.Config
	deny deny.Folders

	mu      sync.Mutex // guards the rest
	from    source
	asker   *meaning.Asker
	vectors *search.Vectors
}

// NewAsker makes the asker that the settings ask for; nil if they ask for none.
// Nothing is opened before the first question.
func NewAsker(c config.Config) *Asker {
	if c.Embeddings.Provider == "" {
		return nil
	}
	return &Asker{c: c, deny: deny.New(c.Embeddings.DenyWorkspaces)}
}

// Fill adds the vector of the question's words, without its filters, to a
// request, within a moment. It says in a sentence why it could not; empty if it
// did, or if the asker is nil. Questions about denied folders are not sent.
func (a *Asker) Fill(ctx context.Context, db *store.DB, r *search.Request) (note string) {
	if a == nil {
		return ""
	}
	if why := a.denies(ctx, db, r); why != "" {
		return why + ", so this is by words only"
	}
	// Quotes and filters may be part of what tells a secret: first it goes.
	text := search.Read(meaning.Question(r.Query), r.Now).Text
	if text == "" {
		return ""
	}
	asker, vectors, name, err := a.ready(ctx)
	if err == nil {
		var v []float32
		if v, err = asker.Vector(ctx, text); err == nil && v != nil {
			r.Vector, r.Model, r.Vectors = v, name, vectors
		}
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, search.ErrNone):
		return "the daemon has made no vectors yet, so this is by words only"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the vector of the question did not come within %v, so this is by words only", meaning.AskFor)
	}
	return fmt.Sprintf("search by meaning is not to be had, so this is by words only: %v", err)
}

// ready opens what it needs. Without vectors the endpoint isn't asked at all.
func (a *Asker) ready(ctx context.Context) (*meaning.Asker, *search.Vectors, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	if a.from == nil {
		if a.from, err = open(a.c, 1); err != nil {
			return nil, nil, "", err
		}
		a.asker = meaning.NewAsker(a.from)
	}
	// Questions are in no account, but a cap of 0 means that nothing is sent.
	if a.from.Host() != "" {
		if err := capsOf(a.c.Embeddings, a.from.Local()).Allow(spend.Sum{}, spend.Sum{}); err != nil {
			return nil, nil, "", err
		}
	}
	if a.vectors == nil {
		if a.vectors, err = search.OpenVectorsReader(ctx, a.c.Vectors()); err != nil {
			return nil, nil, "", err
		}
	}
	return a.asker, a.vectors, nameOf(a.from, a.c.Embeddings), nil
}

// Close frees what was opened, when no question uses it any more.
func (a *Asker) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	if a.vectors != nil {
		err = a.vectors.Close()
	}
	if a.from != nil {
		a.from.Close()
	}
	a.from, a.asker, a.vectors = nil, nil, nil
	return err
}
