package edit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// splice puts text to where from..to stood. Those of one change don't overlap.
type splice struct {
	from, to int
	text     string
}

func spliced(text []byte, s ...splice) []byte {
	slices.SortStableFunc(s, func(a, b splice) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, p := range s {
		out = append(append(out, text[at:p.from]...), p.text...)
		at = p.to
	}
	return append(out, text[at:]...)
}

// jsonSpot is how far a path leads into a text.
type jsonSpot struct {
	in   *object // the innermost table on the path
	at   int     // the member there that is next on the path; -1: none
	rest []string
}

func (j jsonText) spot(text []byte, path []string) (jsonSpot, *jsonParser, error) {
	root, p, err := j.parse(text, path)
	if err != nil || root == nil {
		return jsonSpot{at: -1, rest: path}, p, err
	}
	s := jsonSpot{in: root, rest: path}
	for {
		if s.at, err = s.in.find(s.rest[0]); err != nil || s.at < 0 || len(s.rest) == 1 {
			return s, p, err
		}
		m := s.in.members[s.at]
		if m.below == nil {
			return s, p, &fault{at: m.value, kind: WrongType, problem: strconv.Quote(m.key) + " should hold an object {…}, not " + kindOf(text[m.value]),
				next: "make it an object, or take it out; then try again"}
		}
		s.in, s.rest = m.below, s.rest[1:]
	}
}

func kindOf(first byte) string {
	switch first {
	case '[':
		return "a list"
	case '"', '\'':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

func (j jsonText) set(text []byte, path []string, v any) ([]byte, error) {
	s, p, err := j.spot(text, path)
	if err != nil {
		return nil, err
	}
	st := styleOf(text, p, s)
	if s.in == nil { // nothing is there at all
		front := string(text) // white space or comments
		if lineComment(text, 0, len(text)) {
			front += st.newline
		}
		return []byte(front + st.write(nested(path, v), "") + st.newline), nil
	}
	if s.at >= 0 {
		m := s.in.members[s.at]
		return spliced(text, splice{m.value, m.end, st.write(v, st.indentAt(text, m.start))}), nil
	}
	return st.insert(text, s.in, s.rest[0], nested(s.rest[1:], v)), nil
}

// nested gives v below path as tables in tables.
func nested(path []string, v any) any {
	for _, key := range slices.Backward(path) {
		v = Object{{key, v}}
	}
	return v
}

// style is how a text is written where something goes in.
type style struct {
	newline string
	unit    string // one step of indentation
	lines   bool   // members have lines of their own
	colon   string // between a name and its value
	comma   string // between members on one line
	pad     string // inside of the braces of a table on one line
}

func styleOf(text []byte, p *jsonParser, s jsonSpot) style {
	st := style{newline: newline(text), unit: "  ", lines: true, colon: ": ", comma: ", "}
	root, _, err := (jsonText{lax: p.lax}).parse(text, nil)
	if err != nil || root == nil || len(root.members) == 0 {
		return st
	}
	m := root.members[0]
	if indent, own := lineIndent(text, m.start); own && indent != "" {
		st.unit = indent
	} else if !own {
		st.compact(text, root)
	}
	if s.in != nil && len(s.in.members) > 0 {
		m = s.in.members[len(s.in.members)-1]
		if _, own := lineIndent(text, s.in.members[0].start); own != st.lines {
			st.lines = own
			if !own {
				st.compact(text, s.in)
			}
		}
	}
	if between := string(text[m.keyEnd:m.value]); strings.Trim(between, ": \t") == "" {
		st.colon = between
	}
	return st
}

// compact takes the style of a table that stands on one line.
func (st *style) compact(text []byte, o *object) {
	st.lines = false
	first := o.members[0]
	if gap := text[o.start+1 : first.start]; len(bytes.Trim(gap, " ")) == 0 && bytes.IndexByte(text[o.start:o.end], '\n') < 0 {
		st.pad = string(gap)
	}
	if first.comma >= 0 && first.comma+1 < len(text) && text[first.comma+1] != ' ' || first.comma < 0 && text[first.value-1] == ':' {
		st.comma = ","
	}
}

// lineIndent gives the white space in front of a place in its line, and whether
// there is nothing else.
func lineIndent(text []byte, at int) (string, bool) {
	begin := bytes.LastIndexByte(text[:at], '\n') + 1
	indent := text[begin:at]
	if rest := bytes.TrimLeft(indent, " \t"); len(rest) > 0 {
		return string(indent[:len(indent)-len(rest)]), false
	}
	return string(indent), begin > 0
}

func (st style) indentAt(text []byte, at int) string {
	indent, _ := lineIndent(text, at)
	return indent
}

// insert adds a member behind the last one of a table.
func (st style) insert(text []byte, o *object, key string, v any) []byte {
	outer := st.indentAt(text, o.start)
	inner := outer + st.unit
	body := func(indent string) string { return quoteJSON(key) + st.colon + st.write(v, indent) }
	if len(o.members) == 0 {
		seen := tail(text, o.start+1, o.end-1)
		if !st.lines && seen == o.start+1 {
			return spliced(text, splice{o.start + 1, o.end - 1, st.pad + body(outer) + st.pad})
		}
		st.lines = true
		return spliced(text, splice{seen, o.end - 1, st.newline + inner + body(inner) + st.newline + outer})
	}
	last := o.members[len(o.members)-1]
	if indent, own := lineIndent(text, last.start); own {
		inner = indent
	}
	from := last.end
	if last.comma >= 0 {
		from = last.comma + 1
	}
	at := tail(text, from, o.end-1)
	before := st.newline + inner
	if !st.lines {
		before = strings.TrimPrefix(st.comma, ",")
		if lineComment(text, from, at) {
			before = st.newline + inner
		}
	}
	if last.comma >= 0 { // a trailing comma: ours gets one, too
		return spliced(text, splice{at, at, before + body(inner) + ","})
	}
	return spliced(text, splice{last.end, last.end, ","}, splice{at, at, before + body(inner)})
}

// tail gives the end of what is no white space in text[from:to].
func tail(text []byte, from, to int) int {
	return from + len(bytes.TrimRight(text[from:to], " \t\r\n"))
}

// lineComment tells whether white space and comments end with a comment that
// goes to the end of its line.
func lineComment(text []byte, from, to int) bool {
	for at := from; at < to; {
		switch rest := text[at:to]; {
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexAny(rest, "\r\n")
			if n < 0 {
				return true
			}
			at += n
		case bytes.HasPrefix(rest, []byte("/*")):
			at += 2 + max(bytes.Index(rest[2:], []byte("*/")), 0) + 2
		default:
			at++
		}
	}
	return false
}

func (j jsonText) remove(text []byte, path []string) ([]byte, error) {
	s, _, err := j.spot(text, path)
	if err != nil || s.in == nil || s.at < 0 {
		return text, err
	}
	o, m := s.in, s.in.members[s.at]
	begin, end, last := o.start+1, m.end, s.at == len(o.members)-1
	if s.at > 0 {
		if before := o.members[s.at-1]; before.comma >= 0 {
			begin = before.comma + 1
		}
	}
	from := tail(text, begin, m.start)
	if m.comma >= 0 {
		end = m.comma + 1
	}
	if len(o.members) == 1 && from == o.start+1 && tail(text, end, o.end-1) == end {
		return spliced(text, splice{o.start + 1, o.end - 1, ""}), nil // nothing but us was in it
	}
	if lineComment(text, begin, from) && !endsLine(text[end:]) {
		from = m.start // what follows must not become part of the comment
	}
	cut := []splice{{from, end, ""}}
	if s.at > 0 && last && m.comma < 0 {
		before := o.members[s.at-1]
		cut = append(cut, splice{before.comma, before.comma + 1, ""})
	}
	return spliced(text, cut...), nil
}

func endsLine(text []byte) bool {
	rest := bytes.TrimLeft(text, " \t")
	return len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r'
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text can always be written
	return strings.TrimSuffix(b.String(), "\n")
}

// write gives a value that begins in a line of the given indentation.
func (st style) write(v any, indent string) string {
	switch v := v.(type) {
	case string:
		return quoteJSON(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case []string:
		all := make([]string, len(v))
		for i, s := range v {
			all[i] = quoteJSON(s)
		}
		return "[" + strings.Join(all, st.comma) + "]"
	case Object:
		if len(v) == 0 {
			return "{}"
		}
		all := make([]string, len(v))
		for i, m := range v {
			all[i] = quoteJSON(m.Key) + st.colon + st.write(m.Value, indent+st.unit)
		}
		if !st.lines {
			return "{" + st.pad + strings.Join(all, st.comma) + st.pad + "}"
		}
		step := st.newline + indent + st.unit
		return "{" + step + strings.Join(all, ","+step) + st.newline + indent + "}"
	}
	panic("bug: no value for a settings file")
}
