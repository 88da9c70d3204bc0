package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// stepped is a ladder of our own steps and more.
func stepped(t *testing.T, more ...string) ladder {
	t.Helper()
	own, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for _, name := range own.steps {
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: text}
	}
	for i, text := range more {
		all["migrations/9"+string(rune('0'+i))+"_more.sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	l, err := newLadder(all)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data", "session-migrator.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.SetMeta(t.Context(), "said", "before"), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// The schema is the number of a file's name, so that two who add one see each
// other.
func TestStepsAreNumberedAsTheirSchemas(t *testing.T) {
	own, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for i, name := range own.steps {
		if want := fmt.Sprintf("migrations/%04d_", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s makes schema %d", name, i+1)
		}
		db, err := open(t.Context(), filepath.Join(t.TempDir(), "cache.db"), ladder{own.from, own.steps[:i+1]})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		text, err := schemaText(t.Context(), db.sql)
		if err != nil || text == before {
			t.Errorf("%s changes nothing of the schema, by which damage to its number is told: %v", name, err)
		}
		before = text
	}
}

func TestMigrationKeepsACopy(t *testing.T) {
	path := filled(t)
	l := stepped(t, "CREATE TABLE extra(x); INSERT INTO meta VALUES('step','one')", "INSERT INTO meta VALUES('step2','two')")
	db, err := open(t.Context(), path, l)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"said": "before", "step": "one", "step2": "two"} {
		if got, err := db.Meta(t.Context(), key); err != nil || got != want {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
	if v, err := db.Schema(t.Context()); err != nil || v != l.top() {
		t.Errorf("schema %d, %v", v, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	copies, err := backups(path, backupSchema)
	if err != nil || len(copies) != 2 {
		t.Fatalf("copies %q, %v", copies, err)
	}
	st, err := os.Stat(copies[0])
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	// The way back is to put the copy in the cache's place.
	old, err := Open(t.Context(), copies[0])
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if got, err := old.Meta(t.Context(), "said"); err != nil || got != "before" {
		t.Errorf("the copy says %q, %v", got, err)
	}
	if got, err := old.Meta(t.Context(), "step"); err != nil || got != "" {
		t.Errorf("the copy is of after the step: %q, %v", got, err)
	}
}

func TestFailedMigrationLeavesTheOldCache(t *testing.T) {
	path := filled(t)
	for range keepSchemas + 2 {
		_, err := open(t.Context(), path, stepped(t, "CREATE TABLE extra(x); INSERT INTO nowhere VALUES(1)"))
		copies, _ := backups(path, backupSchema)
		if err == nil || len(copies) == 0 || !strings.Contains(err.Error(), copies[len(copies)-1]) {
			t.Fatalf("%v doesn't name one of %q", err, copies)
		}
		if len(copies) > keepSchemas {
			t.Errorf("%d copies are kept", len(copies))
		}
	}
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got, err := db.Meta(t.Context(), "said"); err != nil || got != "before" {
		t.Errorf("says %q, %v", got, err)
	}
	var n int
	if err := db.read.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name='extra'").Scan(&n); err != nil || n != 0 {
		t.Errorf("half of the step is there: %d, %v", n, err)
	}
}

func TestNewerCacheIsReadIfItAllowsThat(t *testing.T) {
	path := filled(t)
	db, err := open(t.Context(), path, stepped(t, "ALTER TABLE meta ADD COLUMN note TEXT"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatalf("a reader is refused: %v", err)
	}
	if got, err := r.Meta(t.Context(), "said"); err != nil || got != "before" {
		t.Errorf("it reads %q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), path); !isNewer(err) {
		t.Errorf("a writer: %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a newer cache was written: %v", err)
	}

	// One that says no.
	if db, err = open(t.Context(), path, stepped(t, "ALTER TABLE meta ADD COLUMN note TEXT", "CREATE TABLE extra(x); UPDATE meta SET value='99' WHERE key='min_reader'")); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), path); !isNewer(err) {
		t.Errorf("a reader that is too old: %v", err)
	}
}

func isNewer(err error) bool {
	_, ok := errors.AsType[*NewerError](err)
	return ok
}
