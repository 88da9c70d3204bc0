package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Recount proves the items of a rollout that no file holds any more: all of one
// whose file is gone, else those of earlier generations. Counts that aren't those
// of the text are mended; a text that has another hash is taken out, so that
// Restore can bring it back from a backup. The sums follow.
func (db *DB) Recount(ctx context.Context, rolloutID string, count func(*transcript.Item) ItemCount) (mended, lost int, err error) {
	err = db.writeDurable(ctx, "recount rollout "+rolloutID, func(tx *sql.Tx) error {
		var row, through, last int64
		var state FileState
		var own string
		if err := tx.QueryRowContext(ctx, "SELECT id, gen_seq, last_seq, state, sums FROM rollout WHERE rollout_id=?", rolloutID).Scan(&row, &through, &last, &state, &own); err != nil {
			return err
		}
		if state == FileGone {
			through = last
		}
		m := &comparison{ctx: ctx, tx: tx, cp: Checkpoint{Row: row}, deadNow: map[int64][2]int64{}}
		if err := m.open(); err != nil {
			return err
		}
		defer m.rows.Close()
		change := map[int64]ItemCount{}
		for {
			it, stored, _, seq, ok, err := m.next()
			if err != nil {
				return err
			}
			if !ok || seq > through {
				break
			}
			n := count(&it)
			switch {
			case it.BodyHash() != stored.Hash:
				change[seq] = ItemCount{O200k: -1}
			case n != stored:
				change[seq] = n
			}
		}
		if err := m.rows.Close(); err != nil {
			return err
		}
		for seq, n := range change {
			q, args := "UPDATE item SET tok_o200k=?, tok_cl100k=?, tok_shrunk=? WHERE id=?", []any{n.O200k, n.Cl100k, n.Shrunk, itemID(row, seq)}
			if n.O200k < 0 {
				q, args = "DELETE FROM item WHERE id=?", args[3:]
				lost++
			} else {
				mended++
			}
			if _, err := tx.ExecContext(ctx, q, args...); err != nil {
				return err
			}
		}
		if lost > 0 {
			if err := remark(ctx, tx, row); err != nil {
				return err
			}
		}
		if state != FileGone {
			return nil
		}
		other, err := addUp(ctx, tx, row, own)
		if err == nil && other && len(change) == 0 {
			mended++
		}
		return err
	})
	return mended, lost, err
}

// addUp makes a rollout's sums from its items, with what they can't tell taken
// from the sums so far, and tells whether those were others. A cursor that isn't
// what was written is forgotten.
func addUp(ctx context.Context, tx *sql.Tx, row int64, own string) (other bool, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT "+checkpointColumns+", facts FROM rollout WHERE id=?", row)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, noRow(rows)
	}
	var facts string
	c, err := scanCheckpoint(rows, &facts)
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return false, err
	}
	seg := segment{row: row, genSeq: c.GenerationSeq, lastSeq: c.LastSeq}
	t, err := seg.tally(ctx, tx)
	if err != nil {
		return false, err
	}
	var old sums
	if json.Unmarshal([]byte(own), &old) == nil {
		t.Damaged = old.Damaged
	}
	t.Items = c.LastSeq - c.GenerationSeq
	// If with these sums the checksum is right, they alone were wrong.
	lost := broken(&c, facts, own) && (old.Seal != seal(&c, facts, t) || old.Parsed != sealParser(&c))
	if lost {
		if _, err := tx.ExecContext(ctx, "UPDATE rollout SET off=0, line=0, head_len=0, head=NULL, tail_len=0, tail=NULL, size=-1, parser=NULL, parser_version=0 WHERE id=?", row); err != nil {
			return false, err
		}
		c.Cursor, c.Parser, c.ParserVersion = Cursor{}, nil, 0
	}
	t.Seal, t.Parsed = seal(&c, facts, t), sealParser(&c)
	text, err := json.Marshal(t)
	if err != nil {
		return false, fmt.Errorf("write sums: %w", err)
	}
	_, err = tx.ExecContext(ctx, "UPDATE rollout SET sums=? WHERE id=?", string(text), row)
	t.Seal, t.Parsed, old.Seal, old.Parsed = 0, 0, 0, 0
	return lost || t != old, err
}
