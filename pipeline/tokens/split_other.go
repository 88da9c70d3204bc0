package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Split is how an imported vocabulary cuts text into pieces. The published
// patterns that are worked out here:
//
//	SplitO200k    that of o200k_base, also gpt-oss
//	SplitCl100k   that of cl100k_base, also Llama 3 and GLM-4
//	SplitQwen     cl100k's with single digits
//	SplitTekken   o200k's with single digits and no contractions (Mistral)
//	SplitKimi     o200k's with runs of Han apart and no slash in a trail
//	SplitDeepSeek three steps: digits, runs of ideographs and kana, the rest
type Split uint8

// The splits.
const (
	SplitO200k Split = iota + 1
	SplitCl100k
	SplitQwen
	SplitTekken
	SplitKimi
	SplitDeepSeek
)

// splitNames is read only.
var splitNames = [...]string{"", "o200k", "cl100k", "qwen", "tekken", "kimi", "deepseek"}

// String returns the name that the user asks for it by.
func (s Split) String() string {
	if int(s) >= len(splitNames) {
		return splitNames[0]
	}
	return splitNames[s]
}

// end returns the end of the piece at i < len(text).
func (s Split) end(t *classTable, text []byte, i int) int {
	switch s {
	case SplitO200k:
		return t.o200k(text, i)
	case SplitCl100k:
		return t.cl100k(text, i)
	case SplitQwen:
		if c, w := t.at(text, i); c == classNumber {
			return i + w
		}
		return t.cl100k(text, i)
	case SplitTekken:
		return t.tekken(text, i)
	case SplitKimi:
		return t.kimi(text, i)
	case SplitDeepSeek:
		return t.deepSeek(text, i)
	}
	panic("bug: split by " + s.String())
}

// tekken is o200kRunes with single digits and without contractions.
func (t *classTable) tekken(text []byte, i int) int {
	c, w := t.at(text, i)
	switch c {
	case classNumber:
		return i + w
	case classNewline:
		return t.blanks(text, i)
	case classUpper, classLower, classBoth:
		end, _ := t.o200kLetters(text, i)
		return end
	case classMark:
		if end, small := t.o200kLetters(text, i+w); small {
			return end
		}
		return i + w
	case classOther, classSpace:
		if end, _ := t.o200kLetters(text, i+w); end > i+w {
			return end
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

// kimi puts [\p{Han}]+ before the alternatives of o200k, the letters of which
// are without Han.
func (t *classTable) kimi(text []byte, i int) int {
	if end := hanRun(text, i); end > i {
		return end
	}
	c, w := t.at(text, i)
	switch c {
	case classNumber:
		return t.numbers(text, i)
	case classNewline:
		return t.blanks(text, i)
	case classUpper, classLower, classBoth:
		end, _ := t.kimiLetters(text, i)
		return contraction(text, end)
	case classMark:
		end, small := t.kimiLetters(text, i+w)
		if !small {
			end = i + w
		}
		return contraction(text, end)
	case classOther, classSpace:
		if end, _ := t.kimiLetters(text, i+w); end > i+w {
			return contraction(text, end)
		}
	}
	if c == classOther {
		return cl100kTrail(text, t.symbols(text, i+w))
	}
	if text[i] == ' ' {
		if end := t.symbols(text, i+1); end > i+1 {
			return cl100kTrail(text, end)
		}
	}
	return t.blanks(text, i)
}

// hanRun matches \p{Han}* at i.
func hanRun(text []byte, i int) int {
	for i < len(text) && text[i] >= 0x80 {
		r, w := utf8.DecodeRune(text[i:])
		if !unicode.Is(unicode.Han, r) {
			break
		}
		i += w
	}
	return i
}

// kimiLetters is o200kLetters with letters that are not of Han.
func (t *classTable) kimiLetters(text []byte, i int) (end int, small bool) {
	either := 0
	c, w := t.notHan(text, i)
	for c == classUpper || c == classBoth || c == classMark {
		i += w
		if c != classUpper {
			either = i
		}
		c, w = t.notHan(text, i)
	}
	if c == classLower {
		for c == classLower || c == classBoth || c == classMark {
			i += w
			c, w = t.notHan(text, i)
		}
		return i, true
	}
	if either > 0 {
		return either, true
	}
	return i, false
}

// notHan is at with 0 for runes of Han.
func (t *classTable) notHan(text []byte, i int) (class, int) {
	c, w := t.at(text, i)
	if w > 1 && hanRun(text[:i+w], i) > i {
		return 0, 0
	}
	return c, w
}

// deepSeek cuts at digits, then at runs of ideographs and kana, then, within
// what lies between these cuts, by
//
//	[!-/:-~][A-Za-z]+
//	[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//	 ?[\p{P}\p{S}]+[\r\n]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
//
// with what none of these matches as pieces of their own.
func (t *classTable) deepSeek(text []byte, i int) int {
	if c, _ := t.at(text, i); c == classNumber {
		return t.numbers(text, i)
	}
	d := deepSeek{t: t, text: text, east: east(text, i)}
	if end, ok := d.match(i); ok {
		return end
	}
	for end := i; ; {
		_, w := d.at(end)
		end += w
		if k, _ := d.at(end); k == 0 {
			return end
		}
		if _, ok := d.match(end); ok {
			return end
		}
	}
}

// deepSeek is a stretch between two cuts of the first steps: of ideographs and
// kana alone, or without them.
type deepSeek struct {
	t    *classTable
	text []byte
	east bool
}

// kind is what the pattern asks of a rune; 0 is the end of the stretch.
type kind uint8

const (
	kindNone   kind = iota + 1 // controls, unassigned
	kindLetter                 // and marks
	kindMark
	kindSymbol // \p{P}\p{S}
	kindNewline
	kindSpace
)

func east(text []byte, i int) bool {
	r, _ := utf8.DecodeRune(text[i:])
	return r >= 0x4e00 && r <= 0x9fa5 || r >= 0x3040 && r <= 0x30ff
}

func (d deepSeek) at(i int) (kind, int) {
	c, w := d.t.at(d.text, i)
	if w == 0 || c == classNumber || east(d.text, i) != d.east {
		return 0, 0
	}
	switch c {
	case classUpper, classLower, classBoth:
		return kindLetter, w
	case classMark:
		return kindMark, w
	case classNewline:
		return kindNewline, w
	case classSpace:
		return kindSpace, w
	case classOther, classNumber:
	}
	if r, _ := utf8.DecodeRune(d.text[i:]); unicode.In(r, unicode.P, unicode.S) {
		return kindSymbol, w
	}
	return kindNone, w
}

// run returns the end of the run of runes of the kinds at i.
func (d deepSeek) run(i int, of ...kind) int {
	for {
		k, w := d.at(i)
		found := false
		for _, o := range of {
			found = found || k == o
		}
		if k == 0 || !found {
			return i
		}
		i += w
	}
}

// match returns the end of what the alternatives match at i.
func (d deepSeek) match(i int) (int, bool) {
	k, w := d.at(i)
	if k == kindSymbol && d.text[i] < 0x80 {
		end := i + 1
		for end < len(d.text) && d.text[end]|0x20 >= 'a' && d.text[end]|0x20 <= 'z' {
			end++
		}
		if end > i+1 {
			return end, true
		}
	}
	start := i
	if k == kindNone || k == kindSpace {
		start += w
	}
	if end := d.run(start, kindLetter, kindMark); end > start {
		return end, true
	}
	start = i
	if d.text[i] == ' ' {
		start++
	}
	if end := d.run(start, kindSymbol); end > start {
		return d.run(end, kindNewline), true
	}
	if k != kindSpace && k != kindNewline {
		return i, false
	}
	end := d.run(i, kindSpace, kindNewline)
	// The stretch ends where its last blank does, or goes on.
	return d.t.blanks(d.text[:d.blankEnd(end)], i), true
}

// blankEnd is how far blanks may look: one rune beyond the run, if the stretch
// has it.
func (d deepSeek) blankEnd(end int) int {
	if _, w := d.at(end); w > 0 {
		return end + w
	}
	return end
}
