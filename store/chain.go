package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// maxBases bounds how deep histories may point into each other.
const maxBases = 64

// segment is a part of one rollout that belongs to a thread's current branch:
// all of its live items, or those before a cut.
type segment struct {
	row       int64
	rolloutID string
	threadID  string
	genSeq    int64
	lastSeq   int64
	off       int64
	cut       *transcript.Base // nil: everything
	factsText string           // facts and sums as they are stored: see read
	sumsText  string
	facts     transcript.Facts
	sums      sums
}

// read reads what is stored of the segment as JSON, which most who ask for a
// segment have no use for.
func (s *segment) read() error {
	if err := json.Unmarshal([]byte(s.factsText), &s.facts); err != nil {
		return fmt.Errorf("read facts of %s: %w: %w", s.rolloutID, ErrChanged, err)
	}
	if err := json.Unmarshal([]byte(s.sumsText), &s.sums); err != nil {
		return fmt.Errorf("read sums of %s: %w: %w", s.rolloutID, ErrChanged, err)
	}
	return nil
}

// queryer is what a transaction and a reader have in common.
type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// loadSegment reads the row of a rollout; ErrNotFound if there is none.
func loadSegment(ctx context.Context, q queryer, where string, arg any) (segment, *transcript.Base, error) {
	var s segment
	var base transcript.Base
	err := q.QueryRowContext(ctx, `SELECT id, rollout_id, thread_id, gen_seq, last_seq, off, facts, sums, base_rollout, base_ordinal, base_offset
		FROM rollout WHERE `+where, arg).
		Scan(&s.row, &s.rolloutID, &s.threadID, &s.genSeq, &s.lastSeq, &s.off, &s.factsText, &s.sumsText, &base.RolloutID, &base.Ordinal, &base.Offset)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil, ErrNotFound
	}
	if err != nil {
		return s, nil, err
	}
	if base.RolloutID == "" {
		return s, nil, nil
	}
	return s, &base, nil
}

// chain gives the segments of the branch that ends in the rollout at row,
// oldest first, and the id of a base that isn't here (or not up to its cut).
func chain(ctx context.Context, q queryer, row int64) (segs []segment, missing string, err error) {
	s, base, err := loadSegment(ctx, q, "id=?", row)
	if err != nil {
		return nil, "", err
	}
	segs = []segment{s}
	seen := map[string]bool{s.rolloutID: true}
	for base != nil {
		cut := *base
		if seen[cut.RolloutID] || len(segs) >= maxBases {
			return segs, cut.RolloutID, nil // points into itself: what is here is all there is
		}
		seen[cut.RolloutID] = true
		s, next, err := loadSegment(ctx, q, "rollout_id=?", cut.RolloutID)
		if errors.Is(err, ErrNotFound) {
			return segs, cut.RolloutID, nil
		}
		if err != nil {
			return nil, "", err
		}
		if cut.Offset > 0 && s.off < cut.Offset && missing == "" {
			missing = cut.RolloutID
		}
		s.cut = &cut
		segs = append([]segment{s}, segs...)
		base = next
	}
	return segs, missing, nil
}

// where selects the live items of the segment.
func (s *segment) where() (string, []any) {
	args := []any{itemID(s.row, s.genSeq+1), itemID(s.row, s.lastSeq)}
	const span = "id BETWEEN ? AND ? AND "
	switch {
	case s.cut == nil:
		return span + "dead_off IS NULL", args
	case s.cut.Offset > 0:
		return span + "off < ? AND (dead_off IS NULL OR dead_off >= ?)", append(args, s.cut.Offset, s.cut.Offset)
	default:
		return span + "ordinal < ? AND (dead_off IS NULL OR dead_ord >= ?)", append(args, s.cut.Ordinal, s.cut.Ordinal)
	}
}

// tally counts the live items of a segment before its cut.
func (s *segment) tally(ctx context.Context, q queryer) (sums, error) {
	var t sums
	where, args := s.where()
	rows, err := q.QueryContext(ctx, `SELECT role, count(*), sum(tok_o200k), sum(tok_cl100k), sum(tok_shrunk), max(turn), max(id) FROM item WHERE `+where+` GROUP BY role`, args...)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var role transcript.Role
		var n, turn int
		var o, c, sh, last int64
		if err := rows.Scan(&role, &n, &o, &c, &sh, &turn, &last); err != nil {
			return t, err
		}
		t.Roles[role] += n
		t.Turns = max(t.Turns, turn)
		t.Items = max(t.Items, last-itemID(s.row, s.genSeq))
		if role.Migrates() {
			t.O200k, t.Cl100k, t.Shrunk, t.Migrated = t.O200k+o, t.Cl100k+c, t.Shrunk+sh, t.Migrated+n
		}
	}
	return t, rows.Err()
}

// place is where a segment's items stand within the thread.
type place struct{ items, turns int64 }

// places gives, for each segment, how many positions and turns come before it.
func places(ctx context.Context, q queryer, segs []segment) ([]place, error) {
	out := make([]place, len(segs))
	var at place
	for i := range segs {
		out[i] = at
		if segs[i].cut == nil {
			continue
		}
		t, err := segs[i].tally(ctx, q)
		if err != nil {
			return nil, err
		}
		at.items += t.Items
		at.turns += int64(t.Turns)
	}
	return out, nil
}
