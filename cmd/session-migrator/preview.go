package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

type previewJSON struct {
	Schema   int           `json:"schema"`
	Sink     string        `json:"sink"`
	ThreadID string        `json:"thread_id"`
	Files    []previewFile `json:"files"`
}

type previewFile struct {
	Path    string  `json:"path"`
	Exists  bool    `json:"exists"`
	Changed bool    `json:"changed"`
	Ours    bool    `json:"ours"` // the whole file, not only lines in it
	Text    *string `json:"text"` // of the whole file as it would be; null: it stays as it is
	Diff    string  `json:"diff"` // unified; empty: nothing changes
	Problem string  `json:"problem,omitempty"`
}

// previewOf gives a file as it is shown.
func previewOf(f sink.SharedFile) previewFile {
	p := previewFile{Path: shown(f.Path), Exists: f.Old != nil, Ours: f.Ours, Problem: shown(problemOf(f))}
	if f.New == nil || f.Problem != "" && bytes.Equal(f.Old, f.New) { // left as it is
		return p
	}
	text := string(f.New)
	p.Text = &text
	if p.Changed = f.Old == nil || !bytes.Equal(f.Old, f.New); p.Changed {
		p.Diff = unified(p.Path, f.Old, f.New)
	}
	return p
}

func (a *app) printPreview(name, id string, files []sink.SharedFile) error {
	out := previewJSON{Schema: 1, Sink: name, ThreadID: id}
	for _, f := range files {
		out.Files = append(out.Files, previewOf(f))
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	for _, f := range out.Files {
		if f.Problem != "" {
			a.warn("%s: %s", f.Path, f.Problem)
		}
		switch {
		case f.Text == nil:
			put(a.err, "%s stays as it is\n", clean(f.Path, false))
		case !f.Changed:
			put(a.err, "%s is up to date\n", clean(f.Path, false))
		default:
			put(a.out, "%s", clean(f.Diff, true))
		}
	}
	return nil
}

const (
	diffContext = 3
	diffMost    = 2000 // lines that are compared; more are shown as replaced
)

// edit is one line of a comparison: ' ' in both, '-' only before, '+' only after.
type edit struct {
	mark byte
	text string
}

// unified is the difference of two files as diff -u writes it. before nil: there
// was no file.
func unified(path string, before, after []byte) string {
	from, to := path, path
	if before == nil {
		from = "/dev/null"
	}
	edits := compared(lines(before), lines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	for i := 0; i < len(edits); {
		if edits[i].mark == ' ' {
			i++
			continue
		}
		start, end, same := max(0, i-diffContext), i, 0
		for j := i; j < len(edits) && same <= 2*diffContext; j++ {
			if edits[j].mark == ' ' {
				same++
			} else {
				same, end = 0, j+1
			}
		}
		end = min(len(edits), end+diffContext)
		hunk(&b, edits, start, end)
		i = end
	}
	return b.String()
}

func hunk(b *strings.Builder, edits []edit, start, end int) {
	count := func(es []edit, skip byte) (n int) {
		for _, e := range es {
			if e.mark != skip {
				n++
			}
		}
		return n
	}
	place := func(skip byte) string {
		first, n := count(edits[:start], skip), count(edits[start:end], skip)
		if n > 0 {
			first++
		}
		return fmt.Sprintf("%d,%d", first, n)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", place('+'), place('-'))
	for _, e := range edits[start:end] {
		b.WriteByte(e.mark)
		b.WriteString(e.text)
		if !strings.HasSuffix(e.text, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// lines parts a text behind its ends of lines.
func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	out := strings.SplitAfter(string(text), "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// compared finds what stays of one text in the other, as much as there is.
func compared(a, b []string) (out []edit) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		out = append(out, edit{' ', a[head]})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		out = append(out, edit{' ', l})
	}
	return out
}

// middle compares by the longest common sequence.
func middle(a, b []string) (out []edit) {
	i, j := 0, 0
	if len(a) <= diffMost && len(b) <= diffMost {
		width := len(b) + 1
		common := make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out = append(out, edit{' ', a[i]})
				i++
				j++
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				out = append(out, edit{'-', a[i]})
				i++
			default:
				out = append(out, edit{'+', b[j]})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		out = append(out, edit{'-', a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, edit{'+', b[j]})
	}
	return out
}
