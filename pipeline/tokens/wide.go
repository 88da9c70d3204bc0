package tokens

import (
	"encoding/binary"
	"math/bits"
)

// wide is the part of a cache for pieces of 16 bytes or more: clauses of Chinese
// and Japanese, long names, rules. Most texts have few, some consist of them, so
// it grows with what it is given. A slot of so many words has the piece,
// see wideKey, and in the last word
//
//	bits 32-63  of the piece's hash
//	bits 16-31  its tokens
//	bits  0-15  its length
//
// A piece has a slot and stands there or in one of its neighbours.
type wide struct {
	slots []uint64
	width int  // words of a slot
	size  uint // 1<<size slots are there
	most  uint // 1<<most slots are the most
	added int  // pieces put in since it grew
}

const (
	wideWays = 8 // slots a piece may stand in
	wideFew  = 8 // 1<<wideFew slots are the fewest
	// wideMax is the longest piece remembered: all words of the largest slot
	// but the last.
	wideMax  = 15 * 8
	wideSame = ^uint64(0xffff << wideCount)

	wideCount = 16
)

// countWide counts a piece of 16 bytes or more.
func (c *Counter) countWide(text []byte, i, j int) int {
	piece := text[i:j]
	if len(piece) > wideMax {
		return c.merger.count(piece)
	}
	t := &c.cache.wide[0]
	if len(piece) > 24 {
		t = &c.cache.wide[1]
		if len(piece) > 56 {
			t = &c.cache.wide[2]
		}
	}
	if t.slots == nil {
		t.grow(wideFew)
	}
	var key [wideMax / 8]uint64
	words, tag := key[:t.width-1], wideKey(&key, piece, t.width-1)
	slot := t.slot(tag, 0)
	last := len(slot) - 1
	if (slot[last]^tag)&wideSame == 0 && same(slot, words) {
		return int(slot[last] >> wideCount & 0xffff)
	}
	c.cache.turn++
	free := t.slot(tag, int(c.cache.turn%wideWays))
	for way := 1; way < wideWays; way++ {
		other := t.slot(tag, way)
		if (other[last]^tag)&wideSame == 0 && same(other, words) {
			for k := range slot {
				slot[k], other[k] = other[k], slot[k]
			}
			return int(slot[last] >> wideCount & 0xffff)
		}
		if other[last] == 0 {
			free = other
		}
	}
	count := c.merger.count(piece)
	if slot[last] != 0 {
		copy(free, slot)
	}
	copy(slot, words)
	slot[last] = tag | uint64(count)<<wideCount
	if t.added++; t.added > 1<<t.size/2 && t.size < t.most {
		t.grow(t.size + 1)
	}
	return count
}

// wideKey fills the first words of a key and returns its tag. As many are filled
// whatever the length of the piece, so that this is not to be foreseen: the last
// ones overlap. Nor does a word's part in the hash wait for another's.
func wideKey(key *[wideMax / 8]uint64, piece []byte, words int) (tag uint64) {
	hash := uint64(len(piece))
	for k := range words {
		word := binary.LittleEndian.Uint64(piece[min(8*k, len(piece)-8):])
		key[k] = word
		hash ^= bits.RotateLeft64(spread(word), 7*k)
	}
	return spread(hash^hash>>32)&^0xffffffff | uint64(len(piece))
}

// slot returns one of the slots of a piece with that tag, 0 for the first.
func (t *wide) slot(tag uint64, way int) []uint64 {
	at := (int(tag>>(64-t.size)) ^ way) * t.width
	return t.slots[at : at+t.width : at+t.width]
}

// same says whether a slot starts with the words.
func same(slot, words []uint64) bool {
	slot = slot[:len(words)]
	differ := uint64(0)
	for k, word := range words {
		differ |= slot[k] ^ word
	}
	return differ == 0
}

// grow makes room for 1<<size pieces.
func (t *wide) grow(size uint) {
	old := t.slots
	t.slots, t.size, t.added = make([]uint64, t.width<<size), size, 0
	for ; len(old) > 0; old = old[t.width:] {
		if tag := old[t.width-1]; tag != 0 {
			way := 0
			for way < wideWays-1 && t.slot(tag, way)[t.width-1] != 0 {
				way++
			}
			copy(t.slot(tag, way), old[:t.width])
			t.added++
		}
	}
}
