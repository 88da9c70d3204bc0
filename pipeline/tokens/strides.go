package tokens

// Most runes of Chinese, Japanese and Korean are three bytes, and the merge
// core asks for the longest token at nearly each of them. A table by rune takes
// the first three steps of that walk at once; they hang on one another, so each
// would wait for the memory of the one before.

const (
	wideFirst = 0x3000 // CJK punctuation, Kana, …
	wideEnd   = 0xd800 // … ideographs, Hangul
)

// wideIndex returns the place of the rune that text starts with in the table,
// or a number beyond it.
func wideIndex(text []byte) uint {
	if len(text) < 3 || text[0]&0xf0 != 0xe0 || text[1]&0xc0 != 0x80 || text[2]&0xc0 != 0x80 {
		return wideEnd
	}
	return (uint(text[0]&0xf)<<12 | uint(text[1]&0x3f)<<6 | uint(text[2]&0x3f)) - wideFirst
}

// widen fills the table: as in a cell, the base where the walk goes on, that of
// a leaf where it does not, and the longest token so far.
func (t *trie) widen() {
	t.wide = nil // longest must walk
	wide := make([]uint64, wideEnd-wideFirst)
	for i := range wide {
		r := i + wideFirst
		text := [3]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f}
		base := uint(t.root)
		for _, b := range text {
			cell := t.cells[base+uint(b)]
			if base = 0; cell&0x1ff == 256|uint64(b) {
				base = uint(cell >> cellBase)
			}
		}
		wide[i] = uint64(base)<<cellBase | uint64(t.longest(text[:])+1)<<cellToken
	}
	t.wide = wide
}
