// Package defuse takes the edge off text of a session that is about to leave:
// whoever wrote it must not be able to speak as a program, as another role or
// as this one.
//
// The way of the data, before anything is cut:
//
//	[1] Visible takes out what a reader can't see but a program obeys
//	[2] the caller redacts: nothing hides a secret any more
//	[3] Marks breaks what models and their programs take for marks of their
//	    own, <|im_start|> or <system-reminder>; it stays readable
//
// What frames the text (fences, quote lines, front matter) is the business of
// who writes it. Both functions return text that needs nothing as it is, and
// done twice they give the same as done once.
package defuse

import (
	"strings"
	"unicode/utf8"
)

// Visible removes terminal escapes, control characters, direction overrides,
// zero-width characters and tag characters. Line ends become \n; bytes that are
// no UTF-8 become U+FFFD.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	last := rune(0) // written last
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b || r == 0x9b:
			i += escapeLen(s[i:], r, n)
			continue
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n':
		case r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
			last = '\n'
		case r == '\n' || r == '\t' || !invisible(r) || r == joiner && (picture(last) || last == coloured) && pictureAfter(s[i+n:]):
			b.WriteRune(r)
			last = r
		}
		i += n
	}
	return b.String()
}

// plain tells that Visible has nothing to do: printable ASCII, tabs, newlines.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

const (
	joiner   = 0x200d // makes one picture of two: between pictures it hides nothing
	coloured = 0xfe0f // asks for the coloured form of a picture
)

func pictureAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return picture(r)
}

func picture(r rune) bool { return r >= 0x1f000 && r <= 0x1faff || r >= 0x2600 && r <= 0x27bf }

func invisible(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x180e, r == 0xfeff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// maxPayload bounds the text of a terminal's control string, bytes.
const maxPayload = 2048

// escapeLen returns the length of the terminal escape at the start of s.
func escapeLen(s string, r rune, n int) int {
	i := n
	if r == 0x1b {
		if i >= len(s) {
			return i
		}
		switch s[i] {
		case '[':
			i++
		case ']', 'P', '_', '^': // a text up to BEL or ESC \
			return i + payloadLen(s[i:])
		default:
			if s[i] >= ' ' && s[i] <= '~' {
				return i + 1
			}
			return i
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		i++
	}
	return i
}

// payloadLen returns the length of a control string from its second byte on;
// what has no end on its line is text, but for that byte.
func payloadLen(s string) int {
	for j := 1; j < len(s) && j < maxPayload && s[j] != '\n'; j++ {
		switch s[j] {
		case 0x07:
			return j + 1
		case 0x1b:
			if j+1 < len(s) && s[j+1] == '\\' {
				return j + 2
			}
			return j
		}
	}
	return 1
}
