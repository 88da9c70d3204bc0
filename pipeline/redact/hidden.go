package redact

import "strings"

// maxPayload bounds what a terminal's control string, such as a title or the
// address of a link, may hold; bytes.
const maxPayload = 2048

// suspects are the bytes by which something hidden may begin. It is computed
// once and only read.
var suspects = suspectBytes()

func suspectBytes() (t [256]bool) {
	for c := range byte(' ') {
		t[c] = c != '\t' && c != '\n' && c != '\r'
	}
	for _, c := range [...]byte{0x7f, 0xc2, 0xcd, 0xe1, 0xe2, 0xef, 0xf3} {
		t[c] = true
	}
	return t
}

// nextHidden returns where the next hidden character at or behind i begins,
// len(s) if there is none.
func nextHidden(s string, i int) int {
	for ; i < len(s); i++ {
		if i+8 <= len(s) && shown(s[i:i+8]) {
			i += 7
			continue
		}
		for end := min(i+7, len(s)-1); ; i++ {
			if suspects[s[i]] && hiddenAt(s, i, false) > 0 {
				return i
			}
			if i == end {
				break
			}
		}
	}
	return i
}

// shown says whether eight bytes are ASCII from space to DEL, DEL excluded:
// most text is gone through at this price.
func shown(b string) bool {
	const ones = 0x0101010101010101
	w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
	return ((w-ones*' ')|(w+ones)|w)&(ones*0x80) == 0
}

// hiddenAt returns the length of what stands at i and is not shown: a control
// or zero-width character, or a terminal's escape sequence. With all of it the
// text within a control string belongs to it, and the character of a short one.
func hiddenAt(s string, i int, all bool) int {
	at := func(n int) byte {
		if i+n < len(s) {
			return s[i+n]
		}
		return 0
	}
	switch c := s[i]; c {
	case '\t', '\n', '\r':
		return 0
	case '\\':
		return escapedLen(s, i, all)
	case 0x1b:
		return escapeLen(s, i, all)
	case 0xc2:
		switch d := at(1); {
		case d == 0x9b: // CSI as one character
			return 2 + controlLen(s, i+2)
		case d >= 0x80 && d <= 0x9f, d == 0xad:
			return 2
		}
	case 0xcd: // combining grapheme joiner
		if at(1) == 0x8f {
			return 2
		}
	case 0xe1: // Mongolian vowel separator and its like
		if at(1) == 0xa0 && at(2) >= 0x8b && at(2) <= 0x8f {
			return 3
		}
	case 0xe2: // zero-width, direction, invisible operators
		d, e := at(1), at(2)
		if d == 0x80 && (e >= 0x8b && e <= 0x8f || e >= 0xaa && e <= 0xae) || d == 0x81 && e >= 0xa0 && e <= 0xaf {
			return 3
		}
	case 0xef: // byte order mark, variation selectors
		d, e := at(1), at(2)
		if d == 0xbb && e == 0xbf || d == 0xb8 && e >= 0x80 && e <= 0x8f {
			return 3
		}
	case 0xf3: // tags
		if at(1) == 0xa0 && at(2) >= 0x80 && at(2) <= 0x87 && at(3) >= 0x80 {
			return 4
		}
	default:
		if c < ' ' || c == 0x7f {
			return 1
		}
	}
	return 0
}

// escapeLen returns the length of the escape sequence at i. What is none that
// terminals know loses only its ESC: the rest may be text.
func escapeLen(s string, i int, all bool) int {
	if i+1 == len(s) || hasPrefix(s[i+1:], markOpen) {
		return 1
	}
	switch c := s[i+1]; {
	case c == '[':
		return 2 + controlLen(s, i+2)
	case strings.IndexByte("]PX^_", c) >= 0:
		if all {
			return 2 + payloadLen(s, i+2)
		}
	case c >= ' ' && c <= '/':
		if i+2 < len(s) && s[i+2] >= '0' && s[i+2] <= '~' {
			return 3
		}
	case all && strings.IndexByte(`78=>\`, c) >= 0:
		return 2
	}
	return 1
}

// afterEscape says whether an escape sequence ends at i.
func afterEscape(s string, i int) bool {
	for j := i - 1; j >= 0 && j >= i-32; j-- {
		switch {
		case s[j] == 0x1b:
			return j+escapeLen(s, j, true) == i
		case s[j] == 0x9b && j > 0 && s[j-1] == 0xc2:
			return j+1+controlLen(s, j+1) == i
		}
	}
	return false
}

// controlLen returns the length of what follows CSI; 0 if it is broken off.
func controlLen(s string, i int) int {
	j := i
	for j < len(s) && s[j] >= '0' && s[j] <= '?' {
		j++
	}
	for j < len(s) && s[j] >= ' ' && s[j] <= '/' {
		j++
	}
	if j < len(s) && s[j] >= '@' && s[j] <= '~' {
		return j + 1 - i
	}
	return 0
}

// payloadLen returns the length of a control string and its end, 0 if it has
// none on its line.
func payloadLen(s string, i int) int {
	for j := i; j < len(s) && j < i+maxPayload && s[j] != '\n'; j++ {
		switch s[j] {
		case '\a':
			return j + 1 - i
		case 0x1b:
			if j+1 < len(s) && s[j+1] == '\\' {
				return j + 2 - i
			}
			return 0
		}
	}
	return 0
}

// stripped is a text without what isn't shown.
type stripped struct {
	text string
	cuts []cut
}

// cut is a run of bytes that was taken out.
type cut struct{ from, to int }

// strip takes out what isn't shown, from the first of it on, which begins at
// first.
func strip(s string, first int, all bool) stripped {
	out := stripped{}
	var b strings.Builder
	b.Grow(len(s))
	last := 0
	h := hiding{s: s, raw: -1, json: -1}
	for i := first; i < len(s); i = h.next(i) {
		from := i
		for i < len(s) {
			n := hiddenAt(s, i, all)
			if n == 0 {
				break
			}
			i += n
		}
		b.WriteString(s[last:from])
		out.cuts = append(out.cuts, cut{from, i})
		last = i
	}
	b.WriteString(s[last:])
	out.text = b.String()
	return out
}

// moved gives findings of the text before as they lie in the stripped one.
func (st stripped) moved(before []Finding) []Finding {
	k, gone := 0, 0
	place := func(p int) int {
		for k < len(st.cuts) && st.cuts[k].to <= p {
			gone += st.cuts[k].to - st.cuts[k].from
			k++
		}
		if k < len(st.cuts) && st.cuts[k].from < p {
			return st.cuts[k].from - gone
		}
		return p - gone
	}
	var after []Finding
	for _, f := range before {
		from := place(f.From)
		if to := place(f.To); to > from {
			after = append(after, Finding{f.Kind, from, to})
		}
	}
	return after
}

// reveal looks at s as a terminal shows it. If that has a secret, or a part of
// one, that is not among the findings of s, it returns the text shown and all
// that is to be taken out of it: what is seen there and what was seen before.
func reveal(s string, found []Finding) (string, []Finding, bool) {
	h := hiding{s: s, raw: -1, json: -1}
	first := h.next(0)
	if first == len(s) {
		return "", nil, false
	}
	bare := strip(s, first, true)
	for all := true; ; all = false {
		seen, known := plain(bare.text), bare.moved(found)
		if !within(seen, known) {
			return bare.text, merge(seen, known), true
		}
		if !all {
			return "", nil, false
		}
		// A control string may be where a secret hides, and a stray ESC before a
		// secret's digit is no sequence.
		shown := len(bare.text)
		if bare = strip(s, first, false); len(bare.text) == shown {
			return "", nil, false
		}
	}
}

// within says whether each finding of a lies in one of b. Both are in order.
func within(a, b []Finding) bool {
	k := 0
	for _, f := range a {
		for k < len(b) && b[k].To < f.To {
			k++
		}
		if k == len(b) || b[k].From > f.From {
			return false
		}
	}
	return true
}

// merge joins two lists of findings; those that overlap become one, of the
// kind of the one that begins first.
func merge(a, b []Finding) []Finding {
	var out []Finding
	for len(a) > 0 || len(b) > 0 {
		next := &a
		if len(a) == 0 || len(b) > 0 && b[0].From < a[0].From {
			next = &b
		}
		f := (*next)[0]
		*next = (*next)[1:]
		if n := len(out); n > 0 && f.From < out[n-1].To {
			out[n-1].To = max(out[n-1].To, f.To)
			continue
		}
		out = append(out, f)
	}
	return out
}
