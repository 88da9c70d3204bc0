package daemon

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store"
)

// A daemon whose cache is lost again and again goes on, slower each time.
func TestHealDelay(t *testing.T) {
	last := time.Duration(0)
	for n := 1; n < 100; n++ {
		d := healDelay(n)
		if n <= heals && d != 0 || n > heals && d < healWait || d < last || d > healMost {
			t.Errorf("before cache %d: %v after %v", n, d, last)
		}
		last = d
	}
}

// A newer program that takes the cache over ends the writing of this one.
func TestNewerCacheIsSeenWhileOpen(t *testing.T) {
	reliability.Fault(t, 46, "a newer program changes the cache while it is open")
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "cache.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Outdated(t.Context()); err != nil {
		t.Fatal(err)
	}
	raise(t, db.Path())
	if _, ok := errors.AsType[*store.NewerError](db.Outdated(t.Context())); !ok {
		t.Error("not seen")
	}
}

// raise gives the cache the schema of a newer program.
func raise(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version=99"); err != nil {
		t.Fatal(err)
	}
}
