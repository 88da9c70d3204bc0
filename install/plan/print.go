package plan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// PrintOptions say how a plan is shown.
type PrintOptions struct {
	// Mask takes secrets out of each line of a file, and what would steer a
	// terminal; nil: nothing is.
	Mask func(line string) string
	// Private hides the values that files held before: they are of other
	// programs, and may be keys in any form. What is added is shown.
	Private bool
}

// String is the plan as people see it.
func (p Plan) String() string {
	var b strings.Builder
	_ = p.Print(&b, PrintOptions{}) // never fails
	return b.String()
}

// Print writes what is going to be done and why.
func (p Plan) Print(w io.Writer, o PrintOptions) error {
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	var b bytes.Buffer
	n := 0
	for _, s := range p.Steps {
		if s.Command != nil && len(s.Command.Argv) == 0 {
			continue // nothing happens now
		}
		n++
		if s.File != nil {
			s.File.print(&b, n, s.Why, o)
			continue
		}
		fmt.Fprintf(&b, "%2d. run %s\n    %s\n", n, o.Mask(Quote(s.Command.Argv)), s.Why)
		if len(s.Command.Undo) > 0 {
			fmt.Fprintf(&b, "    taken back by: %s\n", o.Mask(Quote(s.Command.Undo)))
		}
	}
	if n == 0 {
		b.WriteString("Nothing is to be done.\n")
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", o.Mask(note))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (f *File) print(b *bytes.Buffer, n int, why string, o PrintOptions) {
	verb := "change"
	switch {
	case f.After == nil:
		verb = "remove"
	case f.Before == nil:
		verb = "write"
	}
	fmt.Fprintf(b, "%2d. %s %s\n    %s\n", n, verb, o.Mask(f.Path), why)
	if missing, err := missingFolders(filepath.Dir(f.Path)); err == nil && f.After != nil && len(missing) > 0 {
		fmt.Fprintf(b, "    makes the folder %s\n", o.Mask(missing[len(missing)-1]))
	}
	if f.Backup != "" && f.Before != nil {
		fmt.Fprintf(b, "    what it holds now is kept as %s\n", o.Mask(f.Backup))
	}
	if f.After == nil {
		return
	}
	diff := f.diff()
	if o.Private && f.Before != nil && len(diff) > 0 && strings.ContainsRune(" +-", rune(diff[0][0])) {
		diff = private(diff, f.Backup != "")
	}
	for _, line := range diff {
		fmt.Fprintf(b, "      %s\n", o.Mask(line))
	}
}

// contextLines is how many lines are shown around a change.
const contextLines = 2

// diffMost is the size up to which a difference is worked out line by line.
const diffMost = 1500

// diff gives the lines that change, each with "+", "-" or " " in front.
func (f *File) diff() []string {
	before, ok := lines(f.Before)
	after, ok2 := lines(f.After)
	if !ok || !ok2 {
		return []string{fmt.Sprintf("(%d bytes, were %d)", len(f.After), len(f.Before))}
	}
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	old, now := before[head:len(before)-tail], after[head:len(after)-tail]
	if len(old) > diffMost || len(now) > diffMost {
		return []string{fmt.Sprintf("(%d lines become %d)", len(old), len(now))}
	}
	var all []string
	for _, l := range before[:head] {
		all = append(all, " "+l)
	}
	all = append(all, changes(old, now)...)
	for _, l := range after[len(after)-tail:] {
		all = append(all, " "+l)
	}
	return around(all)
}

// changes is the difference by the longest common subsequence.
func changes(old, now []string) []string {
	long := make([][]int, len(old)+1)
	for i := range long {
		long[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				long[i][j] = long[i+1][j+1] + 1
			} else {
				long[i][j] = max(long[i+1][j], long[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			out = append(out, " "+old[i])
			i, j = i+1, j+1
		case i < len(old) && (j == len(now) || long[i+1][j] >= long[i][j+1]):
			out = append(out, "-"+old[i])
			i++
		default:
			out = append(out, "+"+now[j])
			j++
		}
	}
	return out
}

// around keeps the changed lines and a few next to them.
func around(all []string) []string {
	near := make([]bool, len(all))
	for i, l := range all {
		if l[0] == ' ' {
			continue
		}
		for k := max(0, i-contextLines); k <= min(len(all)-1, i+contextLines); k++ {
			near[k] = true
		}
	}
	var out []string
	for i, l := range all {
		if near[i] {
			out = append(out, l)
		} else if i > 0 && near[i-1] {
			out = append(out, " …")
		}
	}
	return out
}

// lines cuts text; false if it is none.
func lines(text []byte) ([]string, bool) {
	text = plain(text)
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, false
	}
	s := strings.TrimSuffix(string(text), "\n")
	if s == "" {
		return nil, true
	}
	return strings.Split(s, "\n"), true
}

// plain turns UTF-16 with a mark, as Windows writes it, into what people read.
func plain(text []byte) []byte {
	rest, ok := bytes.CutPrefix(text, []byte{0xff, 0xfe})
	if !ok || len(rest)%2 != 0 {
		return text
	}
	units := make([]uint16, 0, len(rest)/2)
	for i := 0; i < len(rest); i += 2 {
		units = append(units, binary.LittleEndian.Uint16(rest[i:]))
	}
	return bytes.ReplaceAll([]byte(string(utf16.Decode(units))), []byte("\r\n"), []byte("\n"))
}

// Text is what the file gets, as people read it; empty for what is no text.
func (f *File) Text() string {
	if text := plain(f.After); utf8.Valid(text) {
		return string(text)
	}
	return ""
}
