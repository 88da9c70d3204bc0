package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Receipt is proof of what a sink wrote for a thread.
type Receipt struct {
	Sink, ThreadID string
	Name           string // path below the sink's root, fixed at first write
	Hash           string
	Bytes          int
	Rev            int64 // the thread's revision that was written
	Managed        bool  // false: someone else edited the file, it is theirs now
	Written        time.Time
}

// SaveReceipt records what a sink wrote.
func (db *DB) SaveReceipt(ctx context.Context, r Receipt) error {
	_, err := db.sql.ExecContext(ctx, `INSERT OR REPLACE INTO receipt VALUES(?,?,?,?,?,?,?,?)`,
		r.Sink, r.ThreadID, r.Name, r.Hash, r.Bytes, r.Rev, r.Managed, ns(r.Written))
	return db.wrap("save a receipt", err)
}

// ForgetReceipt forgets what a sink wrote for a thread.
func (db *DB) ForgetReceipt(ctx context.Context, sink, threadID string) error {
	_, err := db.sql.ExecContext(ctx, "DELETE FROM receipt WHERE sink=? AND thread_id=?", sink, threadID)
	return db.wrap("forget a receipt", err)
}

// Receipt gives what a sink wrote for a thread; the zero Receipt if nothing.
func (db *DB) Receipt(ctx context.Context, sink, threadID string) (r Receipt, err error) {
	var written int64
	err = db.read.QueryRowContext(ctx, "SELECT sink, thread_id, name, hash, bytes, rev, managed<>0, written_ns FROM receipt WHERE sink=? AND thread_id=?", sink, threadID).
		Scan(&r.Sink, &r.ThreadID, &r.Name, &r.Hash, &r.Bytes, &r.Rev, &r.Managed, &written)
	if errors.Is(err, sql.ErrNoRows) {
		return Receipt{}, nil
	}
	r.Written = at(written)
	return r, db.wrap("read a receipt", err)
}

// Receipts gives all that a sink wrote.
func (db *DB) Receipts(ctx context.Context, sink string) (map[string]Receipt, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT sink, thread_id, name, hash, bytes, rev, managed<>0, written_ns FROM receipt WHERE sink=?", sink)
	if err != nil {
		return nil, db.wrap("list receipts", err)
	}
	defer rows.Close()
	out := map[string]Receipt{}
	for rows.Next() {
		var r Receipt
		var written int64
		if err := rows.Scan(&r.Sink, &r.ThreadID, &r.Name, &r.Hash, &r.Bytes, &r.Rev, &r.Managed, &written); err != nil {
			return nil, db.wrap("list receipts", err)
		}
		r.Written = at(written)
		out[r.ThreadID] = r
	}
	return out, db.wrap("list receipts", rows.Err())
}

// Unpublished gives the threads whose newest revision a sink hasn't seen, oldest
// change first. Threads that another thread spawned are left out.
func (db *DB) Unpublished(ctx context.Context, sink string) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, `SELECT t.thread_id FROM thread t LEFT JOIN receipt r ON r.thread_id=t.thread_id AND r.sink=?
		WHERE t.subagent=0 AND (r.rev IS NULL OR r.rev<>t.rev) ORDER BY t.updated_ns`, sink)
	if err != nil {
		return nil, db.wrap("list unpublished threads", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, db.wrap("list unpublished threads", err)
		}
		out = append(out, id)
	}
	return out, db.wrap("list unpublished threads", rows.Err())
}
