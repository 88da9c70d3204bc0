package tokens

import "math/bits"

// o200k returns the end of the piece that starts at i < len(text), by
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
//
// taken in this order. ASCII is decided here; a byte beyond it, wherever it
// could matter, hands the piece to o200kRunes.
func (t *classTable) o200k(text []byte, i int) int {
	j, c := i, t.ascii[text[i]]
	if !c.letter() {
		j++
		if j >= len(text) || !t.ascii[text[j]].letter() || c != classSpace && c != classOther {
			return t.o200kOther(text, i, c)
		}
	}
	// A word, by far the most frequent piece: capitals, then small letters,
	// in either alternative.
	for j < len(text) && text[j]-'A' <= 'Z'-'A' {
		j++
	}
	if others := notLower(load8(text, j)); others != 0 {
		j += bits.TrailingZeros64(others) >> 3
	} else {
		j = lowerRun(text, j+8)
	}
	if j < len(text) {
		if text[j] >= 0x80 {
			return t.o200kRunes(text, i)
		}
		if text[j] == '\'' {
			return contraction(text, j)
		}
	}
	return j
}

// o200kOther is o200k where the piece, the first rune of which is of class c
// if it is ASCII, has no ASCII letter within two bytes, or may not have it.
func (t *classTable) o200kOther(text []byte, i int, c class) int {
	next := classSpace // what the end of the text is like
	if i+1 < len(text) {
		next = t.ascii[text[i+1]]
	}
	switch {
	case c == classNumber:
		return t.numbers(text, i)
	case c == classNewline:
		return t.blanks(text, i)
	case c == 0 || next == 0:
		return t.o200kRunes(text, i)
	case c == classOther:
		return o200kTrail(text, t.symbols(text, i+1))
	case text[i] == ' ' && next == classOther:
		return o200kTrail(text, t.symbols(text, i+2))
	}
	return t.blanks(text, i)
}

// o200kTrail matches [\r\n/]* at i.
func o200kTrail(text []byte, i int) int {
	for i < len(text) && (text[i] == '/' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// o200kRunes is o200k for any text.
func (t *classTable) o200kRunes(text []byte, i int) int {
	c, w := t.at(text, i)
	switch c {
	case classNumber:
		return t.numbers(text, i)
	case classNewline:
		return t.blanks(text, i)
	case classUpper, classLower, classBoth:
		end, _ := t.o200kLetters(text, i)
		return contraction(text, end)
	case classMark:
		// A mark is a prefix or a letter of either case. The first alternative
		// is tried both ways before the second, and as a letter it cannot
		// fail; what a mark and capitals alone leave it is the mark.
		end, small := t.o200kLetters(text, i+w)
		if !small {
			end = i + w
		}
		return contraction(text, end)
	case classOther, classSpace:
		if end, _ := t.o200kLetters(text, i+w); end > i+w {
			return contraction(text, end)
		}
	}
	if c == classOther {
		return o200kTrail(text, t.symbols(text, i+w))
	}
	if text[i] == ' ' {
		if end := t.symbols(text, i+1); end > i+1 {
			return o200kTrail(text, end)
		}
	}
	return t.blanks(text, i)
}

// o200kLetters matches the letters of the first alternative at i, else those
// of the second; small says that it was the first. Neither matches: i, false.
// In the first the capitals are taken greedily, with them all runes that are
// of either case, and given back until one of those can stand for the small
// letter that is asked for.
func (t *classTable) o200kLetters(text []byte, i int) (end int, small bool) {
	either := 0 // end of the last rune that is of either case
	c, w := t.at(text, i)
	for c == classUpper || c == classBoth || c == classMark {
		i += w
		if end := t.bothRun(text, i); end > i {
			i, c = end, classBoth
		}
		if c != classUpper {
			either = i
		}
		c, w = t.at(text, i)
	}
	if c == classLower {
		for c == classLower || c == classBoth || c == classMark {
			i += w
			c, w = t.at(text, i)
		}
		return i, true
	}
	if either > 0 {
		return either, true
	}
	return i, false
}
