package tokens

import "encoding/binary"

// cache remembers how many tokens a piece has. It is of fixed size, so it is
// bounded without bookkeeping, and it holds numbers only, so the garbage
// collector never looks into it. Larger would not be faster: what falls out of
// it is a word seen long ago, what falls out of the processor's second-level
// cache is everything.
//
// A piece has two places, neighbours in memory. It is looked for and put in the
// first, and what is there goes to the second: so a rare word that falls on
// the place of a frequent one does not drive it out.
type cache struct {
	short []uint64    // pieces of 1-7 bytes
	mid   [][2]uint64 // 8-15 bytes
	long  [][8]uint64 // 16-56 bytes
}

const (
	shortBits = 15 // 256 KB
	midBits   = 15 // 512 KB
	longBits  = 14 // 1 MB

	// longMax is the longest piece remembered: seven words beside the tag.
	longMax = 56

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
		long:  make([][8]uint64, 1<<longBits),
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
	return c.countMore(text, i, j)
}

// count8 counts a piece of 1-7 bytes.
func (c *Counter) count8(text []byte, i, j int) int {
	key := shortKey(load8(text, i), j-i)
	at := shortSlot(key)
	slot, second := &c.cache.short[at], &c.cache.short[at^1]
	if (*slot^key)&^countMask == 0 {
		return int(*slot >> keyCount & 0xf)
	}
	if (*second^key)&^countMask == 0 {
		*slot, *second = *second, *slot
		return int(*slot >> keyCount & 0xf)
	}
	count := c.merger.count(text[i:j])
	*slot, *second = key|uint64(count)<<keyCount, *slot
	return count
}

// count16 counts a piece of 8-15 bytes.
func (c *Counter) count16(text []byte, i, j int) int {
	n := j - i - 8
	low := load8(text, i)
	high := lowBytes(load8(text, i+8), n) | uint64(n)<<keyLength | keyUsed
	at := spread(low^high*0xd6e8feb86659fd93) >> (64 - midBits)
	slot, second := &c.cache.mid[at], &c.cache.mid[at^1]
	if slot[0] == low && (slot[1]^high)&^countMask == 0 {
		return int(slot[1] >> keyCount & 0xf)
	}
	if second[0] == low && (second[1]^high)&^countMask == 0 {
		*slot, *second = *second, *slot
		return int(slot[1] >> keyCount & 0xf)
	}
	count := c.merger.count(text[i:j])
	*second = *slot
	slot[0], slot[1] = low, high|uint64(count)<<keyCount
	return count
}

// countMore counts a piece of 16 bytes or more.
func (c *Counter) countMore(text []byte, i, j int) int {
	if j-i > longMax {
		return c.merger.count(text[i:j])
	}
	// Words 0-6 are the piece, zero-padded; the last is length and, below, count.
	var key [8]uint64
	hash, k := uint64(0), 0
	for ; i+8*k+8 <= j; k++ {
		key[k] = binary.LittleEndian.Uint64(text[i+8*k:])
		hash = spread(hash ^ key[k])
		hash ^= hash >> 29
	}
	if rest := j - i - 8*k; rest > 0 {
		key[k] = lowBytes(load8(text, i+8*k), rest)
		hash = spread(hash ^ key[k])
		hash ^= hash >> 29
	}
	key[7] = uint64(j-i) << 32
	at := spread(hash^key[7]) >> (64 - longBits)
	slot, second := &c.cache.long[at], &c.cache.long[at^1]
	if sameLong(slot, &key) {
		return int(slot[7] & 0xffffffff)
	}
	if sameLong(second, &key) {
		*slot, *second = *second, *slot
		return int(slot[7] & 0xffffffff)
	}
	got := c.merger.count(text[i:j])
	*second = *slot
	key[7] |= uint64(got)
	*slot = key
	return got
}

// sameLong says whether a slot holds the key, whatever the count beside it.
func sameLong(slot, key *[8]uint64) bool {
	if slot[7]>>32 != key[7]>>32 {
		return false
	}
	for i := range 7 {
		if slot[i] != key[i] {
			return false
		}
	}
	return true
}
