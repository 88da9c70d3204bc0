package store_test

import (
	"database/sql"
	"maps"
	"testing"

	"github.com/session-migrator/session-migrator/store"
)

func TestSharedFilesAreKept(t *testing.T) {
	db, path := open(t)
	set := func(sink string, files map[string]string) {
		t.Helper()
		if err := db.SetShared(t.Context(), sink, files); err != nil {
			t.Fatal(err)
		}
	}
	is := func(db *store.DB, sink string, want map[string]string) {
		t.Helper()
		if got, err := db.Shared(t.Context(), sink); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", sink, got, err, want)
		}
	}
	set("one", map[string]string{"/a": "{1}", "/b": "{2}"})
	set("two", map[string]string{"/a": "{3}"})
	first, err := db.Backup(t.Context())
	if err != nil || first == "" {
		t.Fatalf("backup %q, %v", first, err)
	}
	set("one", map[string]string{"/a": "{4}", "/b": ""})
	is(db, "one", map[string]string{"/a": "{4}"})
	is(db, "two", map[string]string{"/a": "{3}"})
	if second, err := db.Backup(t.Context()); err != nil || second == "" {
		t.Errorf("nothing new to back up: %q, %v", second, err)
	}
	if err := db.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	is(db, "one", map[string]string{"/a": "{4}"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// As an older daemon leaves it: a reader finds nothing, and no fault.
	raw, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "DROP TABLE shared; PRAGMA user_version=2"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := store.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	is(old, "one", map[string]string{})
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	back, _ := open(t)
	if _, err := back.Rescue(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	is(back, "one", map[string]string{"/a": "{1}", "/b": "{2}"})
}
