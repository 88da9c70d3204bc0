package tokens

import "math/bits"

// pairTable maps two tokens to the token their merge makes. Nearly all
// questions are answered no, so a bitset stands in front: it is small enough
// to stay in the second-level cache, the table is not. A slot has the token
// merged and some bits of the hash; which two tokens it is made of its info says.
type pairTable struct {
	maybe []uint64
	slots []uint32 // see pairTag; 0 for empty; open addressing
	shift uint
}

// pairFilterBits a slot keep wrong "maybe" answers near one in ten.
const pairFilterBits = 8

func newPairTable(count int) pairTable {
	width := uint(bits.Len(uint(count * 5 / 4)))
	return pairTable{
		maybe: make([]uint64, (1<<width)*pairFilterBits/64),
		slots: inLargePages(make([]uint32, 1<<width)),
		shift: 64 - width,
	}
}

func pairKey(left, right uint32) uint64 {
	return uint64(left)<<tokenIDBits | uint64(right)
}

// spread is a multiplicative hash; its upper bits are the good ones.
func spread(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 }

// pairTag is the part of a slot beside the token: bits of the hash that the
// place does not tell, never 0.
func pairTag(hash uint64) uint32 {
	return (uint32(hash>>24) | 1) << tokenIDBits
}

// add enters that two tokens merge into another.
func (p *pairTable) add(left, right, merged uint32) {
	h := spread(pairKey(left, right))
	f := h >> (p.shift - 3)
	p.maybe[f>>6] |= 1 << (f & 63)
	at := h >> p.shift
	for p.slots[at] != 0 {
		at = (at + 1) & uint64(len(p.slots)-1)
	}
	p.slots[at] = pairTag(h) | merged
}
