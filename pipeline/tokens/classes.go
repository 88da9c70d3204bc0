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
	ascii [256]class   // 0 from 0x80 on
	lanes *[256]uint64 // see windows.go
	// both[b] says that all runes of three bytes of which b is the first are of
	// classBoth: most ideographs and Hangul. Their runs are passed over by it.
	both   [256]bool
	block  [0x110000 / 64]uint16
	blocks [][64]class
}

// classes is made from the tables of package unicode on first use.
var classes = sync.OnceValue(newClassTable)

func newClassTable() *classTable {
	t := &classTable{blocks: make([][64]class, classSpace+1, 512)}
	for c := range t.blocks { // the first blocks are of one class each
		for i := range t.blocks[c] {
			t.blocks[c][i] = max(class(c), classOther)
		}
	}
	t.paint(classUpper, unicode.Lu, unicode.Lt)
	t.paint(classLower, unicode.Ll)
	t.paint(classBoth, unicode.Lm, unicode.Lo)
	t.paint(classMark, unicode.M)
	t.paint(classNumber, unicode.N)
	t.paint(classSpace, unicode.White_Space)
	t.set(classNewline, '\r')
	t.set(classNewline, '\n')
	for b := range t.ascii[:0x80] {
		t.ascii[b] = t.blocks[t.block[b/64]][b%64]
	}
	t.lanes = lanesOf(&t.ascii)
	for lead := 0xe1; lead < 0xf0; lead++ {
		t.both[lead] = true
		for _, block := range t.block[(lead&0xf)<<6:][:64] {
			t.both[lead] = t.both[lead] && block == uint16(classBoth)
		}
	}
	return t
}

// paint gives all runes of tables a class.
func (t *classTable) paint(c class, tables ...*unicode.RangeTable) {
	for _, table := range tables {
		for _, r := range table.R16 {
			t.fill(c, int(r.Lo), int(r.Hi), int(r.Stride))
		}
		for _, r := range table.R32 {
			t.fill(c, int(r.Lo), int(r.Hi), int(r.Stride))
		}
	}
}

// fill gives each stride-th rune a class. Most runes are in blocks of one class,
// and all of these are one.
func (t *classTable) fill(c class, low, high, stride int) {
	for r := low; r <= high; r += stride {
		if stride == 1 && r%64 == 0 && r+63 <= high {
			t.block[r/64] = uint16(c)
			r += 63
			continue
		}
		t.set(c, r)
	}
}

func (t *classTable) set(c class, r int) {
	block := &t.block[r/64]
	if *block <= uint16(classSpace) {
		t.blocks = append(t.blocks, t.blocks[*block])
		*block = uint16(len(t.blocks) - 1)
	}
	t.blocks[*block][r%64] = c
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
