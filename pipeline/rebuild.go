package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// Rebuild says that the cache was made anew and is being filled: what isn't in
// it yet may come.
type Rebuild struct {
	Since     time.Time `json:"since"`
	Reason    string    `json:"reason,omitempty"` // why it was made anew; empty: there was none
	FilesDone int       `json:"files_done"`
	Files     int       `json:"files"` // 0: not listed yet
	BytesDone int64     `json:"bytes_done"`
	Bytes     int64     `json:"bytes"`
}

// String says how far it is.
func (r *Rebuild) String() string {
	if r.Files == 0 {
		return "the cache is being made anew: the files are being listed"
	}
	return fmt.Sprintf("the cache is being made anew: %d of %d files read (%d of %d MB)", r.FilesDone, r.Files, r.BytesDone/1e6, r.Bytes/1e6)
}

const rebuildKey = "rebuild"

// Rebuilding tells whether db is being filled; nil if it isn't. Where damage took
// how far it is, it still is.
func Rebuilding(ctx context.Context, db *store.DB) (*Rebuild, error) {
	text, err := db.Meta(ctx, rebuildKey)
	if err != nil || text == "" {
		return nil, err
	}
	r := new(Rebuild)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return new(Rebuild), nil //nolint:nilerr // see above
	}
	return r, nil
}

// SetRebuilding records how far the filling is; nil: all is there.
func SetRebuilding(ctx context.Context, db *store.DB, r *Rebuild) error {
	if r == nil {
		return db.SetMeta(ctx, rebuildKey, "")
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write how far the cache is: %w", err)
	}
	return db.SetMeta(ctx, rebuildKey, string(text))
}
