package plan

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// hidden stands for what is not shown of a file of others.
const hidden = "…"

// longest is the size up to which a line is looked into.
const longest = 1 << 20

// mostTokens is how many pieces of a changed line are shown.
const mostTokens = 400

// bareLine is brackets alone, or the head of a TOML table.
var bareLine = pattern.Lazy(`^(?:[\s{}\[\],]*|\s*\[\[?(?:[\w.-]|"[^"]*")+\]?\]\s*)$`)

// keyLine is a line that begins with a key: [1] with the brackets that open its
// value, [2] what is left.
var keyLine = pattern.Lazy(`^(\s*[{,]?\s*(?:"[^"]{1,80}"|'[^']{1,80}'|[\w.-]{1,80})\s*[:=]\s*[\[{]*)(.*)$`)

// private hides in the lines of a difference what the file's user wrote: values
// may be keys and tokens, in any form. Names of keys stay, and with them where a
// change is. ours says that the new lines are the program's; their values are
// shown, unless the file held them before.
func private(diff []string, ours bool) []string {
	var before [][]string
	known, lines := map[string]bool{}, map[string]bool{}
	for _, l := range diff {
		if l[0] != '-' || len(l) > longest {
			continue
		}
		before = append(before, tokens(l[1:]))
		lines[noComma(l)] = true
		for _, t := range before[len(before)-1] {
			known[t] = true
		}
	}
	out := make([]string, len(diff))
	for i, l := range diff {
		switch text := l[1:]; {
		case l[0] == '+' && ours && len(l) > longest:
			out[i] = fmt.Sprintf("+(a line of %d bytes)", len(text))
		case l[0] == '+' && ours && !lines[noComma(l)]:
			out[i] = "+" + added(text, before, known)
		default:
			out[i] = l[:1] + keysOnly(text)
		}
	}
	return out
}

// keysOnly is a line without its values.
func keysOnly(line string) string {
	if len(line) > longest {
		return hidden
	}
	if bareLine().MatchString(line) {
		return line
	}
	if m := keyLine().FindStringSubmatch(line); m != nil {
		if strings.TrimSpace(m[2]) == "" {
			return line
		}
		return strings.TrimRight(m[1], " ") + " " + hidden
	}
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	return line[:len(line)-len(rest)] + hidden
}

// noComma is the text of a line without the comma that it gets or loses with its
// neighbour.
func noComma(l string) string { return strings.TrimSuffix(strings.TrimSpace(l[1:]), ",") }

// added is a line of ours without the values that the file held before. Of a
// long line only what is new is left.
func added(line string, before [][]string, known map[string]bool) string {
	all := tokens(line)
	head, tail := 0, 0
	for _, b := range before {
		h, t := shared(all, b)
		if h+t > head+tail {
			head, tail = h, t
		}
	}
	var b strings.Builder
	if text := strings.Join(all[:head], ""); strings.ContainsAny(text, `"'`) {
		b.WriteString(hidden)
	} else {
		b.WriteString(keysOnly(text))
	}
	for n, t := range all[head : len(all)-tail] {
		if n == mostTokens {
			b.WriteString(hidden)
			break
		}
		value := strings.ContainsRune(`"'`, rune(t[0])) && !isKey(all, head+n)
		switch {
		case value && known[t], strings.HasPrefix(t, "/*"), strings.HasPrefix(t, "//"), t[0] == '#':
			b.WriteString(hidden)
		default:
			b.WriteString(t)
		}
	}
	if text := strings.Join(all[len(all)-tail:], ""); !bareLine().MatchString(text) {
		b.WriteString(hidden)
	} else {
		b.WriteString(text)
	}
	return b.String()
}

// isKey tells whether a string is a name, with its value behind it.
func isKey(all []string, at int) bool {
	for _, t := range all[at+1:] {
		if t = strings.TrimSpace(t); t != "" {
			return t[0] == ':' || t[0] == '='
		}
	}
	return false
}

// shared is how many pieces two lines begin and end with alike.
func shared(a, b []string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// tokens cuts a line into strings with their quotes, comments, and single signs
// or words between them.
func tokens(line string) (out []string) {
	for line != "" {
		n := 1
		switch c := line[0]; {
		case c == '"' || c == '\'':
			n = stringEnd(line)
		case c == '#' || strings.HasPrefix(line, "//"):
			n = len(line)
		case strings.HasPrefix(line, "/*"):
			n = len(line)
			if end := strings.Index(line, "*/"); end >= 0 {
				n = end + 2
			}
		default:
			if w := strings.IndexFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r,:={}[]\"'#/", r) }); w != 0 {
				n = w
			}
			if n < 0 {
				n = len(line)
			}
		}
		out, line = append(out, line[:n]), line[n:]
	}
	return out
}

// stringEnd is where the string ends that a line begins with.
func stringEnd(line string) int {
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && line[0] == '"':
			i++
		case line[i] == line[0]:
			return i + 1
		}
	}
	return len(line)
}
