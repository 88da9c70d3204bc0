package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/session-migrator/session-migrator/store/spend"
)

// spendKept is how long the ledger reaches back.
const spendKept = 400 * 24 * time.Hour

// unpriced stands for a cost that nobody tells.
const unpriced = -1

func cost(e spend.Entry) int64 {
	if e.Unpriced {
		return unpriced
	}
	return e.MicroUSD
}

// RecordSpend enters what is sent to a model, or, with the ID that it gave then,
// how that went on. What is older than the ledger reaches back is forgotten.
func (db *DB) RecordSpend(ctx context.Context, e spend.Entry) (id int64, err error) {
	err = db.writeDurable(ctx, "record what was spent", func(tx *sql.Tx) error {
		given := sql.NullInt64{Int64: e.ID, Valid: e.ID != 0}
		r, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO spend (id, at_ns, kind, host, model, calls, input, output, exact, micro_usd, thread_id, outcome)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`, given, e.At.UnixNano(), e.Kind, e.Host, e.Model, e.Calls, e.Input, e.Output, e.Exact, cost(e), e.Thread, e.Outcome)
		if err != nil {
			return err
		}
		if id, err = r.LastInsertId(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM spend WHERE at_ns < ?", e.At.Add(-spendKept).UnixNano())
		return err
	})
	return id, err
}

// SpentSince sums up what was spent on a kind of calls since an instant.
func (db *DB) SpentSince(ctx context.Context, kind spend.Kind, since time.Time) (s spend.Sum, err error) {
	if has, err := db.hasSpend(ctx); err != nil || !has {
		return s, err
	}
	err = db.read.QueryRowContext(ctx, `SELECT coalesce(sum(calls),0), coalesce(sum(input),0), coalesce(sum(output),0), coalesce(sum(max(micro_usd,0)),0),
		coalesce(sum(calls) FILTER (WHERE micro_usd<0),0) FROM spend WHERE kind=? AND at_ns>=?`, kind, since.UnixNano()).Scan(&s.Calls, &s.Input, &s.Output, &s.MicroUSD, &s.Unpriced)
	return s, db.wrap("sum up what was spent", err)
}

// Spent lists the ledger since an instant, newest first.
func (db *DB) Spent(ctx context.Context, since time.Time) ([]spend.Entry, error) {
	if has, err := db.hasSpend(ctx); err != nil || !has {
		return nil, err
	}
	rows, err := db.read.QueryContext(ctx, `SELECT at_ns, kind, host, model, calls, input, output, exact, micro_usd, thread_id, outcome
		FROM spend WHERE at_ns>=? ORDER BY at_ns DESC, id DESC`, since.UnixNano())
	if err != nil {
		return nil, db.wrap("list what was spent", err)
	}
	defer rows.Close()
	var out []spend.Entry
	for rows.Next() {
		var e spend.Entry
		var ns int64
		if err := rows.Scan(&ns, &e.Kind, &e.Host, &e.Model, &e.Calls, &e.Input, &e.Output, &e.Exact, &e.MicroUSD, &e.Thread, &e.Outcome); err != nil {
			return nil, db.wrap("list what was spent", err)
		}
		e.At = at(ns)
		if e.MicroUSD == unpriced {
			e.MicroUSD, e.Unpriced = 0, true
		}
		out = append(out, e)
	}
	return out, db.wrap("list what was spent", rows.Err())
}

// hasSpend tells whether the cache has a ledger: an older daemon may run beside
// this reader, and then nothing was spent.
func (db *DB) hasSpend(ctx context.Context) (has bool, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type='table' AND name='spend')").Scan(&has)
	return has, db.wrap("look for the ledger", err)
}
