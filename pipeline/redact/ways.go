package redact

import "strings"

// framed reads the ways of tables, <name>value</name> and | name | value |, and
// "name (of what): value".
func framed(s string, start, i int) (sepAt, bool) {
	if start > 0 && s[start-1] == '<' && i < len(s) && s[i] == '>' {
		return sepAt{char: ':', tight: true, value: i + 1}, true
	}
	v := skipSpace(s, i)
	if v < len(s) && s[v] == '(' {
		if n := strings.IndexByte(s[v:min(len(s), v+32)], ')'); n > 0 && v+n+1 < len(s) && s[v+n+1] == ':' {
			at := skipSpace(s, v+n+2)
			return sepAt{char: ':', value: at, quote: quoteAt(s, at)}, true
		}
	}
	for v < len(s) && (s[v] == '*' || s[v] == '`' || s[v] == ' ') {
		v++
	}
	if v >= len(s) || s[v] != '|' {
		return sepAt{}, false
	}
	line := s[max(0, start-200):start]
	line = strings.TrimLeft(line[strings.LastIndexByte(line, '\n')+1:], " \t")
	if !hasPrefix(line, "|") || strings.Count(line, "|") != 1 {
		return sepAt{}, false // not the first cell
	}
	at := skipSpace(s, v+1)
	sep := sepAt{char: ':', value: at, quote: quoteAt(s, at)}
	_, to, _ := value(s, sep)
	rest := strings.TrimLeft(s[to:min(len(s), to+maxValue)], " `*")
	return sep, hasPrefix(rest, "|") || hasPrefix(rest, markOpen) // the value is all of the next cell
}

// qualified passes over "for staging" and the like, once.
func qualified(s string, v int) int {
	for _, w := range [...]string{"for ", "of ", "on "} {
		if !hasPrefix(s[v:], w) {
			continue
		}
		end := v + len(w)
		for end < len(s) && end-v < 48 && (isAlnum(s[end]) || strings.IndexByte("._-@", s[end]) >= 0) {
			end++
		}
		if next := skipSpace(s, end); next > end && hasPrefix(s[next:], "is ") {
			return next
		}
	}
	return v
}

// unmarked passes over the marks of bold text before a value.
func unmarked(s string, sep sepAt) sepAt {
	if sep.quote != "" || !hasPrefix(s[sep.value:], "**") {
		return sep
	}
	v := skipSpace(s, sep.value+len("**"))
	if v == sep.value+len("**") {
		if n := strings.Index(s[v:min(len(s), v+maxValue)], "**"); n > 0 && !strings.ContainsAny(s[v:v+n], " \n") {
			sep.quote = "**" // **x**
			return sep
		}
	}
	sep.value, sep.quote = v, quoteAt(s, v)
	return sep
}

// mixed tells of what nobody writes but as a password: letters and digits, and
// capitals among small letters or a sign.
func mixed(v string) bool {
	if len(v) < 8 || isPath(v) {
		return false
	}
	var lower, upper, digit, sign bool
	for i := range len(v) {
		switch c := v[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case strings.IndexByte("!#%+?@$^&*~", c) >= 0:
			sign = true
		}
	}
	return lower && digit && (sign || upper && (v[0] < 'A' || v[0] > 'Z'))
}
