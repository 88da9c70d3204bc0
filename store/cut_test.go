package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/store"
)

// A cache whose making was cut short has a journal that must be undone first.
// To readers it isn't there yet, and a writer goes on.
func TestMakingThatWasCutShort(t *testing.T) {
	db, path := open(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	for _, q := range []string{"PRAGMA journal_mode=DELETE", "PRAGMA synchronous=OFF", "BEGIN", "CREATE TABLE half(x)"} {
		if _, err := raw.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	cut := filepath.Join(t.TempDir(), "cut.db")
	for _, end := range []string{"", "-journal"} {
		text, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(cut+end, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.OpenReader(t.Context(), cut); !errors.Is(err, store.ErrNone) {
		t.Errorf("a reader is told: %v", err)
	}
	w, err := store.Open(t.Context(), cut)
	if err != nil {
		t.Fatalf("a writer is told: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
