package block

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// bom is the byte order mark of UTF-8.
const bom = "\ufeff"

// Where a block goes: these bound how far down. A consumer that has little room
// keeps the head of a file and cuts the rest.
const (
	frontWithin = 200 // lines; a longer front matter is none
	titleWithin = 20  // lines below the front matter; a heading further down is no title
)

// mark is a line with a marker of ours.
type mark struct {
	kind       markKind
	line       int    // 1-based
	start, end int    // of the line, its end included
	hash       string // of a begin
	id         string // of an entry
	turn       int    // of an entry
}

type markKind uint8

const (
	markBegin markKind = iota + 1
	markEnd
	markOdd // looks like a begin or end, but is none that this version writes
	markEntry
)

// file is what a scan found.
type file struct {
	data  []byte
	place int    // offset where a new block goes
	marks []mark // outside of fences, in order
	// hidden are those in a fence that is never closed, which opens at line
	// open. Whether it is meant to hold them can't be told.
	hidden []mark
	open   int
	html   string // what would end the HTML that is open at the end
}

// scanner follows the lines of a file as CommonMark does, as far as needed to
// know for each line that begins in the first column whether it is code. Such
// a line ends every list and quote and the fences in them, so of these only
// the outermost list item is followed, and what is open inside it roughly.
type scanner struct {
	fence    fence // that is open
	opened   int   // line it opens at
	inFence  []mark
	html     string // what ends the open HTML, see htmlEnds
	item     int    // column where the text of the open list item begins, 0: none
	bare     bool   // the item has no text yet
	within   fence  // that is open inside the item
	lazy     bool   // the last line was text of the item or quote, which may go on in the first column
	para     bool   // the last line was a paragraph's
	headline bool   // the last line was a "# " heading
}

// fence is an open code fence; the zero value is none.
type fence struct {
	char   byte // '`' or '~'
	length int  // of its run
}

// opens returns the fence that a line opens, given from its first character on.
func opens(rest []byte) fence {
	n := run(rest, rest[0])
	if n >= 3 && (rest[0] == '~' || rest[0] == '`' && bytes.IndexByte(rest[n:], '`') < 0) {
		return fence{rest[0], n}
	}
	return fence{}
}

// closes tells whether a line closes the fence.
func (f fence) closes(rest []byte) bool {
	n := run(rest, f.char)
	return n >= f.length && isBlank(rest[n:])
}

// scan reads a file. Front matter is no markdown and is passed over.
func scan(data []byte) *file {
	f := &file{data: data}
	pos := 0
	if bytes.HasPrefix(data, []byte(bom)) {
		pos = len(bom)
	}
	front := frontEnd(data, pos)
	f.place = max(pos, front)
	var s scanner
	line, titleBy := 0, 0 // titleBy is the last line that may be the title
	for pos < len(data) {
		textEnd, end := nextLine(data, pos)
		text := data[pos:textEnd]
		line++
		if pos < front {
			pos = end
			continue
		}
		m, found := parseMark(text)
		m.line, m.start, m.end = line, pos, end
		if titleBy == 0 {
			titleBy = line + titleWithin - 1
		}
		code := s.step(text, line)
		switch {
		case found && code:
			s.inFence = append(s.inFence, m)
		case found:
			f.marks = append(f.marks, m)
		}
		if s.headline && line <= titleBy {
			f.place, titleBy = end, -1
		}
		pos = end
	}
	if s.fence != (fence{}) {
		f.hidden, f.open = s.inFence, s.opened
	}
	f.html = s.html
	return f
}

// step takes the next line and tells whether it is inside a fence.
func (s *scanner) step(text []byte, line int) (code bool) {
	lazy, para := s.lazy, s.para
	s.lazy, s.para, s.headline = false, false, false
	indent, rest := indentOf(text, 0)
	if s.fence != (fence{}) {
		if indent < 4 && s.fence.closes(rest) {
			s.fence = fence{}
			return false
		}
		return true
	}
	if s.html != "" {
		if endsHTML(rest, s.html) {
			s.html = ""
		}
		return false
	}
	switch {
	case len(rest) == 0:
		if s.bare { // an item may begin with one blank line at most
			s.item, s.bare = 0, false
		}
		return false
	case s.item > 0 && indent >= s.item:
		s.bare = false
		s.nested(rest)
		return s.within != (fence{})
	case indent >= 4:
		s.lazy, s.para = lazy, para
		return false
	}
	column, text := listItem(rest, indent, para)
	switch {
	case column > 0:
		s.item, s.bare, s.within = column, len(text) == 0, fence{}
		s.nested(text)
		return false
	case rest[0] == '>':
		s.item, s.within = 0, fence{}
		_, text = indentOf(rest[1:], 0)
		s.nested(text)
		return false
	case opens(rest) != (fence{}):
		s.fence, s.opened, s.inFence = opens(rest), line, nil
	case rest[0] == '<' && htmlEnd(rest) != "":
		if end := htmlEnd(rest); !endsHTML(rest, end) {
			s.html = end
		}
	case isHeading(rest):
		s.headline = bytes.HasPrefix(rest, []byte("# ")) && len(bytes.TrimSpace(rest)) > 1
	case isRule(rest):
	case lazy:
		s.lazy = true
		return false
	default:
		s.para = true
	}
	s.item, s.bare = 0, false
	return false
}

// nested takes a line of an item or quote, without what makes it one.
func (s *scanner) nested(text []byte) {
	switch {
	case len(text) == 0, text[0] == ' ', text[0] == '\t': // none, or indented code
	case s.within != (fence{}):
		if s.within.closes(text) {
			s.within = fence{}
		}
	default:
		s.within = opens(text)
		s.lazy = s.within == (fence{})
	}
}

// nextLine returns where the text of a line ends and where the next begins. A
// line ends with LF, CRLF or CR.
func nextLine(data []byte, pos int) (textEnd, end int) {
	i := bytes.IndexAny(data[pos:], "\r\n")
	switch {
	case i < 0:
		return len(data), len(data)
	case data[pos+i] == '\r' && pos+i+1 < len(data) && data[pos+i+1] == '\n':
		return pos + i, pos + i + 2
	}
	return pos + i, pos + i + 1
}

// frontEnd returns where the front matter ends that begins at pos, or pos. A
// rule that another one follows further down is none: nothing of ours is in
// front matter, and it doesn't begin with a blank line.
func frontEnd(data []byte, pos int) int {
	begin := pos
	for line := 0; pos < len(data) && line < frontWithin; line++ {
		textEnd, end := nextLine(data, pos)
		text := bytes.TrimRight(data[pos:textEnd], " \t")
		if line == 0 && string(text) != "---" || line == 1 && len(text) == 0 {
			return begin
		}
		if line > 0 && (string(text) == "---" || string(text) == "...") {
			return end
		}
		if _, found := parseMark(data[pos:textEnd]); found {
			return begin
		}
		pos = end
	}
	return begin
}

// indentOf returns the column of the first character that is not a blank, and
// the text from there on, of text that begins in a column. rest is empty if all
// is blank.
func indentOf(text []byte, column int) (indent int, rest []byte) {
	for i, c := range text {
		switch c {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return column, text[i:]
		}
	}
	return column, nil
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t")) == 0 }

// run counts how often c stands at the beginning.
func run(text []byte, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

func isHeading(rest []byte) bool {
	n := run(rest, '#')
	return n >= 1 && n <= 6 && (n == len(rest) || rest[n] == ' ' || rest[n] == '\t')
}

// isRule tells a thematic break, or what underlines a heading.
func isRule(rest []byte) bool {
	c, n := rest[0], 0
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	for _, b := range rest {
		switch b {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// listItem returns the column where the text of a list item begins that opens
// with this line, 0 if none does, and what of its text is on the line.
func listItem(rest []byte, indent int, para bool) (column int, text []byte) {
	if isRule(rest) {
		return 0, nil
	}
	n := 1 // length of the item's mark
	switch c := rest[0]; {
	case c == '-' || c == '+' || c == '*':
	case c >= '0' && c <= '9':
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n > 9 || n == len(rest) || rest[n] != '.' && rest[n] != ')' || para && string(rest[:n]) != "1" {
			return 0, nil
		}
		n++
	default:
		return 0, nil
	}
	column = indent + n
	after := rest[n:]
	at, text := indentOf(after, column)
	switch {
	case len(text) == 0 && para: // can't cut a paragraph in two
		return 0, nil
	case len(text) == 0:
		return column + 1, nil
	case at == column:
		return 0, nil
	case at-column > 4: // the item begins with indented code
		return column + 1, after[1:]
	}
	return at, text
}

// rawTags are the elements whose content is not markdown.
var rawTags = []string{"pre", "script", "style", "textarea"}

// htmlEnd returns what ends the HTML that a line opens in which nothing is
// markdown, not even after a blank line; "" if it opens none.
func htmlEnd(rest []byte) string {
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return "-->"
	case bytes.HasPrefix(rest, []byte("<?")):
		return "?>"
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return "]]>"
	case len(rest) > 2 && rest[1] == '!' && (rest[2]|0x20 >= 'a' && rest[2]|0x20 <= 'z'):
		return ">"
	}
	for _, tag := range rawTags {
		n := 1 + len(tag)
		if len(rest) >= n && strings.EqualFold(string(rest[1:n]), tag) && (len(rest) == n || bytes.IndexByte([]byte(" \t>"), rest[n]) >= 0) {
			return "</"
		}
	}
	return ""
}

// endsHTML tells whether a line has what ends the open HTML.
func endsHTML(text []byte, end string) bool {
	if end != "</" {
		return bytes.Contains(text, []byte(end))
	}
	lower := bytes.ToLower(text)
	for _, tag := range rawTags {
		if bytes.Contains(lower, []byte("</"+tag+">")) {
			return true
		}
	}
	return false
}

// Unfit tells why a file as a whole is no place for lines of ours, "" if it is
// one: it isn't UTF-8 text.
func Unfit(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")):
		return "the file is UTF-32, not UTF-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "the file is UTF-16, not UTF-8"
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return fmt.Sprintf("there is a NUL byte in line %d", lineAt(data, i))
	}
	if utf8.Valid(data) {
		return ""
	}
	i := 0
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return fmt.Sprintf("line %d is not valid UTF-8", lineAt(data, i))
}

func lineAt(data []byte, offset int) int {
	n, pos := 0, 0
	for pos <= offset {
		_, pos = nextLine(data, pos)
		n++
	}
	return n
}
