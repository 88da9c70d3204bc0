package tokens

import (
	"sync"
	"unicode"
)

// class is what the split patterns ask of a rune.
type class uint8

const (
	classOther   class = iota + 1 // punctuation, symbols, controls, unassigned
	classUpper                    // \p{Lu} \p{Lt}
	classLower                    // \p{Ll}
	classBoth                     // \p{Lm} \p{Lo}: o200k takes these as either case
	classMark                     // \p{M}
	classNumber                   // \p{N}
	classNewline                  // \r \n
	classSpace                    // the rest of \s
)

// letter says whether the class is \p{L}.
func (c class) letter() bool { return c-classUpper <= classBoth-classUpper }

// blank says whether the class is \s.
func (c class) blank() bool { return c >= classNewline }

// classTable looks a rune up in two steps. A block holds 64 runes because that
// is what the last byte of UTF-8 tells apart: the block comes from the bytes
// before it, the place in the block from the last byte.
type classTable struct {
	ascii  [256]class   // 0 from 0x80 on
	lanes  *[256]uint64 // see windows.go
	block  [0x110000 / 64]uint16
	blocks [][64]class
}

// classes is made from the tables of package unicode on first use.
var classes = sync.OnceValue(newClassTable)

func newClassTable() *classTable {
	flat := make([]class, 0x110000)
	for r := range flat {
		flat[r] = classOther
	}
	paint := func(c class, tables ...*unicode.RangeTable) {
		for _, t := range tables {
			for _, r := range t.R16 {
				for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
					flat[x] = c
				}
			}
			for _, r := range t.R32 {
				for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
					flat[x] = c
				}
			}
		}
	}
	paint(classUpper, unicode.Lu, unicode.Lt)
	paint(classLower, unicode.Ll)
	paint(classBoth, unicode.Lm, unicode.Lo)
	paint(classMark, unicode.M)
	paint(classNumber, unicode.N)
	paint(classSpace, unicode.White_Space)
	flat['\r'], flat['\n'] = classNewline, classNewline
	t := &classTable{}
	copy(t.ascii[:0x80], flat)
	t.lanes = lanesOf(&t.ascii)
	seen := map[[64]class]uint16{}
	for i := range t.block {
		block := [64]class(flat[i*64:])
		id, ok := seen[block]
		if !ok {
			id = uint16(len(t.blocks))
			seen[block] = id
			t.blocks = append(t.blocks, block)
		}
		t.block[i] = id
	}
	return t
}

// at returns the class of the rune at i and its length in bytes, 0 and 0 at
// the end. The text must be valid UTF-8.
func (t *classTable) at(text []byte, i int) (class, int) {
	if i >= len(text) {
		return 0, 0
	}
	b := text[i]
	switch {
	case b < 0x80:
		return t.ascii[b], 1
	case b < 0xe0:
		return t.blocks[t.block[b&0x1f]][text[i+1]&0x3f], 2
	case b < 0xf0:
		return t.blocks[t.block[int(b&0xf)<<6|int(text[i+1]&0x3f)]][text[i+2]&0x3f], 3
	}
	return t.blocks[t.block[int(b&7)<<12|int(text[i+1]&0x3f)<<6|int(text[i+2]&0x3f)]][text[i+3]&0x3f], 4
}
