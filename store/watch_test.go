package store_test

import (
	"testing"

	"github.com/session-migrator/session-migrator/store"
)

func TestDataVersionTellsOfCommitsOfOthers(t *testing.T) {
	db, path := open(t)
	if err := db.Commit(t.Context(), script(parentID, parentID, 1, "u:one")); err != nil {
		t.Fatal(err)
	}
	r, err := store.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	version := func() int64 {
		t.Helper()
		v, err := r.DataVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := version()
	for range 3 {
		if _, _, err := r.Threads(t.Context(), store.Filter{}); err != nil {
			t.Fatal(err)
		}
		if v := version(); v != first {
			t.Errorf("version %d without a commit, before %d", v, first)
		}
	}
	for n := int64(2); n < 5; n++ {
		if err := db.SetMeta(t.Context(), "x", string(rune('a'+n))); err != nil {
			t.Fatal(err)
		}
		v := version()
		if v == first {
			t.Errorf("version %d after commit %d, as before", v, n)
		}
		first = v
	}
}

func BenchmarkDataVersion(b *testing.B) {
	path := b.TempDir() + "/x.db"
	db, err := store.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := db.DataVersion(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
