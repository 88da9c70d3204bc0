package search

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func openCache(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "data", "session-migrator.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openIndex(t testing.TB, path string) *Index {
	t.Helper()
	x, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// batch is what a rollout says from item number first on.
func batch(id string, first int64, items ...transcript.Item) *store.Batch {
	b := &store.Batch{
		File:  store.File{RolloutID: id, ThreadID: id, Stamp: "2026-09-01T09-00-00", Home: "/h", Path: "/h/sessions/" + id, Form: store.FormPlain},
		State: store.FileOK, Delta: &transcript.Delta{},
		Facts: transcript.Facts{ThreadID: id, Cwd: "/w", Model: "m", Updated: time.Unix(1_700_000_000+first, 0).UTC()},
	}
	for i, it := range items {
		it.Seq = first + int64(i)
		it.Ordinal, it.Offset, it.Size, it.Key = it.Seq, it.Seq*100, 100, uint64(it.Seq)
		b.Delta.Items = append(b.Delta.Items, it)
		b.Counts = append(b.Counts, store.ItemCount{Hash: it.BodyHash()})
	}
	b.Cursor = store.Cursor{Offset: (first + int64(len(items))) * 100, Line: first}
	return b
}

func user(text string) transcript.Item { return transcript.Item{Role: transcript.RoleUser, Text: text} }

func commit(t testing.TB, db *store.DB, b *store.Batch) {
	t.Helper()
	if err := db.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func catchUpWith(t testing.TB, x *Index, db *store.DB) Progress {
	t.Helper()
	p, err := x.CatchUp(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// having gives the items that the index has for an expression of FTS5.
func having(t testing.TB, x *Index, match string) (ids []int64) {
	t.Helper()
	tx, release, err := x.view(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	rows, err := tx.QueryContext(t.Context(), "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid", match)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

const (
	idA = "019a0000-0000-7000-8000-00000000000a"
	idB = "019a0000-0000-7000-8000-00000000000b"
)

func TestCatchUpTakesInWhatIsNew(t *testing.T) {
	db := openCache(t)
	x := openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	commit(t, db, batch(idA, 1, user("fix getUserName in the 数据库"), user("two"), transcript.Item{Role: transcript.RoleReasoning, Text: "thinking"}))
	if n, err := x.Behind(t.Context(), db); err != nil || n != 3 {
		t.Errorf("behind %d, %v", n, err)
	}
	if p := catchUpWith(t, x, db); p.Items != 2 {
		t.Errorf("took in %+v", p)
	}
	for match, want := range map[string][]int64{
		`"username"`: nil, `"getusername"`: {1<<32 | 1}, `"user"`: {1<<32 | 1}, `"数据"`: {1<<32 | 1}, `"库"`: {1<<32 | 1}, `"据"*`: {1<<32 | 1}, `"two"`: {1<<32 | 2}, `"thinking"`: nil,
		`"` + roleName(transcript.RoleUser) + `"`: {1<<32 | 1, 1<<32 | 2},
	} {
		if got := having(t, x, match); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", match, got, want)
		}
	}
	commit(t, db, batch(idA, 4, user("four")))
	commit(t, db, batch(idB, 1, user("other")))
	if p := catchUpWith(t, x, db); p.Items != 2 {
		t.Errorf("took in %+v", p)
	}
	if got := having(t, x, `"four"`); !slices.Equal(got, []int64{1<<32 | 4}) {
		t.Errorf("four: %v", got)
	}
	if n, err := x.Behind(t.Context(), db); err != nil || n != 0 {
		t.Errorf("behind %d, %v", n, err)
	}
}
