package edit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxDepth of tables in tables: deeper ones are nobody's settings.
const maxDepth = 500

// jsonText is the language JSON, lax with comments and trailing commas.
type jsonText struct{ lax bool }

// object is a table as it stands in the text: from { to behind }.
type object struct {
	start, end int
	members    []member
}

type member struct {
	key        string
	start      int // of the key
	keyEnd     int
	value, end int // of the value
	comma      int // behind the value; -1 for none
	below      *object
}

// find gives the member of a name; the second of them is a fault.
func (o *object) find(key string) (int, error) {
	at := -1
	for i, m := range o.members {
		if m.key != key {
			continue
		}
		if at >= 0 {
			return 0, &fault{at: m.start, kind: Duplicate, problem: strconv.Quote(key) + " is here a second time", next: "take one of the two out; then try again"}
		}
		at = i
	}
	return at, nil
}

// jsonParser reads a text to its end and keeps what lies on a path.
type jsonParser struct {
	text  []byte
	lax   bool
	pos   int
	blank [][2]int // comments and trailing commas
}

// parse gives the outermost table; nil for a text with nothing in it.
func (j jsonText) parse(text []byte, path []string) (*object, *jsonParser, error) {
	p := &jsonParser{text: text, lax: j.lax}
	if err := p.space(); err != nil {
		return nil, p, err
	}
	if p.pos == len(text) {
		return nil, p, nil
	}
	if text[p.pos] != '{' {
		return nil, p, &fault{at: p.pos, kind: WrongType, problem: "the file holds no object: it begins with " + p.seen() + " instead of {", next: mendIt}
	}
	_, root, err := p.value(path, true, 0)
	if err == nil {
		err = p.space()
	}
	if err == nil && p.pos < len(text) {
		err = p.wrong("something stands behind the end: " + p.seen())
	}
	return root, p, err
}

func (p *jsonParser) wrong(problem string) error {
	return &fault{at: p.pos, kind: Malformed, problem: problem}
}

// seen names what stands at the position.
func (p *jsonParser) seen() string {
	if p.pos >= len(p.text) {
		return "the end of the file"
	}
	r := []rune(string(p.text[p.pos:min(len(p.text), p.pos+4)]))
	return strconv.QuoteRune(r[0])
}

// space skips white space and comments.
func (p *jsonParser) space() error {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonParser) comment() error {
	if !p.lax {
		return p.wrong("a comment, which this file's program doesn't read")
	}
	rest, begin := p.text[p.pos:], p.pos
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		n := bytes.IndexAny(rest, "\r\n")
		if n < 0 {
			n = len(rest)
		}
		p.pos += n
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return p.wrong("a comment that doesn't end")
		}
		p.pos += 2 + n + 2
	default:
		return p.wrong("a / that begins no comment")
	}
	p.blank = append(p.blank, [2]int{begin, p.pos})
	return nil
}

// value reads one value, and keeps a table that lies on the path.
func (p *jsonParser) value(path []string, on bool, depth int) (start int, o *object, err error) {
	if depth > maxDepth {
		return 0, nil, p.wrong("tables nested too deeply")
	}
	start = p.pos
	if p.pos == len(p.text) {
		return 0, nil, p.wrong("the file ends where a value should be")
	}
	switch p.text[p.pos] {
	case '{':
		o, err = p.object(path, on, depth)
	case '[':
		err = p.array(depth)
	case '"':
		_, err = p.str()
	default:
		n := bytes.IndexAny(p.text[p.pos:], " \t\r\n,:]}[{\"/")
		if n < 0 {
			n = len(p.text) - p.pos
		}
		if word := p.text[p.pos : p.pos+n]; n == 0 || !json.Valid(word) {
			return 0, nil, p.wrong("no value: " + p.seen())
		}
		p.pos += n
	}
	return start, o, err
}

func (p *jsonParser) object(path []string, on bool, depth int) (*object, error) {
	o := &object{start: p.pos}
	p.pos++
	for {
		if err := p.space(); err != nil {
			return nil, err
		}
		if done, err := p.closes('}', len(o.members) > 0); done || err != nil {
			o.end = p.pos
			return o, err
		}
		if p.pos == len(p.text) || p.text[p.pos] != '"' {
			return nil, p.wrong("a name in double quotes should be here, not " + p.seen())
		}
		m := member{start: p.pos, comma: -1}
		var err error
		if m.key, err = p.str(); err != nil {
			return nil, err
		}
		m.keyEnd = p.pos
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.pos == len(p.text) || p.text[p.pos] != ':' {
			return nil, p.wrong("a colon should be behind the name " + strconv.Quote(m.key) + ", not " + p.seen())
		}
		p.pos++
		if err := p.space(); err != nil {
			return nil, err
		}
		here := on && len(path) > 0 && path[0] == m.key
		var below []string
		if here {
			below = path[1:]
		}
		if m.value, m.below, err = p.value(below, here, depth+1); err != nil {
			return nil, err
		}
		m.end = p.pos
		comma, err := p.comma('}')
		if err != nil {
			return nil, err
		}
		m.comma = comma
		if on || len(o.members) == 0 { // else only that there is one counts
			o.members = append(o.members, m)
		}
	}
}

func (p *jsonParser) array(depth int) error {
	p.pos++
	for n := 0; ; n++ {
		if err := p.space(); err != nil {
			return err
		}
		if done, err := p.closes(']', n > 0); done || err != nil {
			return err
		}
		if _, _, err := p.value(nil, false, depth+1); err != nil {
			return err
		}
		if _, err := p.comma(']'); err != nil {
			return err
		}
	}
}

// closes takes the end of a table or list. A comma before it is kept in mind as
// no part of the standard.
func (p *jsonParser) closes(end byte, some bool) (bool, error) {
	if p.pos == len(p.text) || p.text[p.pos] != end {
		return false, nil
	}
	if some {
		before := p.pos - 1
		for i := len(p.blank) - 1; before > 0; before-- {
			if i >= 0 && before == p.blank[i][1]-1 {
				before, i = p.blank[i][0], i-1
				continue
			}
			if c := p.text[before]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				break
			}
		}
		if p.text[before] == ',' {
			if !p.lax {
				p.pos = before
				return false, p.wrong("a comma behind the last of a list, which this file's program doesn't read")
			}
			p.blank = append(p.blank, [2]int{before, before + 1})
		}
	}
	p.pos++
	return true, nil
}

// comma takes the comma behind a value, if there is one; else the end has to
// follow.
func (p *jsonParser) comma(end byte) (int, error) {
	if err := p.space(); err != nil {
		return -1, err
	}
	switch {
	case p.pos == len(p.text):
		return -1, p.wrong("the file ends within a table or list")
	case p.text[p.pos] == ',':
		p.pos++
		return p.pos - 1, nil
	case p.text[p.pos] != end:
		return -1, p.wrong("a comma or " + strconv.QuoteRune(rune(end)) + " should be here, not " + p.seen())
	}
	return -1, nil
}

// str reads a text in quotes.
func (p *jsonParser) str() (string, error) {
	begin := p.pos
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\\':
			p.pos++
		case c == '"':
			p.pos++
			var s string
			if err := json.Unmarshal(p.text[begin:p.pos], &s); err != nil {
				p.pos = begin
				return "", p.wrong("a text with a wrong escape")
			}
			return s, nil
		case c < ' ':
			return "", p.wrong("a text that its line ends, or a control character in it")
		}
	}
	p.pos = begin
	return "", p.wrong("a text that doesn't end")
}

// tree decodes by the standard library, after what is no JSON was blanked.
func (j jsonText) tree(text []byte) (map[string]any, error) {
	root, p, err := j.parse(text, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if root == nil {
		return out, nil
	}
	clear := bytes.Clone(text)
	for _, b := range p.blank {
		copy(clear[b[0]:b[1]], bytes.Repeat([]byte(" "), b[1]-b[0]))
	}
	d := json.NewDecoder(bytes.NewReader(clear))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return nil, &fault{kind: Malformed, problem: strings.TrimPrefix(err.Error(), "json: ")}
	}
	return out, nil
}
