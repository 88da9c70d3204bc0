package tokens

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// wide is the part of a cache for pieces of 16 bytes or more: clauses of Chinese
// and Japanese, long names, rules. Most texts have few, some consist of them, so
// it grows with what it is given.
//
// A piece would take up to 240 bytes, and a cache that holds tens of thousands of
// them is so large that the processor waits for memory at each. So what stands
// here is not the piece but 120 bits of a hash that is drawn anew for each
// counter, and nothing else tells two pieces apart. That is enough: see key.
type wide struct {
	// slots has groups of wideWays, which is a line of the processor's cache; a
	// piece may stand anywhere in its group. The low byte of a slot's second
	// word has the tokens, 0 where the slot is empty.
	slots [][wideWays]wideSlot
	size  uint // 1<<size groups are there
	added int  // pieces put in since it grew
	draw  [wideMax / 8]uint64
}

type wideSlot [2]uint64

const (
	wideWays = 4
	// 1<<wideFew groups are the fewest, 16 KB, and 1<<wideMost the most, 4 MB.
	wideFew, wideMost = 8, 16
	// wideMax is the longest piece remembered, in bytes. It cannot have more
	// tokens than bytes, and a slot has 8 bits for them.
	wideMax  = 240
	wideMask = 1<<8 - 1
)

// countWide counts a piece of 16 bytes or more.
func (c *Counter) countWide(text []byte, i, j int) int {
	piece := text[i:j]
	if len(piece) > wideMax {
		return c.merger.count(piece)
	}
	t := &c.cache.wide
	if t.slots == nil {
		t.start()
	}
	key := t.key(piece)
	group := t.group(key)
	for k := range group {
		if slot := &group[k]; slot[0] == key[0] && (slot[1]^key[1])&^wideMask == 0 {
			return int(slot[1] & wideMask)
		}
	}
	count := c.merger.count(piece)
	c.cache.turn++
	t.put(group, wideSlot{key[0], key[1] | uint64(count)}, c.cache.turn)
	if t.added++; t.added > wideWays<<t.size/2 && t.size < wideMost {
		t.grow()
	}
	return count
}

// start makes the fewest slots and draws the hash.
func (t *wide) start() {
	t.slots, t.size = make([][wideWays]wideSlot, 1<<wideFew), wideFew
	for k := range t.draw {
		t.draw[k] = rand.Uint64() //nolint:gosec // seeded by the system; no secret hangs on it
	}
}

// key returns the hash of a piece of 16 to wideMax bytes, the low byte of the
// second word left free. It is NH (Black, Halevi, Krawczyk, Krovetz, Rogaway,
// "UMAC", 1999): words of the text and drawn ones are added, two sums multiplied,
// the products added up in 128 bits. Whatever two pieces are, of all draws less
// than one in 2^55 gives them one key: 2^-64 for all bits, and 8 are left out.
// For a wrong count they must also meet in one group. The last words overlap those
// before, so the length is hashed, too.
func (t *wide) key(piece []byte) wideSlot {
	n := len(piece)
	high, low := uint64(0), spread(uint64(n))
	for i := 0; i < n; i += 16 {
		two := piece[min(i, n-16):]
		drawn := t.draw[i/8 : i/8+2 : i/8+2]
		h, l := bits.Mul64(binary.LittleEndian.Uint64(two)+drawn[0], binary.LittleEndian.Uint64(two[8:])+drawn[1])
		sum, carry := bits.Add64(low, l, 0)
		low = sum
		high, _ = bits.Add64(high, h, carry)
	}
	return wideSlot{low, high &^ wideMask}
}

// group returns where a piece with that key may stand.
func (t *wide) group(key wideSlot) *[wideWays]wideSlot {
	return &t.slots[spread(key[0]^key[1]&^wideMask)>>(64-t.size)]
}

// put enters a slot in a group, in the place of another where there is no room.
func (t *wide) put(group *[wideWays]wideSlot, slot wideSlot, turn uint) {
	at := turn % wideWays
	for k := range group {
		if group[k][1]&wideMask == 0 {
			at = uint(k)
			break
		}
	}
	group[at] = slot
}

// grow makes room for more pieces.
func (t *wide) grow() {
	old := t.slots
	t.size, t.added = min(t.size+2, wideMost), 0
	t.slots = make([][wideWays]wideSlot, 1<<t.size)
	for g := range old {
		for k, slot := range old[g] {
			if slot[1]&wideMask != 0 {
				t.put(t.group(slot), slot, uint(k))
				t.added++
			}
		}
	}
}
