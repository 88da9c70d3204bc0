package rollout

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote gives the text of a JSON string, quotes included in b. Ill-formed
// UTF-8 and lone surrogates become U+FFFD.
func unquote(b []byte) string {
	b = b[1 : len(b)-1]
	at := nextEscape(b, 0)
	if at == len(b) {
		return repair(b)
	}
	if !utf8.Valid(b) {
		return unquoteRepaired(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	from := 0
	for at < len(b) {
		out.Write(b[from:at])
		n := 2
		switch c := b[at+1]; c {
		case 'n':
			out.WriteByte('\n')
		case '"', '\\', '/':
			out.WriteByte(c)
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'u':
			var r rune
			r, n = unescape(b[at:])
			out.WriteRune(r)
		}
		from = at + n
		at = nextEscape(b, from)
	}
	out.Write(b[from:])
	return out.String()
}

// unquoteRepaired does the same for text that isn't UTF-8 in places: what
// stands between two escapes is repaired by itself.
func unquoteRepaired(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		at := nextEscape(b, 0)
		out.WriteString(repair(b[:at]))
		if b = b[at:]; len(b) == 0 {
			break
		}
		n := 2
		if b[1] == 'u' {
			n = 6
			if _, size := unescape(b); size == 12 {
				n = 12
			}
		}
		quoted := append(append([]byte{'"'}, b[:n]...), '"')
		out.WriteString(unquote(quoted))
		b = b[n:]
	}
	return out.String()
}

// nextEscape finds the next backslash from i on; len(b) if there is none.
func nextEscape(b []byte, i int) int {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:]) ^ ones*'\\'
		if m := (w - ones) & ^w & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] != '\\' {
		i++
	}
	return i
}

// unescape reads \uXXXX, with its second half where there is one.
func unescape(b []byte) (r rune, n int) {
	r, _ = hex4(b, 2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b, 8); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, 12
			}
		}
	}
	return utf8.RuneError, 6
}

// repair gives b as a string in which each maximal ill-formed part of UTF-8 is
// one U+FFFD, as web browsers do it.
func repair(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b) + 8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			n = illFormed(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// illFormed gives the length of the ill-formed part at the start of b: the
// longest start of a valid sequence, or one byte.
func illFormed(b []byte) int {
	need, low, high := 0, byte(0x80), byte(0xBF)
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		switch c {
		case 0xE0:
			low = 0xA0
		case 0xED:
			high = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		switch c {
		case 0xF0:
			low = 0x90
		case 0xF4:
			high = 0x8F
		}
	}
	n := 1
	for n <= need && n < len(b) && b[n] >= low && b[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n
}

// preview gives the first ≤ limit bytes of s as one line, cut at a rune border.
func preview(s string, limit int) string {
	// White space shrinks, so a bounded part of a long text is enough, unless
	// it is all white space.
	s = strings.TrimSpace(s)
	cut := len(s) > 16*limit
	if cut {
		s = s[:16*limit]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) <= limit && !cut {
		return s
	}
	// Not within a word of ASCII, which may be a secret: half of one isn't known
	// for what it is.
	n := min(limit, len(s))
	for n > 0 && (n == len(s) || isWord(s[n])) && isWord(s[n-1]) {
		n--
	}
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}

// isWord tells the bytes that a key can consist of.
func isWord(c byte) bool { return c > ' ' && c < 0x7f }

// hash64 is a fast, stable hash of a text, seeded to chain several.
func hash64(h uint64, s string) uint64 {
	const prime = 0x9E3779B97F4A7C15
	h = (h ^ uint64(len(s))) * prime
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = (h ^ w) * prime
		h ^= h >> 29
		s = s[8:]
	}
	var w uint64
	for i := len(s) - 1; i >= 0; i-- {
		w = w<<8 | uint64(s[i])
	}
	h = (h ^ w) * prime
	return h ^ h>>32
}
