package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func openVectors(t testing.TB, path string) *Vectors {
	t.Helper()
	v, err := OpenVectors(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func unit(vs ...float64) []float32 {
	sum := 0.0
	for _, v := range vs {
		sum += v * v
	}
	out := make([]float32, len(vs))
	for i, v := range vs {
		out[i] = float32(v / math.Sqrt(sum))
	}
	return out
}

func hashOf(s string) transcript.Hash {
	return (&transcript.Item{Role: transcript.RoleUser, Text: s}).BodyHash()
}

// takeAll puts a vector for each item that is missing, made of its text.
func takeAll(t testing.TB, v *Vectors, db *store.DB, model string, vector func(text string) []float32) (items int) {
	t.Helper()
	missing, err := v.Missing(t.Context(), db, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range missing {
		ms, through, mark, err := db.Items(t.Context(), h.Row, h.Through, 1<<20, 1000)
		if err != nil {
			t.Fatal(err)
		}
		taken, vectors := Taken{Holding: Holding{h.Row, mark, through}}, map[transcript.Hash][]float32{}
		for _, m := range ms {
			vectors[hashOf(m.Text)] = vector(m.Text)
			taken.Items = append(taken.Items, Item{m.ID, []transcript.Hash{hashOf(m.Text)}})
			items++
		}
		if err := v.Put(t.Context(), model, vectors, []Taken{taken}); err != nil {
			t.Fatal(err)
		}
	}
	return items
}

func byText(text string) []float32 {
	return map[string][]float32{"east": unit(1, 0, 0), "north": unit(0, 1, 0), "north east": unit(1, 1, 0), "up": unit(0, 0, 1), "west": unit(-1, 0.1, 0)}[text]
}

func nearestTo(t testing.TB, v *Vectors, model string, to []float32, within func(int64) bool, limit int) []int64 {
	t.Helper()
	ids, err := v.Nearest(t.Context(), model, to, within, limit)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestNearestInMeaning(t *testing.T) {
	db, path := openCache(t), filepath.Join(t.TempDir(), "data", "vectors.db")
	commit(t, db, batch(idA, 1, user("east"), user("north"), user("north east")))
	commit(t, db, batch(idB, 1, user("up"), user("west")))
	if _, err := OpenVectorsReader(t.Context(), path); !errors.Is(err, ErrNone) {
		t.Errorf("no file: %v", err)
	}
	v := openVectors(t, path)
	if n := takeAll(t, v, db, "m", byText); n != 5 {
		t.Fatalf("%d items were missing", n)
	}
	if n := takeAll(t, v, db, "m", byText); n != 0 {
		t.Errorf("%d items are missing still", n)
	}
	r, err := OpenVectorsReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, b := int64(1)<<32, int64(2)<<32
	for name, tt := range map[string]struct {
		model  string
		to     []float32
		within func(int64) bool
		limit  int
		want   []int64
	}{
		"all":            {"m", unit(1, 0.2, 0), nil, 10, []int64{a | 1, a | 3, a | 2, b | 1, b | 2}},
		"few":            {"m", unit(0, 1, 0), nil, 2, []int64{a | 2, a | 3}},
		"within":         {"m", unit(1, 0.2, 0), func(row int64) bool { return row == 2 }, 10, []int64{b | 1, b | 2}},
		"another model":  {"n", unit(1, 0, 0), nil, 10, []int64{}},
		"another length": {"m", unit(1, 0), nil, 10, []int64{}},
		"nothing":        {"m", nil, nil, 10, []int64{}},
	} {
		if got := nearestTo(t, r, tt.model, tt.to, tt.within, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %x, want %x", name, got, tt.want)
		}
	}
	// What is new is read, and what was taken away is gone, also for a reader.
	commit(t, db, batch(idA, 4, user("east")))
	if n := takeAll(t, v, db, "m", byText); n != 1 {
		t.Errorf("%d items are new", n)
	}
	if got := nearestTo(t, r, "m", unit(1, 0, 0), nil, 2); !slices.Equal(got, []int64{a | 4, a | 1}) {
		t.Errorf("with a new one: %x", got)
	}
	if err := db.Mend(t.Context(), idA); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Missing(t.Context(), db, "m"); err != nil {
		t.Fatal(err)
	}
	if got := nearestTo(t, r, "m", unit(1, 0, 0), nil, 9); !slices.Equal(got, []int64{b | 1, b | 2}) {
		t.Errorf("after a rollout was taken away: %x", got)
	}
	// Vectors stay until nothing is missing: what comes back is not asked again.
	known, err := v.Known(t.Context(), "m", []transcript.Hash{hashOf("east"), hashOf("south")})
	if err != nil || !known[hashOf("east")] || known[hashOf("south")] {
		t.Errorf("known %v, %v", known, err)
	}
	if n, err := v.Sweep(t.Context(), "m"); err != nil || n != 3 {
		t.Errorf("swept %d, %v", n, err)
	}
	if known, err := v.Known(t.Context(), "m", []transcript.Hash{hashOf("east"), hashOf("up")}); err != nil || known[hashOf("east")] || !known[hashOf("up")] {
		t.Errorf("known after the sweep %v, %v", known, err)
	}
}

func TestAModelThatIsAnotherByNowStartsAnew(t *testing.T) {
	db, v := openCache(t), openVectors(t, filepath.Join(t.TempDir(), "vectors.db"))
	commit(t, db, batch(idA, 1, user("east"), user("north")))
	takeAll(t, v, db, "m", byText)
	err := v.Put(t.Context(), "m", map[transcript.Hash][]float32{hashOf("x"): unit(1, 2)}, nil)
	if err == nil {
		t.Fatal("vectors of another length were taken in")
	}
	if n := takeAll(t, v, db, "m", func(string) []float32 { return unit(3, 4) }); n != 2 {
		t.Errorf("%d items are made anew", n)
	}
	if got := nearestTo(t, v, "m", unit(1, 1), nil, 5); len(got) != 2 {
		t.Errorf("nearest %x", got)
	}
	takeAll(t, v, db, "n", byText)
	if n, err := v.Sweep(t.Context(), "n"); err != nil || n == 0 {
		t.Errorf("swept %d, %v", n, err)
	}
	if got := nearestTo(t, v, "m", unit(1, 1), nil, 5); len(got) != 0 {
		t.Errorf("the other model has %x still", got)
	}
}

func TestAPassageThatAModelCantTakeIsNotAskedAgain(t *testing.T) {
	db, v := openCache(t), openVectors(t, filepath.Join(t.TempDir(), "vectors.db"))
	commit(t, db, batch(idA, 1, user("odd"), user("north")))
	takeAll(t, v, db, "m", byText)
	if known, err := v.Known(t.Context(), "m", []transcript.Hash{hashOf("odd")}); err != nil || !known[hashOf("odd")] {
		t.Errorf("known %v, %v", known, err)
	}
	if _, err := v.Sweep(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if known, _ := v.Known(t.Context(), "m", []transcript.Hash{hashOf("odd")}); !known[hashOf("odd")] {
		t.Error("forgotten by a sweep")
	}
	if got := nearestTo(t, v, "m", unit(1, 1, 1), nil, 5); !slices.Equal(got, []int64{1<<32 | 2}) {
		t.Errorf("nearest %x", got)
	}
}

func TestDamagedVectorsAreMadeAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.db")
	if err := os.WriteFile(path, []byte("no database, but longer than its header: "+string(make([]byte, 200))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenVectorsReader(t.Context(), path); !errors.Is(err, ErrNone) {
		t.Errorf("a reader got %v", err)
	}
	v := openVectors(t, path)
	if n, err := v.Count(t.Context(), "m"); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	r, err := OpenVectorsReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + s)
	}
	if _, err := r.Nearest(t.Context(), "m", unit(1), nil, 1); !errors.Is(err, ErrNone) {
		t.Errorf("after the file went: %v", err)
	}
	v = openVectors(t, path) // another one
	if err := v.Put(t.Context(), "m", map[transcript.Hash][]float32{hashOf("x"): unit(1)}, []Taken{{Holding{7, 1, 1}, []Item{{7<<32 | 1, []transcript.Hash{hashOf("x")}}}}}); err != nil {
		t.Fatal(err)
	}
	if got := nearestTo(t, r, "m", unit(1), nil, 1); !slices.Equal(got, []int64{7<<32 | 1}) {
		t.Errorf("from the other file: %x", got)
	}
}

// Damage on a page in the middle is seen when the file is opened to be written.
func TestDamageWithinVectorsIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.db")
	v := openVectors(t, path)
	_, all := randomMatrix(500, 64)
	vectors, taken := map[transcript.Hash][]float32{}, Taken{Holding: Holding{1, 1, 500}}
	for i := range all {
		h := hashOf(fmt.Sprint(i))
		vectors[h] = all[i]
		taken.Items = append(taken.Items, Item{1<<32 | int64(i+1), []transcript.Hash{h}})
	}
	if err := v.Put(t.Context(), "m", vectors, []Taken{taken}); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil { // the last one to close moves the WAL in
		t.Fatal(err)
	}
	if n, err := openVectors(t, path).Count(t.Context(), "m"); err != nil || n != 500 {
		t.Fatalf("%d, %v", n, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 3; i < len(text)*2/3; i++ {
		text[i] = 0xa5
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := openVectors(t, path).Count(t.Context(), "m"); err != nil || n != 0 {
		t.Errorf("%d, %v: damage was not seen", n, err)
	}
}

// randomMatrix has vectors of n passages, two an item, a hundred items a rollout.
func randomMatrix(n, dims int) (*matrix, [][]float32) {
	rnd := rand.New(rand.NewPCG(1, 2))
	m, all := &matrix{dims: dims}, make([][]float32, n)
	for i := range n {
		v := make([]float64, dims)
		for j := range v {
			v[j] = rnd.NormFloat64()
		}
		all[i] = unit(v...)
		scale, data := quantise(all[i])
		m.items, m.scales = append(m.items, int64(i/200)<<32|int64(i/2%100)), append(m.scales, scale)
		for _, b := range data {
			m.data = append(m.data, int8(b))
		}
	}
	return m, all
}

// The bytes find what the numbers they were made of find.
func TestQuantisedIsNearEnough(t *testing.T) {
	m, all := randomMatrix(3000, 96)
	hits := 0
	for q := range 50 {
		to := all[q*7]
		best := map[int64]float32{}
		for i, v := range all {
			s := float32(0)
			for j := range v {
				s += v[j] * to[j]
			}
			if had, ok := best[m.items[i]]; !ok || s > had {
				best[m.items[i]] = s
			}
		}
		got := m.nearest(to, nil, 10)
		if len(got) != 10 || got[0] != m.items[q*7] {
			t.Fatalf("%d: %x, want %x first", q, got, m.items[q*7])
		}
		for _, n := range top(best, 10) {
			if slices.Contains(got, n.item) {
				hits++
			}
		}
	}
	if hits < 50*10*95/100 {
		t.Errorf("%d of 500 of the nearest were found", hits)
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, dims := range []int{256, 768} {
		b.Run(fmt.Sprintf("100k x %d", dims), func(b *testing.B) {
			m, all := randomMatrix(100_000, dims)
			b.ReportAllocs()
			for b.Loop() {
				m.nearest(all[17], nil, 100)
			}
		})
	}
}

func BenchmarkLoadVectors(b *testing.B) {
	v := openVectors(b, filepath.Join(b.TempDir(), "vectors.db"))
	_, all := randomMatrix(100_000, 256)
	ctx := context.Background()
	for at := 0; at < len(all); at += 1000 {
		vectors, taken := map[transcript.Hash][]float32{}, Taken{Holding: Holding{int64(at/1000 + 1), 1, 1000}}
		for i := at; i < at+1000; i++ {
			h := hashOf(fmt.Sprint(i))
			vectors[h] = all[i]
			taken.Items = append(taken.Items, Item{int64(at/1000+1)<<32 | int64(i-at), []transcript.Hash{h}})
		}
		if err := v.Put(ctx, "m", vectors, []Taken{taken}); err != nil {
			b.Fatal(err)
		}
	}
	st, err := os.Stat(v.path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v.loaded = nil
		if err := v.load(ctx, "m"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(st.Size()), "file-bytes")
}
