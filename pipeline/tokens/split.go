package tokens

// What the two split patterns share. Each function takes a text of valid
// UTF-8 and a place in it and returns the end of what it matches there.

// blanks matches \s*[\r\n]+|\s+(?!\S)|\s+ where a blank stands at i: up to the
// last line end of the run; else all of it at the end of the text; else all
// but its last rune, which is left as the prefix of what follows.
func (t *classTable) blanks(text []byte, i int) int {
	end, last, line := i, i, 0
	for end < len(text) {
		c, w := t.ascii[text[end]], 1
		if c == 0 {
			c, w = t.at(text, end)
		}
		if !c.blank() {
			break
		}
		last = end
		end += w
		if c == classNewline {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end == len(text) || last == i:
		return end
	}
	return last
}

// bothRun passes over runes of three bytes that are of classBoth: ideographs,
// Kana, Hangul, by far the most in runs of such.
func (t *classTable) bothRun(text []byte, i int) int {
	for i < len(text) {
		b := text[i]
		if !t.both[b] && (b&0xf0 != 0xe0 || t.blocks[t.block[int(b&0xf)<<6|int(text[i+1]&0x3f)]][text[i+2]&0x3f] != classBoth) {
			break
		}
		i += 3
	}
	return i
}

// symbols matches [^\s\p{L}\p{N}]* at i.
func (t *classTable) symbols(text []byte, i int) int {
	for i < len(text) {
		c, w := t.ascii[text[i]], 1
		if c == 0 {
			c, w = t.at(text, i)
		}
		if c != classOther && c != classMark {
			break
		}
		i += w
	}
	return i
}

// numbers matches \p{N}{1,3} where a number stands at i.
func (t *classTable) numbers(text []byte, i int) int {
	for range 3 {
		c, w := t.at(text, i)
		if c != classNumber {
			break
		}
		i += w
	}
	return i
}

// contraction matches (?i:'s|'t|'re|'ve|'m|'ll|'d)? at i. Without regard to
// case, s has a third form: the long s, U+017F.
func contraction(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	second := byte(0)
	if i+2 < len(text) {
		second = text[i+2] | 0x20
	}
	switch text[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if second == 'e' {
			return i + 3
		}
	case 'l':
		if second == 'l' {
			return i + 3
		}
	case 0xc5 | 0x20:
		if text[i+1] == 0xc5 && text[i+2] == 0xbf {
			return i + 3
		}
	}
	return i
}
