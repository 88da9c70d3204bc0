package tokens

import (
	"encoding/binary"
	"math/bits"
)

// Where pieces start is mostly not foreseeable, so a splitter that looks at one
// byte after the other pays a mispredicted branch or two for each of them, more
// than for all else. ASCII is therefore looked at 64 bytes at a time: what the
// patterns ask of a byte is a bit in a word for each class, and where pieces
// start is a formula over these words, without a branch. The look-ups of the
// pieces then don't hang on one another and wait for memory together.
//
// A window starts with a piece. What the formulas can't tell, for it hangs on
// what lies behind the window, is left to the next one, which starts with the
// last piece found; where there is none in a window, the splitters of one piece
// (split_*.go) go on.

// window is how many bytes are looked at at once: a bit each in a word.
const window = 64

// windowRoom is what may be read from the start of a window on.
const windowRoom = window + 8

// The lanes of classTable.lanes: a byte for each class, its lowest bit set for
// the bytes that are of it. A byte beyond ASCII is in two that exclude each
// other, a digit in none.
const (
	laneLetter = 8 * iota
	laneUpper
	laneLine
	laneBlank // without line ends
	laneSpace
	laneOther
	laneSlash
	laneApostrophe
)

// lanesOf fills classTable.lanes from its table of ASCII.
func lanesOf(ascii *[256]class) *[256]uint64 {
	lanes := &[256]uint64{}
	for b, c := range ascii {
		set := uint64(0)
		switch c {
		case 0:
			set = 1<<laneLetter | 1<<laneLine
		case classUpper:
			set = 1<<laneLetter | 1<<laneUpper
		case classLower, classBoth:
			set = 1 << laneLetter
		case classOther, classMark:
			set = 1 << laneOther
		case classNewline:
			set = 1 << laneLine
		case classSpace:
			set = 1 << laneBlank
		case classNumber:
		}
		switch b {
		case ' ':
			set |= 1 << laneSpace
		case '/':
			set |= 1 << laneSlash
		case '\'':
			set |= 1 << laneApostrophe
		}
		lanes[b] = set
	}
	return lanes
}

// masks has a bit for each byte of a window: whether it is of the class. Size
// is how many bytes of it are known, in ASCII.
type masks struct {
	letter, upper, line, blank, space, other, slash, apostrophe, digit uint64
	size                                                               int
}

// classify makes the masks of the first size bytes of a window.
func (m *masks) classify(lanes *[256]uint64, w *[window]byte, size int) {
	a0 := eight(lanes, (*[8]byte)(w[0:]))
	a1 := eight(lanes, (*[8]byte)(w[8:]))
	a2 := eight(lanes, (*[8]byte)(w[16:]))
	a3 := eight(lanes, (*[8]byte)(w[24:]))
	a4 := eight(lanes, (*[8]byte)(w[32:]))
	a5 := eight(lanes, (*[8]byte)(w[40:]))
	a6 := eight(lanes, (*[8]byte)(w[48:]))
	a7 := eight(lanes, (*[8]byte)(w[56:]))
	// Row r has the bits of bytes 8r to 8r+7, a byte for each class. It is
	// turned over, so that each class has a word.
	a0, a4 = exchange(a0, a4, 32, 0x00000000ffffffff)
	a1, a5 = exchange(a1, a5, 32, 0x00000000ffffffff)
	a2, a6 = exchange(a2, a6, 32, 0x00000000ffffffff)
	a3, a7 = exchange(a3, a7, 32, 0x00000000ffffffff)
	a0, a2 = exchange(a0, a2, 16, 0x0000ffff0000ffff)
	a1, a3 = exchange(a1, a3, 16, 0x0000ffff0000ffff)
	a4, a6 = exchange(a4, a6, 16, 0x0000ffff0000ffff)
	a5, a7 = exchange(a5, a7, 16, 0x0000ffff0000ffff)
	a0, a1 = exchange(a0, a1, 8, 0x00ff00ff00ff00ff)
	a2, a3 = exchange(a2, a3, 8, 0x00ff00ff00ff00ff)
	a4, a5 = exchange(a4, a5, 8, 0x00ff00ff00ff00ff)
	a6, a7 = exchange(a6, a7, 8, 0x00ff00ff00ff00ff)
	m.size = min(size, bits.TrailingZeros64(a0&a2))
	known := ^uint64(0) >> uint(window-m.size) // no bit if size is 0
	m.letter, m.upper, m.line, m.blank = a0&known, a1&known, a2&known, a3&known
	m.space, m.other, m.slash, m.apostrophe = a4&known, a5&known, a6&known, a7&known
	m.digit = known &^ (a0 | a2 | a3 | a5)
}

// eight has for each of eight bytes a bit in each lane.
func eight(lanes *[256]uint64, b *[8]byte) uint64 {
	return lanes[b[0]] | lanes[b[1]]<<1 | lanes[b[2]]<<2 | lanes[b[3]]<<3 |
		lanes[b[4]]<<4 | lanes[b[5]]<<5 | lanes[b[6]]<<6 | lanes[b[7]]<<7
}

// exchange swaps the upper parts of a with the lower parts of b.
func exchange(a, b uint64, by uint, low uint64) (uint64, uint64) {
	t := (a>>by ^ b) & low
	return a ^ t<<by, b ^ t
}

// common has the starts that both patterns have: of blanks, symbols, digits.
// Trail are the line ends that belong to the symbols before them, and after a
// prefix letters don't start a piece.
func (m *masks) common() (starts, trail, prefix uint64) {
	// A carry runs through the line ends after a symbol.
	trail = m.line &^ (m.line + m.other<<1&m.line)
	all := m.blank | m.line
	loose := all &^ trail
	starts = 1 | loose&^(loose<<1)
	// The last blank goes with what follows; what is before it and after the
	// last line end is a piece. The former can't be told at the window's end:
	// settled takes it away.
	starts |= m.blank &^ (all >> 1)
	indent := m.blank & ((m.line &^ trail) << 1)
	for ends := (m.blank + indent) & m.line; ends != 0; ends &= ends - 1 {
		// Blanks between line ends belong to them.
		before := indent & (ends&-ends - 1)
		indent &^= 1 << (63 - uint(bits.LeadingZeros64(before))&63)
	}
	starts |= indent
	symbols := m.other &^ (m.other<<1 | m.space<<1)
	starts |= symbols
	prefix = m.blank | symbols&^(m.other>>1)
	first := m.digit &^ (m.digit << 1)
	starts |= first
	for three := m.digit & (m.digit << 1) & (m.digit << 2); ; {
		if first = first << 3 & three; first == 0 {
			break
		}
		starts |= first
	}
	return starts, trail, prefix
}

// settled keeps the starts that nothing behind the window can move: not those
// in the blanks at its end but the first.
func (m *masks) settled(starts uint64) uint64 {
	solid := m.letter | m.other | m.digit
	return starts & (2<<(64-uint(bits.LeadingZeros64(solid))) - 1)
}

// cl100k returns the starts of pieces in a window that starts with one, as far
// as they are sure. The pattern is at classTable.cl100k.
func (m *masks) cl100k(w []byte) uint64 {
	starts, _, prefix := m.common()
	starts |= m.letter &^ (m.letter<<1 | prefix<<1)
	for quotes := m.apostrophe & starts; quotes != 0; quotes &= quotes - 1 {
		k := bits.TrailingZeros64(quotes)
		if k+3 > m.size {
			starts &= 2<<uint(k) - 1
			break
		}
		if end := contraction(w, k); end > k {
			starts |= 1 << uint(end)
		}
	}
	return m.settled(starts)
}

// o200k is cl100k by that pattern.
func (m *masks) o200k(w []byte) uint64 {
	starts, trail, prefix := m.common()
	starts |= m.letter&^(m.letter<<1|prefix<<1) | m.upper&((m.letter&^m.upper)<<1)
	after := -1
	for quotes := m.apostrophe & (m.letter << 1); quotes != 0; quotes &= quotes - 1 {
		k := bits.TrailingZeros64(quotes)
		if k+3 > m.size {
			starts &= 1<<uint(k) - 1
			break
		}
		// One contraction does not follow another.
		if end := contraction(w, k); end > k && k != after {
			starts = starts&^(1<<uint(end)-1<<uint(k)) | 1<<uint(end)
			after = end
		}
	}
	if slash := m.slash & (trail << 1); slash != 0 {
		starts &= slash&-slash - 1 // the trail may go on
	}
	return m.settled(starts)
}

// countWindows counts a text in one of the encodings with an engine of ours.
func (c *Counter) countWindows(text []byte) int {
	count, i := c.windows(text, len(text))
	// What is left is shorter than a window with room: it goes on in a copy.
	var tail [2 * windowRoom]byte
	rest := copy(tail[:], text[i:])
	more, _ := c.windows(tail[:rest+windowRoom], rest)
	return count + more
}

// windows counts the first size bytes of text, as long as there is room for a
// window, and returns where there is none.
func (c *Counter) windows(text []byte, size int) (count, i int) {
	for i < size && i+windowRoom <= len(text) {
		w := text[i : i+windowRoom]
		starts := c.starts(w, size-i)
		if last := 63 - bits.LeadingZeros64(starts); last > 0 {
			count += c.countStarts(w, starts)
			i += last
			continue
		}
		j := c.pieceEnd(text[:size], i)
		count += c.countPiece(text[:size], i, j)
		i = j
	}
	return count, i
}

// starts returns where pieces start in a window that starts with one, as far as
// that is sure: its lowest bit and, if there are others, where each ends but the
// last. The text ends after size bytes.
func (c *Counter) starts(w []byte, size int) uint64 {
	if binary.LittleEndian.Uint64(w)&highs != 0 {
		return 1 // not worth the look
	}
	var m masks
	m.classify(c.classes.lanes, (*[window]byte)(w), size)
	if c.encoding == O200kBase {
		return m.o200k(w)
	}
	return m.cl100k(w)
}

// pieceEnd returns the end of the piece at i.
func (c *Counter) pieceEnd(text []byte, i int) int {
	if c.encoding == O200kBase {
		return c.classes.o200k(text, i)
	}
	return c.classes.cl100k(text, i)
}

// countStarts counts the pieces of a window but the last. Those of up to seven
// bytes come first: they are told apart by arithmetic, too.
func (c *Counter) countStarts(w []byte, starts uint64) (count int) {
	short := (*shortCache)(c.cache.short)
	pieces := starts &^ (1 << (63 - uint(bits.LeadingZeros64(starts))))
	near := starts>>1 | starts>>2
	near |= near >> 2
	near |= starts>>5 | starts>>6 | starts>>7
	for s := pieces & near; s != 0; s &= s - 1 {
		b := bits.TrailingZeros64(s)
		n := bits.TrailingZeros64(starts>>uint(b)>>1) + 1
		key := shortKey(binary.LittleEndian.Uint64(w[b:]), n)
		slot := short[shortSlot(key)]
		if (slot^key)&^countMask != 0 {
			count += c.seek8(w, b, b+n)
			continue
		}
		count += int(slot >> keyCount & 0xf)
	}
	for s := pieces &^ near; s != 0; s &= s - 1 {
		b := bits.TrailingZeros64(s)
		n := bits.TrailingZeros64(starts>>uint(b)>>1) + 1
		count += c.countPiece(w, b, b+n)
	}
	return count
}
