package search

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// indexed gives a cache of one item and the path of an index that has it.
func indexed(t *testing.T) (*store.DB, string) {
	t.Helper()
	db := openCache(t)
	commit(t, db, batch(idA, 1, user("needle "+strings.Repeat("hay stack ", 300))))
	path := filepath.Join(t.TempDir(), "search.db")
	x := openIndex(t, path)
	catchUpWith(t, x, db)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return db, path
}

func exec(t *testing.T, path, query string) {
	t.Helper()
	raw, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUselessIndexIsMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"missing": func(t *testing.T, path string) { _ = os.Remove(path) },
		"empty":   func(t *testing.T, path string) { _ = os.Truncate(path, 0) },
		"no SQLite": func(t *testing.T, path string) {
			_ = os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600)
		},
		"cut":       func(t *testing.T, path string) { _ = os.Truncate(path, 4096*2) },
		"cut short": func(t *testing.T, path string) { _ = os.Truncate(path, 4096*4) },
		"foreign":   func(t *testing.T, path string) { exec(t, path, "PRAGMA application_id=7") },
		"newer":     func(t *testing.T, path string) { exec(t, path, "PRAGMA user_version=99") },
		"older":     func(t *testing.T, path string) { exec(t, path, "PRAGMA user_version=0") },
		"no tables": func(t *testing.T, path string) { exec(t, path, "DROP TABLE words; DROP TABLE held") },
		"others":    func(t *testing.T, path string) { exec(t, path, "DROP TABLE held; CREATE TABLE held(x)") },
		"a page":    func(t *testing.T, path string) { scribble(t, path, 4096) },
		"all pages": func(t *testing.T, path string) { scribble(t, path, 100) },
	} {
		t.Run(name, func(t *testing.T) {
			db, path := indexed(t)
			spoil(t, path)
			x := openIndex(t, path)
			commit(t, db, batch(idA, 2, user("thread")))
			catchUpWith(t, x, db)
			if got := having(t, x, `"needle"`); !slices.Equal(got, []int64{1<<32 | 1}) {
				t.Errorf("found %v", got)
			}
			if got := having(t, x, `"thread"`); !slices.Equal(got, []int64{1<<32 | 2}) {
				t.Errorf("found %v", got)
			}
			if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
		})
	}
}

// scribble writes nonsense from an offset to the end.
func scribble(t *testing.T, path string, from int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < len(b); i++ {
		b[i] = byte(i * 7)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReaderFollowsAnIndexMadeAnew(t *testing.T) {
	db, path := indexed(t)
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := having(t, r, `"needle"`); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	x := openIndex(t, path)
	for range 3 {
		if err := x.reconnect(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if got := having(t, r, `"needle"`); len(got) != 0 {
			t.Errorf("found %v in an empty index", got)
		}
		catchUpWith(t, x, db)
		if got := having(t, r, `"needle"`); len(got) != 1 {
			t.Errorf("found %v", got)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.view(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("without an index: %v", err)
	}
	if _, err := OpenReader(t.Context(), path); !errors.Is(err, ErrNone) {
		t.Errorf("without an index: %v", err)
	}
	y := openIndex(t, path)
	catchUpWith(t, y, db)
	if got := having(t, r, `"needle"`); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func TestReaderRefusesAnotherFormat(t *testing.T) {
	_, path := indexed(t)
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	exec(t, path, "PRAGMA user_version=99")
	if _, _, err := r.view(t.Context()); err == nil {
		t.Error("an open reader goes on with a format that it doesn't know")
	}
	if _, err := OpenReader(t.Context(), path); !errors.Is(err, ErrNone) {
		t.Errorf("another format: %v", err)
	}
}

func TestReaderWritesNothing(t *testing.T) {
	_, path := indexed(t)
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.read.ExecContext(t.Context(), "DELETE FROM held"); err == nil {
		t.Error("a reader may delete")
	}
}

func TestPauseIsBetweenTransactions(t *testing.T) {
	db := openCache(t)
	x := openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	commit(t, db, batch(idA, 1, user("one"), user("two"), user("three")))
	x.bounds.items = 1
	var behind []int64
	_, err := x.CatchUp(t.Context(), db, func(ctx context.Context) error {
		n, err := x.Behind(ctx, db)
		behind = append(behind, n)
		return err
	})
	if err != nil || !slices.Equal(behind[:2], []int64{2, 1}) {
		t.Errorf("behind %v at pauses, %v", behind, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.CatchUp(ctx, db, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFullDiskIsWorthAPause(t *testing.T) {
	db := openCache(t)
	var items []transcript.Item
	c := newCorpus(3)
	for range 300 {
		items = append(items, c.chunk(2000))
	}
	commit(t, db, batch(idA, 1, items...))
	x := openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	if _, err := x.db.ExecContext(t.Context(), "PRAGMA max_page_count=20"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.CatchUp(t.Context(), db, nil); !errors.Is(err, store.ErrFull) {
		t.Errorf("full: %v", err)
	}
	if n, err := x.Behind(t.Context(), db); err != nil || n != 300 {
		t.Errorf("behind %d, %v", n, err)
	}
	if _, err := x.db.ExecContext(t.Context(), "PRAGMA max_page_count=100000"); err != nil {
		t.Fatal(err)
	}
	catchUpWith(t, x, db)
	if n, err := x.Behind(t.Context(), db); err != nil || n != 0 {
		t.Errorf("behind %d, %v", n, err)
	}
}

func TestDamageThatNobodyMetIsFound(t *testing.T) {
	db := openCache(t)
	c := newCorpus(4)
	var items []transcript.Item
	for range 500 {
		items = append(items, c.chunk(2000))
	}
	commit(t, db, batch(idA, 1, items...))
	path := filepath.Join(t.TempDir(), "search.db")
	x := openIndex(t, path)
	catchUpWith(t, x, db)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	want := having(t, openIndexReader(t, path), `"`+roleName(transcript.RoleUser)+`"`)
	// The roots stay: what is opened and written to.
	scribble(t, path, 20*4096)
	x = openIndex(t, path)
	x.now = func() time.Time { return time.Now().Add(checkEvery + time.Hour) }
	catchUpWith(t, x, db)
	if got := having(t, x, `"`+roleName(transcript.RoleUser)+`"`); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d items, want %d", len(got), len(want))
	}
}

func openIndexReader(t *testing.T, path string) *Index {
	t.Helper()
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}
