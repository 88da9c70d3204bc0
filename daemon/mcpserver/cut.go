package mcpserver

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxPageLines bounds a page: some clients cut by lines.
const maxPageLines = 1_500

// shape says where a text may be cut.
type shape uint8

const (
	shapeMarkdown shape = iota + 1 // between messages, outside fences
	shapeLines                     // between lines
)

// fence is a run of characters that opened a code block; empty: none is open.
type fence string

// after gives the fence that is open behind a line.
func (f fence) after(line []byte) fence {
	l := bytes.TrimRight(line, " \t\r\n")
	indent := len(l) - len(bytes.TrimLeft(l, " "))
	l = l[indent:]
	if indent > 3 || len(l) < 3 || l[0] != '`' && l[0] != '~' {
		return f
	}
	run := len(l) - len(bytes.TrimLeft(l, string(l[:1])))
	switch {
	case f == "" && run >= 3 && !(l[0] == '`' && bytes.IndexByte(l[run:], '`') >= 0):
		return fence(l[:run])
	case f != "" && run == len(l) && l[0] == f[0] && run >= len(f):
		return ""
	}
	return f
}

// fenceAt gives the fence that is open at byte off.
func fenceAt(body []byte, off int) fence {
	var f fence
	for at := 0; at < off; {
		end := lineEnd(body, at)
		if end > off {
			break // off is within a line, which opens nothing before it ends
		}
		f = f.after(body[at:end])
		at = end
	}
	return f
}

func lineEnd(body []byte, at int) int {
	if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(body)
}

// cut gives the end of the page that starts at off and holds at most max bytes:
// before a message's heading if that leaves a page of some size, else at a
// line outside fences, else at any line, else between two characters.
func cut(body []byte, off, max int, s shape) int {
	var open fence
	if s == shapeMarkdown {
		open = fenceAt(body, off)
	}
	var heading, outside, line int
	at, lines := off, 0
	for at < len(body) {
		end := lineEnd(body, at)
		if end-off > max || lines == maxPageLines {
			break
		}
		if s == shapeMarkdown {
			open = open.after(body[at:end])
		}
		at, lines = end, lines+1
		line = at
		if open == "" {
			outside = at
			if bytes.HasPrefix(body[at:], []byte("#")) {
				heading = at
			}
		}
	}
	if at == len(body) {
		return at
	}
	enough := off + max/4
	switch {
	case s == shapeLines && line > off:
		return line
	case s == shapeMarkdown && heading > enough:
		return heading
	case s == shapeMarkdown && outside > enough:
		return outside
	case lines == maxPageLines, s == shapeMarkdown && line > enough:
		return line
	}
	end := min(off+max, len(body))
	for end > off+utf8.UTFMax && end < len(body) && !utf8.RuneStart(body[end]) {
		end--
	}
	return end
}

// longestRepaired is the longest fence that is closed at a page's end and opened
// again on the next; a longer one is no honest text's.
const longestRepaired = 256

// repaired is body[off:end] with a fence that is open at either end opened and
// closed, so that a page is whole markdown by itself.
func repaired(body []byte, off, end int, s shape) string {
	text := string(body[off:end])
	if s != shapeMarkdown {
		return text
	}
	var b strings.Builder
	if f := fenceAt(body, off); f != "" && len(f) <= longestRepaired {
		b.WriteString(string(f) + "\n")
	}
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	if f := fenceAt(body, end); f != "" && len(f) <= longestRepaired {
		b.WriteString(string(f) + "\n")
	}
	return b.String()
}
