package block

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

const (
	beginStart = "<!-- session-migrator:begin v=1 hash="
	endMark    = "<!-- session-migrator:end -->"
	entryStart = "<!-- session-migrator:entry "
	closing    = " -->"
	hashLen    = 8
)

func beginMark(hash string) string { return beginStart + hash + closing }

// parseMark tells whether a line, without its end, is a marker. A begin or end
// must be the line to the byte; one that was indented, that more was written
// behind, or that another version made is odd. Within a line it is text.
func parseMark(text []byte) (m mark, found bool) {
	indent, rest := indentOf(text, 0)
	if !bytes.HasPrefix(rest, []byte("<!--")) || indent >= 4 {
		return mark{}, false
	}
	line := string(text)
	if line == endMark {
		return mark{kind: markEnd}, true
	}
	if hash, ok := between(line, beginStart, closing); ok && len(hash) == hashLen && isHex(hash) {
		return mark{kind: markBegin, hash: hash}, true
	}
	if entry, ok := between(line, entryStart, closing); ok {
		id, turn, ok := strings.Cut(entry, "@t")
		n, err := strconv.Atoi(turn)
		if ok && len(id) == hashLen && isHex(id) && err == nil && n >= 0 && strconv.Itoa(n) == turn {
			return mark{kind: markEntry, id: id, turn: n}, true
		}
		return mark{}, false
	}
	name, ok := bytes.CutPrefix(bytes.TrimLeft(rest[len("<!--"):], " \t"), []byte("session-migrator:"))
	if ok && (bytes.HasPrefix(name, []byte("begin")) || bytes.HasPrefix(name, []byte("end"))) {
		return mark{kind: markOdd}, true
	}
	return mark{}, false
}

func between(s, before, after string) (string, bool) {
	s, ok := strings.CutPrefix(s, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, after)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// span is the block of a file: data[start:end] are its lines, markers
// included, data[inner:innerEnd] those between.
type span struct {
	start, inner, innerEnd, end int
	hash                        string // in its marker
}

// block returns the only block of the file, nil if there is none; or why it
// can't be told what is ours.
func (f *file) block() (*span, string) {
	var begin, end *mark
	for i, m := range f.marks {
		switch {
		case m.kind == markEntry:
		case m.kind == markOdd:
			return nil, fmt.Sprintf("the marker in line %d is not one that this version writes", m.line)
		case m.kind == markBegin && begin == nil:
			begin = &f.marks[i]
		case m.kind == markBegin && end == nil:
			return nil, fmt.Sprintf("line %d begins a block inside the block that line %d begins", m.line, begin.line)
		case m.kind == markBegin:
			return nil, fmt.Sprintf("there are two blocks, in lines %d and %d", begin.line, m.line)
		case begin == nil || end != nil:
			return nil, fmt.Sprintf("line %d ends a block that was not begun", m.line)
		default:
			end = &f.marks[i]
		}
	}
	for _, m := range f.hidden {
		if m.kind != markEntry {
			return nil, fmt.Sprintf("the code fence in line %d is not closed; the marker in line %d is inside", f.open, m.line)
		}
	}
	switch {
	case begin == nil:
		return nil, ""
	case end == nil:
		return nil, fmt.Sprintf("the block that line %d begins has no end", begin.line)
	}
	return &span{start: begin.start, inner: begin.end, innerEnd: end.start, end: end.end, hash: begin.hash}, ""
}
