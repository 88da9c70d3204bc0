package search

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/store"
)

// meant gives what an answer says, best first.
func meant(f Found) (out []string) {
	for _, h := range f.Hits {
		out = append(out, h.Message.Text)
	}
	return out
}

func TestFindByMeaning(t *testing.T) {
	db, x := openCache(t), openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	path := filepath.Join(t.TempDir(), "vectors.db")
	east := batch(idA, 1, user("go east"), user("go north"))
	other := batch(idB, 1, user("the sun rises there"), user("nothing of the kind"))
	other.Facts.Cwd = "/other"
	commit(t, db, east)
	commit(t, db, other)
	catchUpWith(t, x, db)
	v := openVectors(t, path)
	takeAll(t, v, db, "m", func(text string) []float32 {
		switch text {
		case "go east", "the sun rises there":
			return unit(1, 0.1)
		}
		return unit(0, 1)
	})
	r, err := OpenVectorsReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	find := func(rq Request) Found {
		t.Helper()
		f, err := x.Find(t.Context(), db, rq)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if got := meant(find(Request{Query: "east"})); !slices.Equal(got, []string{"go east"}) {
		t.Errorf("by words: %q", got)
	}
	f := find(Request{Query: "east", Vector: unit(1, 0), Model: "m", Vectors: r})
	if got := meant(f); len(got) < 2 || got[0] != "go east" || got[1] != "the sun rises there" || !slices.Contains(f.Hits[1].Lists, "meaning") {
		t.Errorf("by meaning: %q", got)
	}
	for name, rq := range map[string]Request{
		"workspace": {Workspace: "/w"}, "isolated": {Within: "/w"}, "thread": {Thread: idA}, "excluded": {Query: "east -sun"},
		"another model": {Model: "n"}, "another length": {Vector: unit(1, 0, 0)},
	} {
		if rq.Query == "" {
			rq.Query = "east"
		}
		if rq.Model == "" {
			rq.Model = "m"
		}
		if rq.Vector == nil {
			rq.Vector = unit(1, 0)
		}
		rq.Vectors = r
		if got := meant(find(rq)); slices.Contains(got, "the sun rises there") {
			t.Errorf("%s: %q", name, got)
		}
	}
	// What can't be had is noted, and words are asked all the same.
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := removeFiles(path); err != nil {
		t.Fatal(err)
	}
	f = find(Request{Query: "east", Vector: unit(1, 0), Model: "m", Vectors: r})
	if got := meant(f); !slices.Equal(got, []string{"go east"}) || !strings.Contains(strings.Join(f.Notes, "\n"), "by words only") {
		t.Errorf("without vectors: %q, notes %q", got, f.Notes)
	}
}

// With vectors nothing is lost that words found, whatever the vectors say.
func TestVectorsThatKnowNothingLoseNothing(t *testing.T) {
	db, x := openCache(t), openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	v := openVectors(t, filepath.Join(t.TempDir(), "vectors.db"))
	words := []string{"alpha", "beta", "gamma", "delta", "epsilon"}
	var b *store.Batch
	for i, id := range []string{idA, idB} {
		b = batch(id, 1)
		for j := range 40 {
			text := words[(i+j)%5] + " and " + words[(j/5)%5] + strings.Repeat(" filler", j%7)
			it := batch(id, int64(j+1), user(text))
			b.Delta.Items, b.Counts = append(b.Delta.Items, it.Delta.Items...), append(b.Counts, it.Counts...)
			b.Cursor = it.Cursor
		}
		commit(t, db, b)
	}
	catchUpWith(t, x, db)
	// Vectors that know nothing: by the text's length.
	takeAll(t, v, db, "m", func(text string) []float32 { return unit(float64(len(text)%3)-1, float64(len(text)%5)-2, 0.3) })
	for _, q := range []string{"alpha", "beta gamma", "delta epsilon filler"} {
		plain, err := x.Find(t.Context(), db, Request{Query: q, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		with, err := x.Find(t.Context(), db, Request{Query: q, Limit: 5, Vector: unit(1, -1, 1), Model: "m", Vectors: v})
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, h := range with.Hits {
			ids = append(ids, h.Message.ID)
		}
		for _, h := range plain.Hits {
			if !slices.Contains(ids, h.Message.ID) {
				t.Errorf("%q: %q is lost", q, h.Message.Text)
			}
		}
	}
}

func removeFiles(path string) (err error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if e := os.Remove(path + suffix); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
