//go:build cgo

package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"
)

func TestDurableWritesAreSynced(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "cache.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	level := func(q interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}) (n int) {
		t.Helper()
		if err := q.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const normal, full = 1, 2
	if err := db.write(t.Context(), "test", func(tx *sql.Tx) error {
		if n := level(tx); n != normal {
			t.Errorf("a write has level %d", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		if err := db.writeDurable(t.Context(), "test", func(tx *sql.Tx) error {
			if n := level(tx); n != full {
				t.Errorf("a durable write has level %d", n)
			}
			return want
		}); !errors.Is(err, want) {
			t.Fatal(err)
		}
		if n := level(db.sql); n != normal {
			t.Errorf("after it the level is %d", n)
		}
	}
	var limit, foreign int
	var mode string
	if err := errors.Join(db.sql.QueryRowContext(t.Context(), "PRAGMA journal_size_limit").Scan(&limit), db.sql.QueryRowContext(t.Context(), "PRAGMA foreign_keys").Scan(&foreign), db.sql.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode)); err != nil {
		t.Fatal(err)
	}
	if limit != journalKept || foreign != 1 || mode != "wal" {
		t.Errorf("limit %d, foreign keys %d, mode %s", limit, foreign, mode)
	}
	if _, err := db.read.ExecContext(t.Context(), "DELETE FROM meta"); err == nil {
		t.Error("a reading connection can write")
	}
}

func TestSQLiteCodes(t *testing.T) {
	for _, c := range []struct {
		code     sqlite3.ErrNo
		extended sqlite3.ErrNoExtended
		want     error
	}{
		{sqlite3.ErrCorrupt, 0, ErrDamaged},
		{sqlite3.ErrNotADB, 0, ErrDamaged},
		{sqlite3.ErrIoErr, ioErrCorruptFS, ErrDamaged},
		{sqlite3.ErrIoErr, ioErrData, ErrDamaged},
		{sqlite3.ErrIoErr, sqlite3.ErrIoErrWrite, ErrFull}, // EDQUOT, EIO
		{sqlite3.ErrIoErr, sqlite3.ErrIoErrFsync, ErrFull},
		{sqlite3.ErrFull, 0, ErrFull},
		{sqlite3.ErrReadonly, 0, ErrFull}, // EROFS
		{sqlite3.ErrBusy, 0, ErrBusy},
		{sqlite3.ErrLocked, 0, ErrBusy},
		{sqlite3.ErrProtocol, 0, ErrBusy},
		{sqlite3.ErrCantOpen, 0, ErrFolder},
		{sqlite3.ErrPerm, 0, ErrFolder},
		{sqlite3.ErrConstraint, 0, nil},
	} {
		if got := sqliteKind(sqlite3.Error{Code: c.code, ExtendedCode: c.extended}); !errors.Is(got, c.want) {
			t.Errorf("%d (%d): %v, want %v", c.code, c.extended, got, c.want)
		}
	}
}
