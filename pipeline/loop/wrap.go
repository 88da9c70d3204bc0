package loop

import "strings"

// wrapped tells the names of elements that programs around an agent put into
// a person's message: memory and reminders.
func wrapped(name string) bool {
	name = strings.ToLower(name)
	return name == "system-reminder" || name == "system_reminder" || strings.HasSuffix(name, "memory_content") ||
		strings.HasSuffix(name, "-memory") || strings.HasSuffix(name, "_memory") || strings.HasPrefix(name, "workbuddymemory")
}

// unwrap cuts such elements out of s, with all that is in them. One that has
// no end stays: it may be the person's own words about one.
func unwrap(s string) (string, int) {
	var b strings.Builder
	n, last := 0, 0
	for i := 0; i < len(s); {
		k := strings.IndexAny(s[i:], "<(")
		if k < 0 {
			break
		}
		from := i + k
		i = from + 1
		if from > 0 && s[from-1] != '\n' && s[from-1] != '>' && s[from-1] != ')' && s[from-1] != ' ' {
			continue
		}
		to := i
		for to < len(s) && to < i+48 && (s[to]|0x20 >= 'a' && s[to]|0x20 <= 'z' || s[to] >= '0' && s[to] <= '9' || s[to] == '_' || s[to] == '-') {
			to++
		}
		name := s[i:to]
		if to == len(s) || strings.IndexByte("> )\n", s[to]) < 0 || !wrapped(name) {
			continue
		}
		end := closeOf(s[to:], name, s[from])
		if end < 0 {
			continue
		}
		b.WriteString(s[last:from])
		last, i = to+end, to+end
		n++
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[last:])
	return strings.TrimSpace(b.String()), n
}

// closeOf returns where the end tag of name ends in s, -1 if there is none. Of
// elements of one name within another the outermost counts.
func closeOf(s, name string, open byte) int {
	begin, end := string(open)+name, string(open)+"/"+name+">"
	if open == '(' {
		end = "(/" + name + ")"
	}
	depth, at := 1, 0
	for {
		e := strings.Index(s[at:], end)
		if e < 0 {
			return -1
		}
		depth += strings.Count(s[at:at+e], begin) - 1
		at += e + len(end)
		if depth <= 0 {
			return at
		}
	}
}
