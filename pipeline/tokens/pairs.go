package tokens

import "math/bits"

// pairTable maps two tokens to the token their merge makes. Nearly all
// questions are answered no, so a bitset stands in front: it is small enough
// to stay in the second-level cache, the table is not.
type pairTable struct {
	maybe []uint64
	slots []uint64 // left<<36 | right<<18 | merged, 0 for empty; open addressing
	shift uint
}

// pairFilterBits a token keeps wrong "maybe" answers near one in ten.
const pairFilterBits = 8

func newPairTable(count int) pairTable {
	width := uint(bits.Len(uint(count*3/2 - 1)))
	return pairTable{
		maybe: make([]uint64, (1<<width)*pairFilterBits/64),
		slots: make([]uint64, 1<<width),
		shift: 64 - width,
	}
}

func pairKey(left, right uint32) uint64 {
	return uint64(left)<<tokenIDBits | uint64(right)
}

// spread is a multiplicative hash; its upper bits are the good ones.
func spread(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 }

func (p *pairTable) add(left, right, merged uint32) {
	key := pairKey(left, right)
	h := spread(key)
	f := h >> (p.shift - 3)
	p.maybe[f>>6] |= 1 << (f & 63)
	at := h >> p.shift
	for p.slots[at] != 0 {
		at = (at + 1) & uint64(len(p.slots)-1)
	}
	p.slots[at] = key<<tokenIDBits | uint64(merged)
}

// merged returns the token that left and right merge into, or noToken.
func (p *pairTable) merged(left, right uint32) uint32 {
	key := pairKey(left, right)
	h := spread(key)
	f := h >> (p.shift - 3)
	if p.maybe[f>>6]>>(f&63)&1 == 0 {
		return noToken
	}
	for at := h >> p.shift; ; at = (at + 1) & uint64(len(p.slots)-1) {
		slot := p.slots[at]
		if slot == 0 {
			return noToken
		}
		if slot>>tokenIDBits == key {
			return uint32(slot & tokenIDMask)
		}
	}
}
