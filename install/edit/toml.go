package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlText is the language TOML. The grammar is checked by a library, before
// and after: what is here only finds where things stand in a text that it took.
// A newer TOML's line breaks and commas in inline tables are found too.
type tomlText struct{}

// statement is a header or a key with its value, and where it stands.
type statement struct {
	path   []string // whole, with the header's
	header bool
	array  bool // a header in double brackets
	start  int  // of its first character
	line   int  // start of its line
	end    int  // behind its line's end
	value  int  // of a key: its value from here
	last   int  // to here
	head   int  // of a key: bytes from start on that name the parts before its last one
}

// inline is a table in braces.
type inline struct {
	start, end int
	members    []statement // paths are relative
	commas     []int       // behind each member; -1 for none
}

// scanner walks over a text.
type scanner struct {
	text []byte
	pos  int
}

func (s *scanner) lost() error {
	return &fault{at: min(s.pos, len(s.text)), kind: Malformed, problem: "this is not understood"}
}

// tree decodes by a library that shares nothing with this package.
func (tomlText) tree(text []byte) (map[string]any, error) {
	out := map[string]any{}
	_, err := toml.Decode(string(text), &out)
	if err == nil {
		return out, nil
	}
	e, ok := err.(toml.ParseError) //nolint:errorlint // given as it is
	if !ok {
		return nil, &fault{kind: Malformed, problem: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	kind, next := Malformed, ""
	if strings.Contains(e.Message, "already been defined") || strings.Contains(e.Message, "already defined") || strings.Contains(e.Message, "uplicate") {
		kind, next = Duplicate, "take one of the two out; then try again"
	}
	return nil, &fault{at: e.Position.Start, kind: kind, problem: e.Message, next: next}
}

// scan gives all statements in order.
func scan(text []byte) ([]statement, error) {
	s := &scanner{text: text}
	var all []statement
	var table []string
	for {
		s.blank()
		if s.pos >= len(text) {
			return all, nil
		}
		st := statement{start: s.pos, line: bytes.LastIndexByte(text[:s.pos], '\n') + 1}
		if text[s.pos] == '[' {
			st.header = true
			s.pos++
			if st.array = s.at('['); st.array {
				s.pos++
			}
			var err error
			if st.path, _, err = s.key(); err != nil {
				return nil, err
			}
			table = st.path
			for s.at(']') {
				s.pos++
			}
		} else {
			key, head, err := s.key()
			if err != nil {
				return nil, err
			}
			st.path, st.head = slices.Concat(table, key), head
			if !s.at('=') {
				return nil, s.lost()
			}
			s.pos++
			s.spaces()
			st.value = s.pos
			if err := s.value(); err != nil {
				return nil, err
			}
			st.last = s.pos
		}
		s.spaces()
		s.comment()
		if s.pos < len(text) && !s.newline() {
			return nil, s.lost()
		}
		st.end = s.pos
		all = append(all, st)
	}
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *scanner) spaces() {
	for s.at(' ') || s.at('\t') {
		s.pos++
	}
}

func (s *scanner) comment() {
	if s.at('#') {
		n := bytes.IndexByte(s.text[s.pos:], '\n')
		if n < 0 {
			s.pos = len(s.text)
			return
		}
		s.pos += n
		if s.text[s.pos-1] == '\r' {
			s.pos--
		}
	}
}

func (s *scanner) newline() bool {
	rest := s.text[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("\r\n")):
		s.pos += 2
	case bytes.HasPrefix(rest, []byte("\n")):
		s.pos++
	default:
		return false
	}
	return true
}

// blank skips white space, line ends and comments.
func (s *scanner) blank() {
	for {
		s.spaces()
		s.comment()
		if s.pos >= len(s.text) || !s.newline() {
			return
		}
	}
}

// key reads a key of one or more parts, and the white space behind it. head is
// how many bytes come before its last part.
func (s *scanner) key() (parts []string, head int, err error) {
	s.spaces()
	begin := s.pos
	for {
		s.spaces()
		head = s.pos - begin
		from := s.pos
		if s.at('"') || s.at('\'') {
			if err := s.str(); err != nil {
				return nil, 0, err
			}
			part, err := unquote(s.text[from:s.pos])
			if err != nil {
				return nil, 0, err
			}
			parts = append(parts, part)
		} else {
			for s.pos < len(s.text) && !bytes.ContainsRune([]byte(" \t\r\n.=[]{}#\"',"), rune(s.text[s.pos])) {
				s.pos++
			}
			if s.pos == from {
				return nil, 0, s.lost()
			}
			parts = append(parts, string(s.text[from:s.pos]))
		}
		s.spaces()
		if !s.at('.') {
			return parts, head, nil
		}
		s.pos++
	}
}

// unquote gives what a key in quotes means.
func unquote(raw []byte) (string, error) {
	var one struct{ V string }
	if _, err := toml.Decode("V = "+string(raw), &one); err != nil {
		return "", &fault{kind: Malformed, problem: "a key that is not understood: " + string(raw)}
	}
	return one.V, nil
}

// str reads a text in quotes of any kind.
func (s *scanner) str() error {
	q := s.text[s.pos]
	begin, rest := s.pos, s.text[s.pos:]
	if long := bytes.Repeat([]byte{q}, 3); bytes.HasPrefix(rest, long) {
		for s.pos += 3; s.pos < len(s.text); s.pos++ {
			if q == '"' && s.text[s.pos] == '\\' {
				s.pos++
				continue
			}
			if bytes.HasPrefix(s.text[s.pos:], long) {
				for s.pos += 3; s.at(q); s.pos++ { // up to two quotes may end the text itself
				}
				return nil
			}
		}
		s.pos = begin
		return s.lost()
	}
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != '\n'; s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			if q == '"' {
				s.pos++
			}
		case q:
			s.pos++
			return nil
		}
	}
	s.pos = begin
	return s.lost()
}

// value reads one value.
func (s *scanner) value() error {
	switch {
	case s.pos >= len(s.text):
		return s.lost()
	case s.at('"') || s.at('\''):
		return s.str()
	case s.at('['):
		s.pos++
		for {
			s.blank()
			switch {
			case s.at(']'):
				s.pos++
				return nil
			case s.at(','):
				s.pos++
				continue
			}
			if err := s.value(); err != nil {
				return err
			}
		}
	case s.at('{'):
		_, err := s.inline()
		return err
	}
	from := s.pos
	for s.pos < len(s.text) && !bytes.ContainsRune([]byte(",]}#\r\n"), rune(s.text[s.pos])) {
		s.pos++
	}
	s.pos = from + len(bytes.TrimRight(s.text[from:s.pos], " \t"))
	if s.pos == from {
		return s.lost()
	}
	return nil
}

// inline reads a table in braces.
func (s *scanner) inline() (*inline, error) {
	t := &inline{start: s.pos}
	s.pos++
	for {
		s.blank()
		if s.at('}') {
			s.pos++
			t.end = s.pos
			return t, nil
		}
		m := statement{start: s.pos}
		var err error
		if m.path, m.head, err = s.key(); err != nil {
			return nil, err
		}
		if !s.at('=') {
			return nil, s.lost()
		}
		s.pos++
		s.spaces()
		m.value = s.pos
		if err := s.value(); err != nil {
			return nil, err
		}
		m.last = s.pos
		comma := -1
		s.blank()
		if s.at(',') {
			comma = s.pos
			s.pos++
		} else if !s.at('}') {
			return nil, s.lost()
		}
		t.members, t.commas = append(t.members, m), append(t.commas, comma)
	}
}

func quoteTOML(s string) string {
	if !strings.ContainsAny(s, "'\n\r") && strings.ContainsAny(s, `\"`) && !strings.ContainsFunc(s, isControl) {
		return "'" + s + "'" // paths of Windows stay readable
	}
	return strings.ReplaceAll(quoteJSON(s), "\x7f", `\u007f`)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// bareKey writes a key, in quotes where it needs them.
func bareKey(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return s
	}
	return quoteJSON(s)
}

func dotted(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = bareKey(p)
	}
	return strings.Join(parts, ".")
}
