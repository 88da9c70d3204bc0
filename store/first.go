package store

import (
	"context"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// firstRequest gives the first request of a history, counted: that of the newest
// rollout which has one, or else of what it begins in. Zero if there is none.
func firstRequest(ctx context.Context, q queryer, segs []segment) (transcript.FirstRequest, error) {
	for i := len(segs) - 1; i >= 0; i-- {
		f := segs[i].facts.First
		if f.Input <= 0 {
			continue
		}
		whole, err := segs[i].inRequest(ctx, q, &f)
		if err != nil {
			return transcript.FirstRequest{}, err
		}
		if whole {
			return f, nil
		}
	}
	return transcript.FirstRequest{}, nil
}

// inRequest counts the items in a request, also those that were taken back
// later, and tells whether all of them belong to the segment.
func (s *segment) inRequest(ctx context.Context, q queryer, f *transcript.FirstRequest) (whole bool, err error) {
	where, args := "id BETWEEN ? AND ?", []any{itemID(s.row, s.genSeq+1), itemID(s.row, s.genSeq+f.Through)}
	switch {
	case s.cut != nil && s.cut.Offset > 0:
		where, args = where+" AND off < ?", append(args, s.cut.Offset)
	case s.cut != nil:
		where, args = where+" AND ordinal < ?", append(args, s.cut.Ordinal)
	}
	rows, err := q.QueryContext(ctx, "SELECT role, count(*), sum(tok_o200k), max(id) FROM item WHERE "+where+" GROUP BY role", args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	f.Own, f.User, f.Assistant, f.Calls, f.Results = 0, 0, 0, 0, 0
	for rows.Next() {
		var role transcript.Role
		var n int
		var tokens, last int64
		if err := rows.Scan(&role, &n, &tokens, &last); err != nil {
			return false, err
		}
		whole = whole || last == itemID(s.row, s.genSeq+f.Through)
		f.Add(role, n, tokens)
	}
	return whole, rows.Err()
}
