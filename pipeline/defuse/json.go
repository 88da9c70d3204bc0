package defuse

import (
	"strconv"
	"strings"
)

// Escapes does for a text of valid JSON what Visible does for what its strings
// say: escapes of characters that can't be seen are taken out of it. It stays
// valid JSON.
func Escapes(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, _ := escapeOf(s[i:])
		switch n := hiddenEscape(s[i:]); {
		case r == 0x2028 || r == 0x2029 || r == 0x85 || r == '\v' || r == '\f':
			b.WriteString(`\n`)
			i += len(`\u0000`)
		case n > 0:
			i += n
		case s[i+1] == 'r':
			if !strings.HasPrefix(s[i+2:], `\n`) {
				b.WriteString(`\n`)
			}
			i += 2
		default:
			b.WriteString(s[i : i+2])
			i += 2
		}
	}
	return b.String()
}

// hiddenEscape returns the length of the escape at the beginning of s if its
// character can't be seen, with the rest of a terminal's sequence; else 0.
func hiddenEscape(s string) int {
	const size = len(`\u0000`)
	r, ok := escapeOf(s)
	if !ok {
		return 0
	}
	if low, pair := escapeOf(s[size:]); pair && r == 0xdb40 && low >= 0xdc00 && low <= 0xdfff {
		return 2 * size // tags
	}
	if r == 0x1b || r == 0x9b {
		rest := s[size:min(len(s), size+64)]
		if end := strings.IndexAny(rest, `"\`); end >= 0 {
			rest = rest[:end]
		}
		if r == 0x9b {
			return size + escapeLen(rest, r, 0)
		}
		return size + escapeLen("\x1b"+rest, r, 1) - 1
	}
	if r == '\n' || r == '\t' || r == '\r' || !invisible(r) {
		return 0
	}
	return size
}

// escapeOf reads an escape of the form \uXXXX.
func escapeOf(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(s[2:6], 16, 32)
	return rune(r), err == nil
}
