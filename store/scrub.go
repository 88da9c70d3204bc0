package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// ErrChanged means that rows of a thread disagree with each other: one of them
// is not what was written.
var ErrChanged = errors.New("the cache disagrees with itself")

// unscanned marks what rows.Scan says of a value: one that doesn't fit was never
// written.
func unscanned(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrChanged, err)
}

// LeastChecked gives the rollouts whose comparison with their files is longest
// ago, or that never were compared: at most limit of those that were read. Of
// those whose files are gone the rows prove themselves. total is the number of all such.
func (db *DB) LeastChecked(ctx context.Context, limit int) (out []Checkpoint, total int, err error) {
	const readable = " FROM rollout LEFT JOIN checked ON rollout=id WHERE state=1 AND (off<>0 OR head_len<>0) OR state=3 AND last_seq<>0"
	if err := db.read.QueryRowContext(ctx, "SELECT count(*)"+readable).Scan(&total); err != nil {
		return nil, 0, db.wrap("count rollouts to check", err)
	}
	rows, err := db.read.QueryContext(ctx, "SELECT "+checkpointColumns+readable+" ORDER BY at_ns, id LIMIT ?", limit) //nolint:gosec // conditions of ours
	if err != nil {
		return nil, 0, db.wrap("list rollouts to check", err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanCheckpoint(rows)
		if err != nil {
			return nil, 0, db.wrap("list rollouts to check", err)
		}
		out = append(out, c)
	}
	return out, total, db.wrap("list rollouts to check", rows.Err())
}

// Checked records when a rollout was compared.
func (db *DB) Checked(ctx context.Context, row int64, when time.Time) error {
	_, err := db.sql.ExecContext(ctx, "INSERT OR REPLACE INTO checked VALUES(?,?)", row, ns(when))
	return db.wrap("save a check", err)
}

// Mend makes a rollout whose row or items are not what was written be read
// again from its start. Item numbers, and what earlier generations held, stay:
// where the newest one began its row says, and if that can't be believed, its
// items do.
func (db *DB) Mend(ctx context.Context, rolloutID string) error {
	return db.write(ctx, "mend rollout "+rolloutID, func(tx *sql.Tx) error {
		cp, err := checkpoint(ctx, tx, "rollout_id=?", rolloutID)
		if err != nil {
			return err
		}
		row, gen, seq := cp.Row, int64(cp.Generation), cp.GenerationSeq
		from, to := itemID(row, 0), itemID(row, 1<<seqBits-1)
		if cp.Broken || cp.Cursor.Offset == 0 {
			// Of a row that is to be read from its start nothing is proved either. The
			// newest item tells the generation, the newest of another where it began.
			if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT gen FROM item WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1), 1)", from, to).Scan(&gen); err != nil {
				return err
			}
			if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(id)-?1, 0) FROM item WHERE id BETWEEN ?1 AND ?2 AND gen<?3", from, to, gen).Scan(&seq); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM item WHERE id BETWEEN ? AND ?", from+seq+1, to); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, forgetting+" AND id=?", row)
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE rollout SET mark=random(), gen=?, gen_seq=?, last_seq=?, facts='{}', sums='{}',
				off=0, line=0, head_len=0, head=NULL, tail_len=0, tail=NULL WHERE id=?`, gen, seq, seq, row)
		}
		return err
	})
}

// Drop removes a rollout whose row says of itself what its file's name doesn't,
// with its items.
func (db *DB) Drop(ctx context.Context, row int64) error {
	return db.write(ctx, "drop a damaged rollout", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM rollout WHERE id=?", row); err != nil {
			return err
		}
		_, err := sweep(ctx, tx)
		return err
	})
}

// Sweep removes rows that belong to nothing and summaries that can't be read,
// which only damage leaves behind, and says how many there were.
func (db *DB) Sweep(ctx context.Context) (n int64, err error) {
	err = db.write(ctx, "sweep", func(tx *sql.Tx) error {
		n, err = sweep(ctx, tx)
		return err
	})
	return n, err
}

// oddSummaries is the condition that finds those that damage made unreadable.
const oddSummaries = "source NOT BETWEEN 0 AND 255 OR CASE WHEN json_valid(body) THEN json_type(body)<>'object' ELSE 1 END"

func sweep(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	for _, q := range []string{
		"DELETE FROM item WHERE id>>32 NOT IN (SELECT id FROM rollout)",
		"DELETE FROM turn WHERE rollout NOT IN (SELECT id FROM rollout)",
		"DELETE FROM damage WHERE rollout NOT IN (SELECT id FROM rollout)",
		"DELETE FROM unknown WHERE rollout NOT IN (SELECT id FROM rollout)",
		"DELETE FROM checked WHERE rollout NOT IN (SELECT id FROM rollout)",
		"DELETE FROM thread WHERE thread_id NOT IN (SELECT thread_id FROM rollout)",
		"DELETE FROM decision WHERE thread NOT IN (SELECT id FROM thread) OR target NOT IN (SELECT id FROM target)",
		"DELETE FROM pack WHERE thread NOT IN (SELECT id FROM thread)",
		"DELETE FROM summary WHERE " + oddSummaries,
		"DELETE FROM counted WHERE thread NOT IN (SELECT id FROM thread)",
	} {
		r, err := tx.ExecContext(ctx, q)
		if err != nil {
			return n, err
		}
		k, err := r.RowsAffected()
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// Recompute makes a thread's figures and decisions again from its rollouts. It
// tells whether they were others; if not, nothing is written.
func (db *DB) Recompute(ctx context.Context, threadID string, decideAll func(transcript.Thread) []decide.Decision) (changed bool, err error) {
	err = db.write(ctx, "recompute thread "+threadID, func(tx *sql.Tx) error {
		before, err := threadText(ctx, tx, threadID)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE rollout SET base_complete=0 WHERE thread_id=? AND base_rollout<>''", threadID); err != nil {
			return err
		}
		if err := db.refresh(ctx, tx, threadID, decideAll); err != nil {
			return err
		}
		after, err := threadText(ctx, tx, threadID)
		if err != nil {
			return err
		}
		if changed = before != after; !changed {
			return errSame
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM pack WHERE thread IN (SELECT id FROM thread WHERE thread_id=?)", threadID)
		return err
	})
	if errors.Is(err, errSame) {
		return false, nil
	}
	return changed, err
}

// errSame takes a transaction back that would change nothing.
var errSame = errors.New("nothing changed")

// threadText is all that is stored of a thread itself.
func threadText(ctx context.Context, q queryer, threadID string) (string, error) {
	var b strings.Builder
	for _, query := range []string{
		`SELECT id||' '||head||' '||workspace||' '||parent||' '||subagent||' '||archived||' '||gone||' '||state||' '||created_ns||' '||updated_ns||' '||tokens||' '||title||' '||body
			FROM thread WHERE thread_id=?`,
		`SELECT coalesce(g.model||' '||g.body, 'none')||' '||d.verdict||' '||d.strategy||' '||d.fit||' '||d.tokens||' '||d.target_tokens||' '||coalesce(d.budget,'')||' '||d.messages||' '||d.through_seq||' '||coalesce(d.overhead,'')||' '||d.vocabulary
			FROM thread t JOIN decision d ON d.thread=t.id LEFT JOIN target g ON g.id=d.target WHERE t.thread_id=? ORDER BY d.target`,
		"SELECT base_sums FROM rollout WHERE thread_id=? AND base_rollout<>'' ORDER BY id",
	} {
		lines, err := texts(ctx, q, query, threadID)
		if err != nil {
			return "", err
		}
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	return b.String(), nil
}

// texts gives the first column of a query.
func texts(ctx context.Context, q queryer, query string, args ...any) (out []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text.String)
	}
	return out, rows.Err()
}

// Verify compares a thread's figures with its rows, without the texts:
// ErrChanged if they disagree.
func (db *DB) Verify(ctx context.Context, threadID string) error {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return db.wrap("verify", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	var body string
	var tokens int64
	if err := tx.QueryRowContext(ctx, "SELECT body, tokens FROM thread WHERE thread_id=?", threadID).Scan(&body, &tokens); err != nil {
		return db.wrap("verify", err)
	}
	t, err := readThread(body)
	if err != nil {
		return fmt.Errorf("thread %s: %w", threadID, err)
	}
	segs, err := threadChain(ctx, tx, threadID)
	if err != nil {
		return db.wrap("verify", err)
	}
	var base, own sums
	for i := range segs {
		s, err := segs[i].tally(ctx, tx)
		if err != nil {
			return db.wrap("verify", err)
		}
		if i < len(segs)-1 {
			base.add(s)
			continue
		}
		own, s.Items, s.Damaged, s.Seal, s.Parsed = s, segs[i].sums.Items, segs[i].sums.Damaged, segs[i].sums.Seal, segs[i].sums.Parsed
		if s != segs[i].sums {
			return fmt.Errorf("thread %s: %w: the sums of rollout %s are not those of its items", threadID, ErrChanged, segs[i].rolloutID)
		}
		own.Items = s.Items
	}
	for i := range segs {
		var size int64
		if err := tx.QueryRowContext(ctx, "SELECT size FROM rollout WHERE id=?", segs[i].row).Scan(&size); err != nil {
			return db.wrap("verify", err)
		}
		if size < 0 {
			return nil // being read: the figures follow with its last line
		}
	}
	want := t
	figures(&want, base, own)
	if fmt.Sprint(want.Tokens, want.ShrunkTokens, want.Counts.User, want.Counts.Assistant, want.Counts.ToolCalls, want.Counts.ToolResults, want.Migrated, want.Turns, want.LastSeq) !=
		fmt.Sprint(t.Tokens, t.ShrunkTokens, t.Counts.User, t.Counts.Assistant, t.Counts.ToolCalls, t.Counts.ToolResults, t.Migrated, t.Turns, t.LastSeq) || tokens != t.Tokens["o200k_base"] {
		return fmt.Errorf("thread %s: %w: its figures are not those of its items", threadID, ErrChanged)
	}
	return nil
}
