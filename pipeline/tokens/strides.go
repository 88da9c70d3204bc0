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
	if len(text) < 3 {
		return wideEnd
	}
	rune3 := uint(text[0]) | uint(text[1])<<8 | uint(text[2])<<16
	if rune3&0xc0c0f0 != 0x8080e0 {
		return wideEnd
	}
	return (rune3&0xf<<12 | rune3>>2&0xfc0 | rune3>>16&0x3f) - wideFirst
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
