package memory

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/redact"
)

// clean makes text fit to leave: what can't be seen is stripped first, so that
// it can't hide a secret, then secrets are redacted and marks of other programs
// broken. Nothing has been cut yet.
func clean(s string) string { return defuse.Marks(redact.Text(defuse.Visible(s))) }

// escape takes the edge off text that is set as prose: tags open nothing, an
// @path imports nothing, pictures load nothing.
func escape(s string) string {
	if !strings.ContainsAny(s, "<@!") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		next := byte(0)
		if i+1 < len(s) {
			next = s[i+1]
		}
		switch {
		case c == '<' && (next == '/' || next == '!' || next == '?' || next == '|' || letter(next)):
			b.WriteString("&lt;")
		case c == '@' && next > ' ' && (i == 0 || !letter(s[i-1]) && (s[i-1] < '0' || s[i-1] > '9')):
			b.WriteString(`\@`)
		case c == '!' && next == '[':
			b.WriteString(`!\`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// quote sets text in > lines. What is opened inside a quote, a fence or a
// list, ends with it.
func quote(s string) string {
	var b strings.Builder
	for i, l := range strings.Split(strings.Trim(escape(s), "\n"), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteByte('>')
		if l = strings.TrimRight(l, " \t"); l != "" {
			b.WriteByte(' ')
			b.WriteString(l)
		}
	}
	return b.String()
}

// inline sets text on one line of prose, cut to n UTF-16 units.
func inline(s string, n int) string {
	return escape(clipUnits(strings.Join(strings.Fields(s), " "), n))
}

// code sets text on one line as code, cut to n UTF-16 units, in backticks that
// it can't close.
func code(s string, n int) string {
	s = clipUnits(strings.Join(strings.Fields(s), " "), n)
	if s == "" {
		return ""
	}
	s = noTags(s)
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// noTags puts a space into what a consumer that knows no markdown could take
// for a tag. To shells and most languages that changes nothing.
func noTags(s string) string {
	if strings.IndexByte(s, '<') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i])
		if s[i] == '<' && i+1 < len(s) && (letter(s[i+1]) || strings.IndexByte("/!?|", s[i+1]) >= 0) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// units counts UTF-16 units, the measure of the consumers' limits.
func units(s string) int {
	n := 0
	for _, r := range s {
		if k := utf16.RuneLen(r); k > 0 {
			n += k
		} else {
			n++
		}
	}
	return n
}

// cutUnits returns the longest beginning of s of at most n units.
func cutUnits(s string, n int) string {
	for i, r := range s {
		k := max(1, utf16.RuneLen(r))
		if k > n {
			return s[:i]
		}
		n -= k
	}
	return s
}

// clipUnits cuts s to n units, an ellipsis included.
func clipUnits(s string, n int) string {
	if len(s) <= n || units(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return strings.TrimRight(cutUnits(s, n-1), " ") + "…"
}

// turnMark is the [tN] that every fact carries.
func turnMark(turns ...int) string {
	var b strings.Builder
	b.WriteByte('[')
	last := -1
	for _, t := range turns {
		if t == last {
			continue
		}
		if last >= 0 {
			b.WriteString(", ")
		}
		b.WriteString("t" + strconv.Itoa(t))
		last = t
	}
	b.WriteByte(']')
	return b.String()
}
