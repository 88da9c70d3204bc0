package tokens

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWideKeys: what differs in one bit, in length or in the order of its words
// has another key, and another counter has other keys.
func TestWideKeys(t *testing.T) {
	var a, b wide
	a.start()
	b.start()
	seen := map[wideSlot]string{}
	add := func(piece []byte) {
		key := a.key(piece)
		if key[1]&wideMask != 0 {
			t.Fatalf("key of %q leaves no room for the tokens", piece)
		}
		if other, ok := seen[key]; ok && other != string(piece) {
			t.Fatalf("%q and %q have one key", piece, other)
		}
		if key == b.key(piece) {
			t.Fatalf("%q has one key in two counters", piece)
		}
		seen[key] = string(piece)
	}
	zeros := make([]byte, wideMax)
	r := rand.New(rand.NewPCG(1, 2))
	for n := 16; n <= wideMax; n += 7 {
		add(zeros[:n])
		piece := make([]byte, n)
		for i := range piece {
			piece[i] = byte(r.Uint32())
		}
		add(piece)
		for bit := range 8 * n {
			piece[bit/8] ^= 1 << (bit % 8)
			add(piece)
			piece[bit/8] ^= 1 << (bit % 8)
		}
		for k := 0; k+16 <= n; k += 8 {
			swapped := slices.Concat(piece[:k], piece[k+8:k+16], piece[k:k+8], piece[k+16:])
			add(swapped)
		}
	}
}

// TestWideIsBounded: more pieces than there is room for are counted as if there
// were no cache, before and after they drive each other out.
func TestWideIsBounded(t *testing.T) {
	c, err := New(O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	c.Count([]byte("x"))
	r := rand.New(rand.NewPCG(5, 6))
	pieces := make([][]byte, wideWays<<wideMost*3/2)
	for i := range pieces {
		piece := make([]rune, 6+r.IntN(3))
		for k := range piece {
			piece[k] = rune(0x4e00 + r.IntN(3000))
		}
		pieces[i] = []byte(string(piece))
	}
	for round := range 2 { // as new, then with the table full
		for i, piece := range pieces {
			if got, want := c.Count(piece), c.merger.count(piece); got != want {
				t.Fatalf("round %d: piece %d, %q = %d, want %d", round, i, piece, got, want)
			}
		}
	}
	if held := len(c.cache.wide.slots); held != 1<<wideMost {
		t.Errorf("%d groups are held, want %d", held, 1<<wideMost)
	}
}
