package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// dump gives all words of an index with the items that have them.
func dump(t testing.TB, x *Index) []string {
	t.Helper()
	if _, err := x.db.ExecContext(t.Context(), "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, instance)"); err != nil {
		t.Fatal(err)
	}
	rows, err := x.db.QueryContext(t.Context(), "SELECT term||' '||doc FROM vocabulary ORDER BY term, doc")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// world is a cache that things happen to, and an index that follows.
type world struct {
	t      *testing.T
	rnd    *rand.Rand
	dir    string
	db     *store.DB
	x      *Index
	copies []string
	did    []string
	// Files say the same to whoever reads them. They have versions: the newest
	// ones, those that a cache has read, those that each copy has.
	newest, read map[string]int
	copied       []map[string]int
}

func (w *world) id() string {
	return fmt.Sprintf("019a0000-0000-7000-8000-%012x", w.rnd.IntN(5))
}

// line is what stands in a version of a file.
func (w *world) line(id string, seq int64) transcript.Item {
	v := w.read[id]
	rnd := rand.New(rand.NewPCG(uint64(v), uint64(seq)))
	it := transcript.Item{Role: transcript.RoleUser + transcript.Role(rnd.IntN(7)), Text: fmt.Sprintf("%s said %dv%d w%d 数%d", id[30:], seq, v, rnd.IntN(20), v)}
	if it.Role == transcript.RoleToolCall {
		it.Name, it.Args, it.Text = "shell", it.Text, ""
	}
	return it
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		w.t.Fatal(err, w.did)
	}
}

// ingest reads on in a file; anew if the cache has read another version.
func (w *world) ingest(id string, how func(*store.Batch)) {
	cp, err := w.db.Rollout(w.t.Context(), id)
	w.check(err)
	b := batch(id, 1)
	how(b)
	first := cp.LastSeq - cp.GenerationSeq + 1
	if b.Rederive || b.NewGeneration {
		w.newest[id]++
	}
	if w.read[id] != w.newest[id] {
		first = 1
		b.NewGeneration = !b.Rederive
		w.read[id] = w.newest[id]
	}
	var items []transcript.Item
	for i := range 1 + w.rnd.Int64N(6) {
		items = append(items, w.line(id, first+i))
	}
	c := batch(id, first, items...)
	c.Rederive, c.NewGeneration = b.Rederive, b.NewGeneration
	w.check(w.db.Commit(w.t.Context(), c))
}

func (w *world) reopen(path string) {
	w.check(w.db.Close())
	db, err := store.Open(w.t.Context(), path)
	w.check(err)
	w.db = db
}

// damage changes an item behind the cache's back.
func (w *world) damage(id int64) {
	raw, err := sql.Open("sqlite3", w.db.Path()+"?_busy_timeout=5000")
	w.check(err)
	_, err = raw.ExecContext(w.t.Context(), "UPDATE item SET text='damaged' WHERE id=?", id)
	w.check(errors.Join(err, raw.Close()))
}

// happen does one thing to the cache: one of the first few leaves it open.
func (w *world) happen(few int) {
	t := w.t
	switch k := w.rnd.IntN(few) - 4; k {
	default:
		w.did = append(w.did, "append")
		w.ingest(w.id(), func(*store.Batch) {})
	case 0, 1:
		w.did = append(w.did, "derive again")
		w.ingest(w.id(), func(b *store.Batch) { b.Rederive = true })
	case 2, 3:
		w.did = append(w.did, "rewrite")
		w.ingest(w.id(), func(b *store.Batch) { b.NewGeneration = true })
	case 4:
		w.did = append(w.did, "damage and mend")
		id := w.id()
		cp, err := w.db.Rollout(t.Context(), id)
		w.check(err)
		w.damage(cp.Row<<32 | cp.GenerationSeq + 1 + w.rnd.Int64N(8))
		if few > 11 {
			w.catchUp()
		}
		w.check(w.db.Mend(t.Context(), id))
		if few > 11 {
			// A copy from before the damage has the mark that the damaged cache had.
			catchUpWith(t, w.x, w.db)
		}
	case 5:
		w.did = append(w.did, "drop")
		cp, err := w.db.Rollout(t.Context(), w.id())
		w.check(err)
		w.check(w.db.Drop(t.Context(), cp.Row))
	case 6, 10, 11:
		w.did = append(w.did, "copy")
		w.check(w.db.Checkpoint(t.Context()))
		b, err := os.ReadFile(w.db.Path())
		w.check(err)
		to := filepath.Join(w.dir, fmt.Sprintf("copy-%d.db", len(w.copies)))
		w.check(os.WriteFile(to, b, 0o600))
		w.copies, w.copied = append(w.copies, to), append(w.copied, maps.Clone(w.read))
	case 7, 12, 13:
		if len(w.copies) > 0 {
			w.did = append(w.did, "put a copy back")
			k := w.rnd.IntN(len(w.copies))
			b, err := os.ReadFile(w.copies[k])
			w.check(err)
			w.read = maps.Clone(w.copied[k])
			to := filepath.Join(w.dir, fmt.Sprintf("again-%d.db", len(w.did)))
			w.check(os.WriteFile(to, b, 0o600))
			w.reopen(to)
		}
	case 8:
		w.did = append(w.did, "make the cache anew")
		clear(w.read)
		w.reopen(filepath.Join(w.dir, fmt.Sprintf("new-%d.db", len(w.did))))
	case 9:
		if len(w.copies) > 0 {
			w.did = append(w.did, "rescue")
			_, err := w.db.Rescue(t.Context(), w.copies[w.rnd.IntN(len(w.copies))])
			w.check(err)
		}
	}
}

// catchUp lets the index follow, maybe not to the end.
func (w *world) catchUp() {
	errStop := errors.New("stop")
	left := w.rnd.IntN(8)
	_, err := w.x.CatchUp(w.t.Context(), w.db, func(context.Context) error {
		if left--; left < 0 {
			return errStop
		}
		if w.rnd.IntN(3) == 0 {
			w.happen(11) // meanwhile
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		w.t.Fatal(err, w.did)
	}
	w.did = append(w.did, "CatchUp")
	if w.rnd.IntN(3) == 0 {
		w.check(w.x.Close())
		w.x = openIndex(w.t, w.x.path)
		w.bound()
	}
}

func (w *world) bound() {
	w.x.bounds = bounds{bytes: 60, items: 3, deletes: 3, time: time.Hour}
}

// covered proves that the index has what it says that it has.
func (w *world) covered() {
	tx, release, err := w.x.view(w.t.Context())
	w.check(err)
	after := map[int64]int64{}
	err = w.x.gaps(w.t.Context(), tx, w.db, func(row, a, _ int64) { after[row] = a })
	release()
	w.check(err)
	there := map[int64]bool{}
	for _, line := range dump(w.t, w.x) {
		if word, id, _ := strings.Cut(line, " "); strings.HasPrefix(word, roleWord) {
			var n int64
			_, _ = fmt.Sscan(id, &n)
			there[n] = true
		}
	}
	var all []int64
	w.check(w.db.Marks(w.t.Context(), func(row, _, _ int64) { all = append(all, row) }))
	for _, row := range all {
		ms, _, _, err := w.db.Items(w.t.Context(), row, 0, 1<<30, 1<<30)
		w.check(err)
		for _, m := range ms {
			a, gap := after[row]
			if m.Role != transcript.RoleReasoning && (!gap || m.Seq <= a) && !there[m.ID] {
				w.t.Fatalf("item %d of rollout %d isn't there, and not behind %d: %v", m.Seq, row, a, w.did)
			}
		}
	}
}

// without gives what is in one and not in the other.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func TestIndexIsAsIfMadeFromScratch(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	seed, words := uint64(time.Now().UnixNano()), 0
	for i := range rounds {
		t.Run(fmt.Sprint(seed+uint64(i)), func(t *testing.T) {
			dir := t.TempDir()
			w := &world{t: t, rnd: rand.New(rand.NewPCG(seed+uint64(i), 0)), dir: dir, newest: map[string]int{}, read: map[string]int{}}
			db, err := store.Open(t.Context(), filepath.Join(dir, "cache.db"))
			w.check(err)
			w.db = db
			t.Cleanup(func() { _ = w.db.Close() })
			w.x = openIndex(t, filepath.Join(dir, "search.db"))
			w.bound()
			for range 40 {
				w.happen(24)
				if w.rnd.IntN(3) == 0 {
					w.catchUp()
					w.covered()
				}
			}
			w.ingest(w.id(), func(*store.Batch) {})
			catchUpWith(t, w.x, w.db)
			fresh := openIndex(t, filepath.Join(dir, "fresh.db"))
			catchUpWith(t, fresh, w.db)
			got, want := dump(t, w.x), dump(t, fresh)
			words += len(want) // a round may end with none
			if !slices.Equal(got, want) {
				t.Errorf("%d words in items, want %d; too many %q, missing %q; after %v", len(got), len(want), without(got, want), without(want, got), w.did)
			}
			if n, err := w.x.Behind(t.Context(), w.db); err != nil || n != 0 {
				t.Errorf("behind %d, %v", n, err)
			}
			// What is ranked by needs as many rows.
			var a, b int
			w.check(w.x.db.QueryRowContext(t.Context(), "SELECT count(*) FROM words_docsize").Scan(&a))
			w.check(fresh.db.QueryRowContext(t.Context(), "SELECT count(*) FROM words_docsize").Scan(&b))
			if a != b {
				t.Errorf("%d items, want %d", a, b)
			}
		})
	}
	if words == 0 {
		t.Error("no round left a word")
	}
}
