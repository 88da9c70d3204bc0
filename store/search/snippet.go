package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// snippetText is how much of a text a snippet is looked for in, in bytes: as
	// much as the index takes in.
	snippetText = maxText
	// snippetPlaces bounds the places of words that are compared.
	snippetPlaces = 4000
	// slack is how far a cut moves to fall between words, in characters.
	slack = 16
)

// Snippet gives at most limit characters of text around the densest place of
// words, on one line, with "…" where something is left out. Of a text that is
// JSON the escapes are resolved.
func Snippet(text string, words []string, limit int) string {
	if limit <= 0 {
		return ""
	}
	cut := len(text) > snippetText
	text = head(text, snippetText)
	if t := strings.TrimLeft(text, " \t\r\n"); t != "" && (t[0] == '{' || t[0] == '[') && strings.IndexByte(t, '\\') >= 0 {
		text = string(unescape(nil, text))
	}
	line := oneLine(text)
	if len(line) <= limit && !cut {
		return string(line)
	}
	if limit < 4 {
		words = nil // no room for more than the beginning
	}
	from, to := densest(line, words, limit-2)
	from, to = fit(line, from, to, cut, limit)
	s := string(line[from:to])
	if from > 0 {
		s = "…" + s
	}
	if to < len(line) || cut {
		s += "…"
	}
	return s
}

// oneLine gives the characters of a text with each run of space and controls as
// one space, and without marks that turn the direction of writing round.
func oneLine(text string) []rune {
	out := make([]rune, 0, min(len(text), snippetText))
	for _, r := range text {
		switch {
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		case unicode.IsSpace(r) || unicode.IsControl(r) || r == '\ufeff' || r == '\u2028' || r == '\u2029':
			if len(out) > 0 && out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		default:
			out = append(out, r)
		}
	}
	if n := len(out); n > 0 && out[n-1] == ' ' {
		out = out[:n-1]
	}
	return out
}

// place is where a word stands in a line.
type place struct{ at, end, word int }

// densest gives the stretch of at most width characters that holds the most of
// the words, by their length, and of these the one with the most places. Without
// any it is the beginning.
func densest(line []rune, words []string, width int) (from, to int) {
	width = max(1, width)
	found := places(line, words)
	if len(found) == 0 {
		return 0, min(width, len(line))
	}
	longest := 0
	for _, p := range found {
		longest = max(longest, p.word)
	}
	times := make([]int, longest+1)
	size := make([]int, longest+1)
	for _, p := range found {
		size[p.word] = max(size[p.word], p.end-p.at)
	}
	best, bestAt, bestEnd := -1, 0, 0
	value, first := 0, 0
	for _, p := range found {
		if times[p.word]++; times[p.word] == 1 {
			value += 100 * (3 + size[p.word])
		} else {
			value++
		}
		for first < len(found) && p.end-found[first].at > width && found[first].at < p.at {
			if w := found[first].word; times[w] == 1 {
				value -= 100 * (3 + size[w])
			} else {
				value--
			}
			times[found[first].word]--
			first++
		}
		if value > best {
			best, bestAt, bestEnd = value, found[first].at, min(p.end, found[first].at+width)
		}
	}
	room := width - (bestEnd - bestAt)
	from = max(0, bestAt-room/2)
	to = min(len(line), from+width)
	return max(0, to-width), to
}

// places finds the words in a line, in its order.
func places(line []rune, words []string) []place {
	folded := make([]byte, 0, len(line)+len(line)/4)
	at := make([]int32, 0, cap(folded)) // of each byte: the character it comes from
	for i, r := range line {
		n := len(folded)
		folded = foldAny(folded, r)
		for range len(folded) - n {
			at = append(at, int32(i)) //nolint:gosec // below snippetText
		}
	}
	text := view(folded)
	var out []place
	add := func(needle string, word int) (any bool) {
		for i := 0; needle != "" && len(out) < snippetPlaces; {
			k := strings.Index(text[i:], needle)
			if k < 0 {
				break
			}
			any = true
			out = append(out, place{int(at[i+k]), int(at[i+k+len(needle)-1]) + 1, word})
			i += k + len(needle)
		}
		return any
	}
	n := 0
	for _, w := range words {
		if add(foldLine(w), n) {
			n++
			continue
		}
		for _, needle := range pieces(w) {
			if add(needle, n) {
				n++
			}
		}
	}
	slices.SortFunc(out, func(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.end, b.end)) })
	return out
}

// pieces are what of a word may stand in a text that doesn't hold it whole.
func pieces(w string) (out []string) {
	for _, w := range words(w) {
		for _, p := range w.parts {
			if utf8.RuneCountInString(p) > 1 && !stopWord(p) {
				out = append(out, cmp.Or(stem(p), p))
			}
		}
	}
	return out
}

func foldLine(w string) string {
	var b []byte
	for _, r := range oneLine(w) {
		b = foldAny(b, r)
	}
	return string(b)
}

// foldAny is fold for any character.
func foldAny(b []byte, r rune) []byte {
	switch k := classOf(r); k {
	case lower, upper, digit:
		return fold(b, r)
	case unseen:
		return b
	case none, joiner, dense:
	}
	return utf8.AppendRune(b, r)
}

// fit moves the ends of a stretch, so that with its marks it has at most limit
// characters, no accent loses its letter, and words stay whole where they can.
func fit(line []rune, from, to int, cut bool, limit int) (int, int) {
	if from == 0 {
		to = max(to, min(len(line), limit-1))
	}
	slack := min(slack, limit/4)
	if from > 0 && line[from-1] != ' ' {
		for i := range slack {
			if from+i < to && line[from+i] == ' ' && from+i+1 < to {
				from += i + 1
				break
			}
		}
	}
	if from > 0 {
		for from < to && clings(line, from) {
			from++
		}
	}
	marks := func() (n int) {
		if from > 0 {
			n++
		}
		if to < len(line) || cut {
			n++
		}
		return n
	}
	for to > from && to-from+marks() > limit {
		to--
	}
	if to < len(line) {
		for i := range slack {
			if line[to] == ' ' {
				break
			}
			if to-i > from+1 && line[to-i] == ' ' {
				to -= i
				break
			}
		}
		for to > from && clings(line, to) {
			to--
		}
		if to > from && line[to-1] == ' ' {
			to--
		}
	}
	return from, to
}

// clings tells whether the character at i belongs to the one before.
func clings(line []rune, i int) bool {
	if i <= 0 || i >= len(line) {
		return false
	}
	r, before := line[i], line[i-1]
	return unicode.Is(unicode.M, r) || r == '\u200d' || before == '\u200d' || r >= 0xfe00 && r <= 0xfe0f ||
		r >= 0x1f3fb && r <= 0x1f3ff || r >= 0x3099 && r <= 0x309a || r >= 0x1160 && r <= 0x11ff
}
