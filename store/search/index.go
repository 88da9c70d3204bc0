package search

import (
	"context"
	"errors"

	"github.com/session-migrator/session-migrator/store"
)

// ErrNone means that there is no index yet.
var ErrNone = errors.New("no search index yet")

// Index is an open search index. It is safe for concurrent use.
type Index struct{}

// Open opens the index at path for writing: one process does. One that is
// missing, damaged, foreign or of another version is made anew.
func Open(ctx context.Context, path string) (*Index, error) { return nil, errors.ErrUnsupported }

// OpenReader opens the index at path to ask it. ErrNone if there is none that
// this program can read.
func OpenReader(ctx context.Context, path string) (*Index, error) { return nil, ErrNone }

// Close frees the files.
func (x *Index) Close() error { return nil }

// Progress tells what a CatchUp did.
type Progress struct {
	Items int64 // taken in
	Bytes int64 // of text, of these
}

// CatchUp takes in what db holds and the index doesn't, newest threads first,
// in small transactions; between two of them it calls pause (nil: nothing),
// whose error ends it. It goes on where an earlier one ended.
func (x *Index) CatchUp(ctx context.Context, db *store.DB, pause func(context.Context) error) (Progress, error) {
	return Progress{}, errors.ErrUnsupported
}

// Behind counts the items that db holds and the index doesn't.
func (x *Index) Behind(ctx context.Context, db *store.DB) (int64, error) { return 0, nil }
