package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// Mark remembers that it was said what a session runs out of.
type Mark struct {
	ThreadID string    `json:"thread_id"`
	Why      Why       `json:"why"`
	Until    time.Time `json:"until,omitzero"` // the quota's reset; zero: until less is in use
	Said     time.Time `json:"said"`
}

const (
	// marksKey is where the marks lie in the cache.
	marksKey = "handoffs"
	// keep is how long a mark of a session that nobody uses any more is kept.
	keep = 30 * 24 * time.Hour
)

// marks gives what was said, by session. What can't be read is said again.
func marks(ctx context.Context, db *store.DB) (map[string][]Mark, error) {
	text, err := db.Meta(ctx, marksKey)
	if err != nil || text == "" {
		return map[string][]Mark{}, err
	}
	out := map[string][]Mark{}
	var all []Mark
	if json.Unmarshal([]byte(text), &all) != nil {
		all = nil
	}
	for _, m := range all {
		out[m.ThreadID] = append(out[m.ThreadID], m)
	}
	return out, nil
}

// Book tells what is news. It is for the writer of the cache alone, and safe
// for concurrent use.
type Book struct {
	db        *store.DB
	threshold float64
	save      func(ctx context.Context, key, text string) error

	mu    sync.Mutex // guards marks, and keeps a session from being looked at twice at once
	marks map[string][]Mark
}

// NewBook reads what was said before. A threshold of 0 is DefaultThreshold. save
// writes to the cache.
func NewBook(ctx context.Context, db *store.DB, threshold float64, save func(ctx context.Context, key, text string) error) (*Book, error) {
	known, err := marks(ctx, db)
	return &Book{db: db, threshold: threshold, save: save, marks: known}, err
}

// Look gives what a session runs out of and was not said yet. It counts as said
// from then on, before it is: better once too little than each time anew.
func (b *Book) Look(ctx context.Context, threadID string, now time.Time) ([]Due, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.db.Thread(ctx, threadID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	before := b.marks[threadID]
	due, after := dueOf(&t, before, now, b.threshold)
	if slices.Equal(before, after) {
		return nil, nil
	}
	next := map[string][]Mark{threadID: after}
	for id, ms := range b.marks {
		if id == threadID {
			continue
		}
		ms = slices.DeleteFunc(slices.Clone(ms), func(m Mark) bool { return now.Sub(m.Said) > keep })
		if len(ms) > 0 {
			next[id] = ms
		}
	}
	all := []Mark{}
	for _, ms := range next {
		all = append(all, ms...)
	}
	slices.SortFunc(all, func(a, b Mark) int { return a.Said.Compare(b.Said) })
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", marksKey, err)
	}
	if err := b.save(ctx, marksKey, string(text)); err != nil {
		return nil, err
	}
	b.marks = next
	return slices.DeleteFunc(due, func(d Due) bool {
		was, is := markOf(before, d.Why), markOf(after, d.Why)
		return was != nil && is != nil && *was == *is
	}), nil
}
