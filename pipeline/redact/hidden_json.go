package redact

import (
	"strconv"
	"strings"
)

// hiding finds what isn't shown in a text, from its beginning to its end. Both
// places are found once and kept until they are passed.
type hiding struct {
	s    string
	raw  int // next hidden character
	json int // next one in the form that JSON gives it
}

// next returns where the next hidden character at or behind i begins, len(s)
// if there is none.
func (h *hiding) next(i int) int {
	if h.raw < i {
		h.raw = nextHidden(h.s, i)
	}
	if h.json < i {
		h.json = nextEscaped(h.s, i)
	}
	return min(h.raw, h.json)
}

// nextEscaped is next for what stands as \u200b.
func nextEscaped(s string, i int) int {
	from := i
	for {
		n := strings.Index(s[i:], `\u`)
		if n < 0 {
			return len(s)
		}
		i += n
		at := i
		for at > from && i-at < 3 && s[at-1] == '\\' { // JSON within JSON
			at--
		}
		if escapedLen(s, at, false) > 0 {
			return at
		}
		i += 2
	}
}

// escapedLen returns the length of a hidden character at i in the form of JSON,
// with the rest of the escape sequence that it begins; 0 if there is none.
func escapedLen(s string, i int, all bool) int {
	j := i
	for j < len(s) && j < i+4 && s[j] == '\\' {
		j++
	}
	if j+5 > len(s) || s[j] != 'u' {
		return 0
	}
	r, err := strconv.ParseUint(s[j+1:j+5], 16, 32)
	if err != nil {
		return 0
	}
	end := j + 5
	if r == 0x1b {
		return end - i + escapeLen("\x1b"+s[end:min(len(s), end+64)], 0, all) - 1
	}
	if one := string(rune(r)); one[0] != '\\' && hiddenAt(one, 0, false) == len(one) {
		return end - i
	}
	return 0
}
