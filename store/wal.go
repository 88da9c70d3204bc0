package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/session-migrator/session-migrator/store/failpoint"
)

// WALAlarm is the size in bytes of a WAL that something must be wrong with:
// writing goes on, but a reader holds a view so old that nothing can be moved
// into the file.
const WALAlarm = 64 << 20

// write runs f in a transaction of the writer. It survives the end of the
// process. A loss of power may take the newest ones away, in whole and in order:
// what is derived from a rollout is then read again from an older cursor.
func (db *DB) write(ctx context.Context, what string, f func(*sql.Tx) error) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return db.wrap(what, err)
	}
	defer func() { _ = conn.Close() }() // gives it back
	return db.transact(ctx, conn, what, f)
}

// writeDurable is write for what no rollout can give again: when it returns, the
// transaction, and all before it, survive a loss of power.
func (db *DB) writeDurable(ctx context.Context, what string, f func(*sql.Tx) error) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return db.wrap(what, err)
	}
	defer func() { _ = conn.Close() }() // gives it back
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous=FULL"); err != nil {
		return db.wrap(what, err)
	}
	err = db.transact(ctx, conn, what, f)
	_, back := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous=NORMAL")
	return errors.Join(err, db.wrap(what, back))
}

func (db *DB) transact(ctx context.Context, conn *sql.Conn, what string, f func(*sql.Tx) error) (err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return db.wrap(what, err)
	}
	defer func() {
		if err != nil {
			if rb := tx.Rollback(); rb != nil && !errors.Is(rb, sql.ErrTxDone) {
				err = errors.Join(err, rb)
			}
		}
	}()
	if err := f(tx); err != nil {
		return db.wrap(what, err)
	}
	failpoint.Hit(failpoint.BeforeCommit)
	err = tx.Commit()
	failpoint.Hit(failpoint.AfterCommit)
	return db.wrap(what, err)
}

// Checkpoint moves the WAL into the file while nothing else is to be done.
// ErrBusy if a reader's view keeps it from doing all of that: it is not waited
// for.
func (db *DB) Checkpoint(ctx context.Context) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return db.wrap("checkpoint", err)
	}
	defer func() { _ = conn.Close() }() // gives it back
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout="+ms(checkpointBusy)); err != nil {
		return db.wrap("checkpoint", err)
	}
	var busy bool
	var frames, moved int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	_, back := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA busy_timeout="+ms(writerBusy))
	if err := errors.Join(err, back); err != nil {
		return db.wrap("checkpoint", err)
	}
	if busy {
		return fmt.Errorf("checkpoint of cache %s: %w: %s of the WAL are held by a reader", db.path, ErrBusy, strconv.Itoa(frames-moved)+" pages")
	}
	return nil
}

// WALSize is the WAL's size in bytes.
func (db *DB) WALSize() int64 {
	st, err := os.Stat(db.path + "-wal")
	if err != nil {
		return 0
	}
	return st.Size()
}

// Commits counts the writer's changes since it opened the cache.
func (db *DB) Commits(ctx context.Context) (n int64, err error) {
	err = db.sql.QueryRowContext(ctx, "SELECT total_changes()").Scan(&n)
	return n, db.wrap("count changes", err)
}

// Replaced tells whether the path no longer leads to the open file or its WAL,
// or someone cut the file: what is written then is lost. One goroutine asks.
func (db *DB) Replaced() bool {
	st, err := os.Stat(db.path)
	if err != nil || db.moved() || st.Size() < db.size {
		return true
	}
	db.size = st.Size() // SQLite never makes it smaller
	if db.wal == nil {
		return false
	}
	wal, err := os.Stat(db.path + "-wal")
	return err != nil || !os.SameFile(wal, db.wal)
}

// moved tells whether the path leads to another file than the open one, or to
// none.
func (db *DB) moved() bool {
	st, err := os.Stat(db.path)
	return err != nil || !os.SameFile(st, db.file)
}
