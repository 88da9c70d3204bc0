package tokens

import (
	"encoding/binary"
	"math/bits"
)

// cache remembers how many tokens a piece has. It is bounded without
// bookkeeping, and it holds numbers only, so the garbage collector never looks
// into it. Where most pieces are found it is not larger than the processor's
// second-level cache bears.
//
// A piece has one place, which is looked at first, and may stand anywhere in the
// group of eight around it: so words that fall on one place do not drive each
// other out, and to look at the others costs little, as they are neighbours in
// memory. What is found there changes places with the first.
type cache struct {
	short []uint64    // pieces of 1-7 bytes
	mid   [][2]uint64 // 8-15 bytes
	wide  wide        // more, see wide.go
	turn  uint        // whose turn it is to go
}

const (
	shortBits  = 15 // 256 KB
	midBits    = 15 // 512 KB
	shortGroup = 8  // places in a group
	midGroup   = 8

	// The top byte of a key word holds the length and the count: bits 61-63
	// the length (of the word's part of the piece), bit 60 set, so that an
	// empty slot is no piece, and bits 56-59 the count.
	keyCount  = 56
	keyUsed   = 1 << 60
	keyLength = 61
	countMask = 0xf << keyCount
)

func newCache() cache {
	return cache{
		short: make([]uint64, 1<<shortBits),
		mid:   make([][2]uint64, 1<<midBits),
	}
}

// load8 returns the 8 bytes at i, zeros beyond the end of text.
func load8(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	word := uint64(0)
	for n := len(text) - 1; n >= i; n-- {
		word = word<<8 | uint64(text[n])
	}
	return word
}

// lowBytes keeps the first n < 8 bytes of a word.
func lowBytes(word uint64, n int) uint64 { return word & (1<<(uint(n)*8&63) - 1) }

// shortCache is the short part of a cache, of a size the compiler knows.
type shortCache [1 << shortBits]uint64

// shortKey is the key of a piece of 1-7 bytes that word starts with.
func shortKey(word uint64, n int) uint64 {
	return lowBytes(word, n) | uint64(n)<<keyLength | keyUsed
}

// shortSlot is where a piece with that key is remembered.
func shortSlot(key uint64) uint64 { return spread(key) >> (64 - shortBits) }

// countPiece counts the piece text[i:j]; what lies behind it may be read but
// has no part in the count.
func (c *Counter) countPiece(text []byte, i, j int) int {
	switch n := j - i; {
	case n < 8:
		return c.count8(text, i, j)
	case n < 16:
		return c.count16(text, i, j)
	}
	return c.countWide(text, i, j)
}

// count8 counts a piece of 1-7 bytes.
func (c *Counter) count8(text []byte, i, j int) int {
	key := shortKey(load8(text, i), j-i)
	if slot := (*shortCache)(c.cache.short)[shortSlot(key)]; (slot^key)&^countMask == 0 {
		return int(slot >> keyCount & 0xf)
	}
	return c.seek8(text, i, j)
}

// seek8 counts a piece of 1-7 bytes that is not at its first place.
func (c *Counter) seek8(text []byte, i, j int) int {
	key := shortKey(load8(text, i), j-i)
	at := shortSlot(key)
	group := (*[shortGroup]uint64)(c.cache.short[at&^(shortGroup-1):])
	at &= shortGroup - 1
	c.cache.turn++
	free := c.cache.turn % shortGroup
	for k, slot := range group {
		if (slot^key)&^countMask == 0 {
			group[k], group[at] = group[at], slot
			return int(slot >> keyCount & 0xf)
		}
		if slot == 0 {
			free = uint(k)
		}
	}
	count := c.merger.count(text[i:j])
	if group[at] != 0 {
		group[free] = group[at]
	}
	group[at] = key | uint64(count)<<keyCount
	return count
}

// count16 counts a piece of 8-15 bytes.
func (c *Counter) count16(text []byte, i, j int) int {
	n := j - i - 8
	low := load8(text, i)
	high := lowBytes(load8(text, i+8), n) | uint64(n)<<keyLength | keyUsed
	at := spread(low^bits.RotateLeft64(spread(high), 32)) >> (64 - midBits)
	slot := &c.cache.mid[at]
	if slot[0] == low && (slot[1]^high)&^countMask == 0 {
		return int(slot[1] >> keyCount & 0xf)
	}
	group := (*[midGroup][2]uint64)(c.cache.mid[at&^(midGroup-1):])
	c.cache.turn++
	free := &group[c.cache.turn%midGroup]
	for k := range group {
		other := &group[k]
		if other[0] == low && (other[1]^high)&^countMask == 0 {
			*slot, *other = *other, *slot
			return int(slot[1] >> keyCount & 0xf)
		}
		if other[1] == 0 {
			free = other
		}
	}
	count := c.merger.count(text[i:j])
	if slot[1] != 0 {
		*free = *slot
	}
	slot[0], slot[1] = low, high|uint64(count)<<keyCount
	return count
}
