package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store"
)

// slow is a bound that only something that reads the whole file exceeds.
const slow = 2 * time.Second

func TestGates(t *testing.T) {
	reliability.Fault(t, 44, "the file is cut, zeroed at the front, another program's, text, empty, or a folder")
	reliability.Fault(t, 46, "a higher schema number in the file")
	db, path := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", st.Mode(), err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(f func(text []byte) []byte) []byte { return f(bytes.Clone(whole)) }
	newer := changed(func(b []byte) []byte { b[63] = 99; return b }) // user_version, big-endian at 60
	newer = bytes.Replace(newer, []byte("min_reader1"), []byte("min_reader9"), 1)
	var worst time.Duration
	for _, c := range []struct {
		name string
		text []byte // nil: no file
		want error  // a writer's
		read error  // a reader's; nil: the same
	}{
		{"missing", nil, nil, store.ErrNone},
		{"empty", []byte{}, nil, store.ErrNone},
		{"text", []byte(strings.Repeat("no database ", 500)), store.ErrDamaged, nil},
		{"header cut", whole[:60], store.ErrDamaged, nil},
		{"header zeroed", changed(func(b []byte) []byte { clear(b[:4096]); return b }), store.ErrDamaged, nil},
		{"cut in half", whole[:len(whole)/2], store.ErrDamaged, nil},
		{"another program's", changed(func(b []byte) []byte { b[71]++; return b }), store.ErrForeign, nil}, // application_id at 68
		{"newer", newer, &store.NewerError{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session-migrator.db")
			if c.text != nil {
				if err := os.WriteFile(path, c.text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.read == nil {
				c.read = c.want
			}
			worst = max(worst, refused(t, store.OpenReader, path, c.read))
			worst = max(worst, refused(t, store.Open, path, c.want))
			if c.want == nil {
				return
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.text) {
				t.Errorf("the refused file was written: %v", err)
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "session-migrator.db")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		worst = max(worst, refused(t, store.OpenReader, path, store.ErrForeign), refused(t, store.Open, path, store.ErrForeign))
	})
	reliability.Figure(t, 9, "cut, zeroed, foreign, emptied, newer, a folder: noticed before the first use, after %s at most", worst.Round(100*time.Microsecond))
}

// refused opens path, which must fail with want, and gives the time that took.
// A file that looks whole where it was looked at is found by a check.
func refused(t *testing.T, open func(context.Context, string) (*store.DB, error), path string, want error) time.Duration {
	t.Helper()
	begun := time.Now()
	db, err := open(t.Context(), path)
	if err == nil {
		if want != nil {
			err = db.Check(t.Context())
		}
		_ = db.Close()
	}
	took := time.Since(begun)
	_, isNewer := errors.AsType[*store.NewerError](err)
	if _, newer := errors.AsType[*store.NewerError](want); newer != isNewer || !newer && !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if took > slow {
		t.Errorf("noticed after %v", took)
	}
	return took
}

func TestAnotherProgramsDatabaseIsNotTouched(t *testing.T) {
	db, path := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[71]++                // application_id at 68
	text[18], text[19] = 1, 1 // not in WAL mode: opening it as ours would change that
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), path); !errors.Is(err, store.ErrForeign) {
		t.Fatalf("got %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
		t.Errorf("it was written: %v", err)
	}
}

func TestReaderThatHoldsItsViewStopsNothing(t *testing.T) {
	reliability.Fault(t, 47, "a reader holds a transaction open while the writer commits")
	db, path := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	release := hold(t, path)
	for i := range 50 {
		commit(t, db, script(parentID, parentID, int64(2+i), "a:"+strings.Repeat("x", 10_000)))
	}
	begun := time.Now()
	if err := db.Checkpoint(t.Context()); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a checkpoint says %v", err)
	}
	if took := time.Since(begun); took > slow {
		t.Errorf("it waited %v for the reader", took)
	}
	if db.WALSize() < 500_000 {
		t.Errorf("the WAL has %d bytes: nothing was held", db.WALSize())
	}
	commit(t, db, script(parentID, parentID, 99, "a:last"))
	release()
	if err := db.Checkpoint(t.Context()); err != nil || db.WALSize() != 0 {
		t.Errorf("afterwards: %v, %d bytes", err, db.WALSize())
	}
	defer hold(t, path)()
	commit(t, db, script(parentID, parentID, 100, "a:one more"))
	begun = time.Now()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > slow {
		t.Errorf("closing waited %v for the reader", took)
	}
}

// hold opens a view of the cache in a connection of its own, until it is
// released.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	other, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM item").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
			t.Error(err)
		}
	}
}
