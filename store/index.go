package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// remark has it told that the items of a rollout are not those that had their
// numbers. What is only added needs no other mark.
func remark(ctx context.Context, tx *sql.Tx, row int64) error {
	_, err := tx.ExecContext(ctx, "UPDATE rollout SET mark=random() WHERE id=?", row)
	return err
}

const marksQuery = "SELECT id, mark, last_seq FROM rollout"

// Marks calls f with each rollout's row, with a random number that is another
// one whenever items of it were taken away, replaced or put in between, and with
// the number of its last item. As long as the mark is the same, what was read of
// items with lower numbers holds. f doesn't ask the cache.
func (db *DB) Marks(ctx context.Context, f func(row, mark, last int64)) error {
	rows, err := db.read.QueryContext(ctx, marksQuery)
	if err != nil {
		return db.wrap("list rollouts", err)
	}
	defer rows.Close()
	for rows.Next() {
		var row, mark, last int64
		if err := rows.Scan(&row, &mark, &last); err != nil {
			return db.wrap("list rollouts", unscanned(err))
		}
		f(row, mark, last)
	}
	return db.wrap("list rollouts", rows.Err())
}

// SortNewest sorts rows of rollouts: those of the threads that were written to
// last come first.
func (db *DB) SortNewest(ctx context.Context, rows []int64) error {
	when := map[int64]int64{}
	for _, row := range rows {
		var ns int64
		err := db.read.QueryRowContext(ctx, "SELECT t.updated_ns FROM rollout r JOIN thread t ON t.thread_id=r.thread_id WHERE r.id=?", row).Scan(&ns)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return db.wrap("sort rollouts", err)
		}
		when[row] = ns
	}
	slices.SortFunc(rows, func(a, b int64) int {
		return cmp.Or(cmp.Compare(when[b], when[a]), cmp.Compare(b, a))
	})
	return nil
}

// Items gives items of a rollout, rolled-back and rewritten-away ones included,
// in the order of their numbers: those after number after, until their text has
// maxBytes or there are limit of them. Only ID, Seq, Role, Time, Name, Args and
// Text are set. through is the number up to which there are no others, mark what
// Marks says with them. ErrNotFound if the rollout isn't there.
func (db *DB) Items(ctx context.Context, row, after int64, maxBytes, limit int) (ms []transcript.Message, through, mark int64, err error) {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, 0, db.wrap("read items", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	if err := tx.QueryRowContext(ctx, "SELECT mark, last_seq FROM rollout WHERE id=?", row).Scan(&mark, &through); err != nil {
		return nil, 0, 0, db.wrap("read items", err)
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, role, ts_ns, name, args, text FROM item WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
		itemID(row, after+1), itemID(row, through), limit)
	if err != nil {
		return nil, 0, 0, db.wrap("read items", err)
	}
	defer rows.Close()
	for size := 0; rows.Next(); {
		var m transcript.Message
		var tsNs int64
		if err := rows.Scan(&m.ID, &m.Role, &tsNs, &m.Name, &m.Args, &m.Text); err != nil {
			return nil, 0, 0, db.wrap("read items", unscanned(err))
		}
		m.Seq, m.Time = m.ID&(1<<seqBits-1), at(tsNs)
		ms = append(ms, m)
		if size += len(m.Args) + len(m.Text); size >= maxBytes || len(ms) == limit {
			return ms, m.Seq, mark, nil
		}
	}
	return ms, through, mark, db.wrap("read items", rows.Err())
}
