package edit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// within tells whether path lies at or below table.
func within(table, path []string) bool {
	return len(path) >= len(table) && slices.Equal(path[:len(table)], table)
}

// where finds what keeps a path from being a key of tables, and the statement
// with the value in which the path goes on, if it does so within a value.
func where(text []byte, path []string) (all []statement, in int, err error) {
	if _, err = (tomlText{}).tree(text); err != nil {
		return nil, -1, err
	}
	if all, err = scan(text); err != nil {
		return nil, -1, err
	}
	for i, st := range all {
		switch {
		case st.array && within(st.path, path):
			return nil, -1, &fault{at: st.start, kind: WrongType, problem: "[[" + dotted(st.path) + "]] makes a list of what should be one table",
				next: "write it with single brackets, or take it out; then try again"}
		case st.header || !within(st.path, path) || len(st.path) == len(path):
		case text[st.value] != '{':
			return nil, -1, noTable(text, st)
		default:
			return all, i, nil
		}
	}
	return all, -1, nil
}

func noTable(text []byte, st statement) error {
	return &fault{at: st.value, kind: WrongType, problem: dotted(st.path) + " should be a table, not " + kindOf(text[st.value]),
		next: "make it a table, or take it out; then try again"}
}

func (l tomlText) set(text []byte, path []string, v any) ([]byte, error) {
	all, in, err := where(text, path)
	if err != nil {
		return nil, err
	}
	if in >= 0 {
		return setInline(text, all[in].value, path[len(all[in].path):], v)
	}
	var below, beside []statement // of the key, and of its parent
	for _, st := range all {
		switch {
		case !st.header && slices.Equal(st.path, path):
			return spliced(text, splice{st.value, st.last, inlineValue(v)}), nil
		case within(path, st.path):
			below = append(below, st)
		case within(path[:len(path)-1], st.path) && (!st.header || len(st.path) == len(path)-1):
			beside = append(beside, st)
		}
	}
	if len(below) > 0 {
		if text, err = l.remove(text, path); err != nil {
			return nil, err
		}
		return l.set(text, path, v)
	}
	if o, ok := v.(Object); ok {
		return appended(text, path, o), nil
	}
	return setPlain(text, all, beside, path, v), nil
}

// setPlain adds a key that is no table to its table.
func setPlain(text []byte, all, beside []statement, path []string, v any) []byte {
	table, key := path[:len(path)-1], path[len(path)-1]
	after, name := -1, ""
	if len(table) == 0 { // the outermost table: before the first header
		after = 0
		for _, st := range all {
			if st.header {
				break
			}
			after = st.end
		}
		name = bareKey(key)
	}
	for _, st := range beside {
		if len(table) == 0 || len(st.path) != len(table) && len(st.path) != len(path) {
			continue
		}
		if st.header && after < 0 || !st.header && after <= st.line {
			after, name = st.end, string(text[st.line:st.start])+bareKey(key)
			if !st.header {
				name = string(text[st.line:st.start+st.head]) + bareKey(key)
			}
		}
	}
	if after < 0 {
		return appended(text, table, Object{{key, v}})
	}
	nl := newline(text)
	line := name + " = " + inlineValue(v)
	if after > 0 && text[after-1] != '\n' {
		return spliced(text, splice{after, after, nl + line})
	}
	return spliced(text, splice{after, after, line + nl})
}

// appended adds a table at the end, where nothing else becomes part of it.
func appended(text []byte, path []string, o Object) []byte {
	nl := newline(text)
	var b strings.Builder
	b.WriteString("[" + dotted(path) + "]")
	for _, m := range o {
		b.WriteString(nl + bareKey(m.Key) + " = " + inlineValue(m.Value))
	}
	switch {
	case len(text) == 0:
		b.WriteString(nl)
		return []byte(b.String())
	case text[len(text)-1] == '\n':
		return slices.Concat(text, []byte(nl+b.String()+nl))
	}
	return slices.Concat(text, []byte(nl+nl+b.String()))
}

func (tomlText) remove(text []byte, path []string) ([]byte, error) {
	all, in, err := where(text, path)
	if err != nil {
		return nil, err
	}
	if in >= 0 {
		return removeInline(text, all[in].value, path[len(all[in].path):])
	}
	var cuts []splice
	for i, st := range all {
		if !within(path, st.path) {
			continue
		}
		to := st.end
		if n := len(cuts); n > 0 && within(path, all[i-1].path) && (!st.header || len(bytes.TrimSpace(text[cuts[n-1].to:st.line])) == 0) {
			cuts[n-1].to = to
			continue
		}
		cuts = append(cuts, splice{from: st.line, to: to})
	}
	for i := range cuts {
		cuts[i].from = cutFrom(text, cuts[i], all)
	}
	return spliced(text, cuts...), nil
}

// cutFrom takes with a table the empty line that sets it off, and at the end of
// a text without a final newline the line end before it.
func cutFrom(text []byte, c splice, all []statement) int {
	header := slices.ContainsFunc(all, func(st statement) bool { return st.header && st.line == c.from })
	before := text[:c.from]
	open := c.to == len(text) && !bytes.HasSuffix(text, []byte("\n"))
	if open {
		before = cutNewline(before)
	}
	if short := cutNewline(before); header && (open || len(short) == 0 || short[len(short)-1] == '\n') {
		before = short
	}
	return len(before)
}

func cutNewline(text []byte) []byte {
	text, _ = bytes.CutSuffix(text, []byte("\n"))
	if cut, ok := bytes.CutSuffix(text, []byte("\r")); ok {
		return cut
	}
	return text
}

// inlineSpot finds a path in a table in braces.
func inlineSpot(text []byte, at int, path []string) (t *inline, member int, rest []string, err error) {
	for {
		s := &scanner{text: text, pos: at}
		if t, err = s.inline(); err != nil {
			return nil, -1, nil, err
		}
		member = slices.IndexFunc(t.members, func(m statement) bool { return within(m.path, path) })
		if member < 0 || len(t.members[member].path) == len(path) {
			return t, member, path, nil
		}
		m := t.members[member]
		if text[m.value] != '{' {
			return nil, -1, nil, noTable(text, m)
		}
		at, path = m.value, path[len(m.path):]
	}
}

func setInline(text []byte, at int, path []string, v any) ([]byte, error) {
	t, i, rest, err := inlineSpot(text, at, path)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		return spliced(text, splice{t.members[i].value, t.members[i].last, inlineValue(v)}), nil
	}
	body := bareKey(rest[0]) + " = " + inlineValue(nested(rest[1:], v))
	for _, m := range t.members { // members such as a.b = 1: the table is open for a.c, not for a = {}
		if len(rest) > 1 && m.path[0] == rest[0] {
			body = dotted(rest) + " = " + inlineValue(v)
		}
	}
	n := len(t.members)
	if n == 0 {
		return spliced(text, splice{t.start, t.end, "{ " + body + " }"}), nil
	}
	if comma := t.commas[n-1]; comma >= 0 {
		return spliced(text, splice{comma + 1, comma + 1, " " + body + ","}), nil
	}
	return spliced(text, splice{t.members[n-1].last, t.members[n-1].last, ", " + body}), nil
}

func removeInline(text []byte, at int, path []string) ([]byte, error) {
	t, _, rest, err := inlineSpot(text, at, path)
	if err != nil {
		return nil, err
	}
	var keep, gone []int
	for i, m := range t.members {
		if within(rest, m.path) {
			gone = append(gone, i)
		} else {
			keep = append(keep, i)
		}
	}
	if len(gone) == 0 {
		return text, nil
	}
	if len(keep) == 0 {
		return spliced(text, splice{t.start, t.end, "{}"}), nil
	}
	var cuts []splice
	for _, i := range gone {
		m := t.members[i]
		switch {
		case i > keep[len(keep)-1] && t.commas[i] < 0: // behind the last one that stays
			cuts = append(cuts, splice{from: t.commas[i-1], to: m.last})
		case i > 0:
			cuts = append(cuts, splice{from: t.commas[i-1] + 1, to: t.commas[i] + 1})
		default:
			to := t.commas[i] + 1
			for to < len(text) && (text[to] == ' ' || text[to] == '\t') {
				to++
			}
			cuts = append(cuts, splice{from: m.start, to: to})
		}
	}
	return spliced(text, cuts...), nil
}

// inlineValue writes a value on one line.
func inlineValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoteTOML(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case []string:
		all := make([]string, len(v))
		for i, s := range v {
			all[i] = quoteTOML(s)
		}
		return "[" + strings.Join(all, ", ") + "]"
	case Object:
		if len(v) == 0 {
			return "{}"
		}
		all := make([]string, len(v))
		for i, m := range v {
			all[i] = bareKey(m.Key) + " = " + inlineValue(m.Value)
		}
		return "{ " + strings.Join(all, ", ") + " }"
	}
	panic("bug: no value for a settings file")
}
