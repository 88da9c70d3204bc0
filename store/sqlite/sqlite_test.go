package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/store/sqlite"
)

func TestSQLiteIsNewEnough(t *testing.T) {
	// Before 3.51.3 two connections could damage a WAL that one of them resets.
	version, driver := sqlite.Version()
	if driver == "none" {
		t.Skip("built without cgo and without purego: there is no SQLite")
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatalf("version %q of %s: %v", version, driver, err)
	}
	if major*1_000_000+minor*1_000+patch < 3_051_003 {
		t.Errorf("SQLite %s of %s is older than 3.51.3", version, driver)
	}
}

// Both drivers must take what the cache asks of them, and tell what went wrong.
func TestDriver(t *testing.T) {
	if _, driver := sqlite.Version(); driver == "none" {
		t.Skip("built without cgo and without purego: there is no SQLite")
	}
	dir := t.TempDir()
	open := func(name string) *sql.DB {
		db, err := sql.Open("sqlite3", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	path := "file:" + filepath.ToSlash(filepath.Join(dir, "a.db"))
	db := open(path + "?_journal_mode=WAL&_synchronous=NORMAL&_foreign_keys=1&_busy_timeout=2500&_txlock=immediate&_stmt_cache_size=8&_auto_vacuum=incremental&_cache_size=-16000")
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "1", "foreign_keys": "1", "busy_timeout": "2500", "auto_vacuum": "2", "cache_size": "-16000"} {
		var got string
		if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", pragma, got, err, want)
		}
	}
	if _, err := db.Exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB); CREATE VIRTUAL TABLE w USING fts5(x, content='', contentless_delete=1); INSERT INTO t VALUES (1, x'00ff')"); err != nil {
		t.Fatalf("several statements, with full-text search: %v", err)
	}
	var b []byte
	if err := db.QueryRow("SELECT b FROM t").Scan(&b); err != nil || string(b) != "\x00\xff" {
		t.Errorf("bytes: %x, %v", b, err)
	}
	for pragma, want := range map[string]string{"busy_timeout": "5000", "synchronous": "1"} {
		var got string
		if err := open(path).QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s where none is asked for: %s, %v; want %s", pragma, got, err, want)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("this is not a database, but it is long enough to be asked whether it is one: it has more than a hundred bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback() }()
	for name, c := range map[string]struct {
		db   *sql.DB
		ask  string
		want sqlite.Code
	}{
		"not a database":   {open("file:" + filepath.ToSlash(filepath.Join(dir, "text"))), "SELECT * FROM sqlite_schema", sqlite.NotADB},
		"no folder":        {open("file:" + filepath.ToSlash(filepath.Join(dir, "none", "a.db"))), "SELECT 1", sqlite.CantOpen},
		"only for reading": {open(path + "?mode=ro"), "DELETE FROM t", sqlite.ReadOnly},
		"only for asking":  {open(path + "?_query_only=1"), "DELETE FROM t", sqlite.ReadOnly},
		"another writes":   {open(path + "?_busy_timeout=1"), "DELETE FROM t", sqlite.Busy},
		"no such table":    {open(path), "SELECT * FROM missing", sqlite.Error},
	} {
		_, err := c.db.Exec(c.ask)
		code, ok := sqlite.CodeOf(fmt.Errorf("wrapped: %w", err))
		if !ok || code.Code() != c.want {
			t.Errorf("%s: %v is code %d (%v), want %d", name, err, code, ok, c.want)
		}
	}
	if _, ok := sqlite.CodeOf(errors.New("any other")); ok {
		t.Error("an error that is not SQLite's has a code")
	}
}
