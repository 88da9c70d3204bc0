package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/store/sqlite"
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
		code sqlite.Extended
		want error
	}{
		{sqlite.Extended(sqlite.Corrupt), ErrDamaged},
		{sqlite.Extended(sqlite.NotADB), ErrDamaged},
		{sqlite.IOErrCorruptFS, ErrDamaged},
		{sqlite.IOErrData, ErrDamaged},
		{sqlite.Extended(sqlite.IOErr) | 3<<8, ErrFull}, // a write: EDQUOT, EIO
		{sqlite.Extended(sqlite.IOErr) | 4<<8, ErrFull}, // a sync
		{sqlite.Extended(sqlite.Full), ErrFull},
		{sqlite.Extended(sqlite.ReadOnly), ErrFull}, // EROFS
		{sqlite.ReadOnlyRollback, ErrNone},
		{sqlite.Extended(sqlite.Busy), ErrBusy},
		{sqlite.Extended(sqlite.Locked), ErrBusy},
		{sqlite.Extended(sqlite.Protocol), ErrBusy},
		{sqlite.Extended(sqlite.CantOpen), ErrFolder},
		{sqlite.Extended(sqlite.Perm), ErrFolder},
		{19, nil}, // a constraint
	} {
		if got := codeKind(c.code); !errors.Is(got, c.want) {
			t.Errorf("%d: %v, want %v", c.code, got, c.want)
		}
	}
}
