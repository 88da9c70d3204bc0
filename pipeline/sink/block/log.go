package block

import (
	"bytes"
	"fmt"
	"strings"
)

// Entry is what a daily log tells of one session at one time.
type Entry struct {
	ID8     string // last 8 hex digits of the thread's id
	Turn    int    // newest one it tells of
	Clock   string // HH:MM
	Heading string // what follows the clock in the heading, one line
	Bullets []string
}

// Marker is the line that stands above the entry.
func (e Entry) Marker() string { return fmt.Sprintf("%s%s@t%d%s", entryStart, e.ID8, e.Turn, closing) }

// Append returns the bytes to append to a log so that it has the entry. With
// data empty these are a new file's, which begins with the title as its "# "
// line. It returns nil if an entry with that marker is there, if the file is no
// text (see Unfit), and if the marker would be none (ID8 is no hash, Turn below
// 0). Texts are put on one line and made safe.
//
// A log may end inside a code fence that nobody closed. The entry then stands
// in it and the fence stays open: whoever writes the log may be about to close
// it, and to close it here would turn theirs around. Entries finds it there.
func Append(data []byte, e Entry, title string) []byte {
	if m, found := parseMark([]byte(e.Marker())); !found || m.kind != markEntry || Unfit(data) != "" {
		return nil
	}
	f := scan(data)
	for m := range f.entries {
		if m.id == e.ID8 && m.turn == e.Turn {
			return nil
		}
	}
	eol := lineEnd(data)
	var b strings.Builder
	text := bytes.TrimPrefix(data, []byte(bom))
	last := endOf(text)
	switch {
	case len(text) == 0:
		if t := titleLine(title); t != "" {
			b.WriteString(t + eol + eol)
		}
	case len(last) == 0:
		b.WriteString(eol + eol)
	default:
		if rest := text[:len(text)-len(last)]; len(rest) > 0 && len(endOf(rest)) == 0 {
			b.WriteString(eol)
		}
	}
	b.WriteString(e.Marker() + eol + strings.TrimRight("## "+oneLine(e.Clock+" "+e.Heading), " ") + eol)
	for _, s := range e.Bullets {
		if s = oneLine(s); s != "" {
			b.WriteString("- " + cleanLine(s) + eol)
		}
	}
	return []byte(b.String())
}

// Entries lists the markers of a log: the newest turn by ID8. Those inside a
// fence are text, unless it is never closed.
func Entries(data []byte) map[string]int {
	out := map[string]int{}
	if Unfit(data) != "" {
		return out
	}
	for m := range scan(data).entries {
		if old, ok := out[m.id]; !ok || m.turn > old {
			out[m.id] = m.turn
		}
	}
	return out
}

func (f *file) entries(yield func(mark) bool) {
	for _, marks := range [][]mark{f.marks, f.hidden} {
		for _, m := range marks {
			if m.kind == markEntry && !yield(m) {
				return
			}
		}
	}
}
