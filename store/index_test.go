package store_test

import (
	"database/sql"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// mark gives what an index is told of the only rollout.
func mark(t *testing.T, db *store.DB) (row, mark, last int64) {
	t.Helper()
	n := 0
	if err := db.Marks(t.Context(), func(r, m, l int64) { row, mark, last, n = r, m, l, n+1 }); err != nil || n != 1 {
		t.Fatalf("%d rollouts, %v", n, err)
	}
	return row, mark, last
}

func TestMarkTellsWhetherNumbersStillHold(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
	row, first, last := mark(t, db)
	if first == 0 || last != 2 {
		t.Errorf("mark %d, last item %d", first, last)
	}
	for _, step := range []struct {
		name  string
		do    func()
		other bool
		last  int64
	}{
		{"append", func() { commit(t, db, script(parentID, parentID, 3, "u:three")) }, false, 3},
		{"touch", func() {
			if err := db.Touch(t.Context(), script(parentID, parentID, 1).File, store.FileOK, "", nil); err != nil {
				t.Fatal(err)
			}
		}, false, 3},
		{"derive again", func() {
			b := script(parentID, parentID, 1, "u:uno", "a:dos")
			b.Rederive = true
			commit(t, db, b)
		}, true, 2},
		{"rewrite", func() {
			b := script(parentID, parentID, 1, "u:new")
			b.NewGeneration = true
			commit(t, db, b)
		}, true, 3},
		{"prove what is right", func() { recount(t, db, 0) }, false, 3},
		{"prove what is damaged", func() { damage(t, db, row<<32|1); recount(t, db, 1) }, true, 3},
		{"mend", func() {
			if err := db.Mend(t.Context(), parentID); err != nil {
				t.Fatal(err)
			}
		}, true, 2},
		{"drop, and take in anew", func() {
			if err := db.Drop(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
		}, true, 2},
	} {
		_, before, _ := mark(t, db)
		step.do()
		_, after, last := mark(t, db)
		if (before != after) != step.other || last != step.last {
			t.Errorf("%s: mark %d after %d, last item %d", step.name, after, before, last)
		}
	}
}

// damage changes an item behind the cache's back.
func damage(t *testing.T, db *store.DB, id int64) {
	t.Helper()
	raw, err := sql.Open("sqlite3", "file:"+db.Path())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "UPDATE item SET text='damaged' WHERE id=?", id); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
}

func recount(t *testing.T, db *store.DB, want int) {
	t.Helper()
	_, lost, err := db.Recount(t.Context(), parentID, func(it *transcript.Item) store.ItemCount {
		n := len(it.Body())
		return store.ItemCount{O200k: n, Cl100k: 2 * n, Shrunk: n, Hash: it.BodyHash()}
	})
	if err != nil || lost != want {
		t.Fatalf("%d lost, want %d: %v", lost, want, err)
	}
}

func TestItemsAreGivenInParts(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "c:two", "r:three", "a:four"))
	row, want, _ := mark(t, db)
	var said string
	for after, n := int64(0), 0; after < 4; n++ {
		ms, through, mark, err := db.Items(t.Context(), row, after, 6, 3)
		if err != nil || mark != want || through <= after || n > 4 {
			t.Fatalf("through %d after %d, mark %d, %v", through, after, mark, err)
		}
		for _, m := range ms {
			said += m.Body() + " "
		}
		said += "| "
		after = through
	}
	if said != "one two | three four | " {
		t.Errorf("said %q", said)
	}
	if _, _, _, err := db.Items(t.Context(), 99, 0, 1, 1); err == nil {
		t.Error("items of a rollout that isn't there")
	}
}
