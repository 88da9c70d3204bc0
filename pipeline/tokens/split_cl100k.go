package tokens

import "math/bits"

// cl100k returns the end of the piece that starts at i < len(text), by
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
//
// taken in this order. ASCII is decided here; a byte beyond it, wherever it
// could matter, hands the piece to cl100kRunes. The pattern was published in two forms; this is the
// first and common one. The second puts \s+$ before \s*[\r\n]+ and differs
// only where a text ends in a line end and further blanks.
func (t *classTable) cl100k(text []byte, i int) int {
	j, c := i, t.ascii[text[i]]
	if !c.letter() {
		j++
		if j >= len(text) || !t.ascii[text[j]].letter() || c != classSpace && c != classOther || text[i] == '\'' {
			return t.cl100kOther(text, i, c)
		}
	}
	// A word, by far the most frequent piece.
	if others := notLetter(load8(text, j)); others != 0 {
		j += bits.TrailingZeros64(others) >> 3
		if j >= len(text) || text[j] < 0x80 {
			return j
		}
	}
	return t.cl100kLetters(text, j)
}

// cl100kOther is cl100k where the piece, the first rune of which is of class c
// if it is ASCII, has no ASCII letter within two bytes, or may not have it.
func (t *classTable) cl100kOther(text []byte, i int, c class) int {
	next := classSpace // what the end of the text is like
	if i+1 < len(text) {
		next = t.ascii[text[i+1]]
	}
	switch {
	case c == classNumber:
		return t.numbers(text, i)
	case c == classNewline:
		return t.blanks(text, i)
	case c == 0 || next == 0 || text[i] == '\'':
		return t.cl100kRunes(text, i)
	case c == classOther:
		return cl100kTrail(text, t.symbols(text, i+1))
	case text[i] == ' ' && next == classOther:
		return cl100kTrail(text, t.symbols(text, i+2))
	}
	return t.blanks(text, i)
}

// cl100kRunes is cl100k for any text.
func (t *classTable) cl100kRunes(text []byte, i int) int {
	b := text[i]
	c, w := t.at(text, i)
	if b == '\'' {
		if end := contraction(text, i); end > i {
			return end
		}
	}
	switch c {
	case classUpper, classLower, classBoth:
		return t.cl100kLetters(text, i)
	case classNumber:
		return t.numbers(text, i)
	case classOther, classMark, classSpace:
		if end := t.cl100kLetters(text, i+w); end > i+w {
			return end
		}
	case classNewline: // with the blanks, below
	}
	if c == classOther || c == classMark {
		return cl100kTrail(text, t.symbols(text, i+w))
	}
	if b == ' ' {
		if end := t.symbols(text, i+1); end > i+1 {
			return cl100kTrail(text, end)
		}
	}
	return t.blanks(text, i)
}

// cl100kLetters matches \p{L}* at i.
func (t *classTable) cl100kLetters(text []byte, i int) int {
	for i < len(text) {
		c, w := t.ascii[text[i]], 1
		if c == 0 {
			if end := t.bothRun(text, i); end > i {
				i = end
				continue
			}
			c, w = t.at(text, i)
		}
		if !c.letter() {
			break
		}
		i += w
	}
	return i
}

// cl100kTrail matches [\r\n]* at i.
func cl100kTrail(text []byte, i int) int {
	for i < len(text) && (text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}
