package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// printJSON prints a value on one indented page, text as it is written.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// latch is where answers go. It remembers the first error, so that a full disk
// is told at the end of a command and not at each of its lines.
type latch struct {
	w   io.Writer
	err error
}

func (l *latch) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	if err != nil && l.err == nil {
		l.err = err
	}
	return n, err
}

// put prints without an answer: stdout remembers what went wrong, and what
// stderr can't take nobody can be told.
func put(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// terminal tells whether w is one, and how wide.
func terminal(w io.Writer) (columns int, ok bool) {
	if l, ok := w.(*latch); ok {
		w = l.w
	}
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return 80, true
	}
	return columns, true
}

type colour string

const (
	bold   colour = "1"
	dim    colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

// paint colours text if w is a terminal whose user did not decline.
func (a *app) paint(w io.Writer, c colour, text string) string {
	if a.flags.noColor || a.env("NO_COLOR") != "" || a.env("TERM") == "dumb" {
		return text
	}
	if _, ok := terminal(w); !ok {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// table lays out rows in columns. The last column is cut to what a terminal
// shows; nothing is cut for a pipe.
type table struct {
	head  []string
	right []bool // align the column to the right
	rows  [][]string
	paint map[string]colour // by exact cell text
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(a *app, w io.Writer) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(c))
		}
	}
	room := 0
	if columns, ok := terminal(w); ok {
		room = columns
		for _, n := range widths[:len(widths)-1] {
			room -= n + 2
		}
		room = max(room, 20)
	}
	var b bytes.Buffer
	t.line(a, w, &b, t.head, widths, room, true)
	for _, row := range t.rows {
		t.line(a, w, &b, row, widths, room, false)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (t *table) line(a *app, w io.Writer, b *bytes.Buffer, row []string, widths []int, room int, head bool) {
	for i, cell := range row {
		last := i == len(row)-1
		if last && room > 0 {
			cell = fit(cell, room)
		}
		pad := strings.Repeat(" ", max(0, widths[i]-uniseg.StringWidth(cell)))
		shown := cell
		if head {
			shown = a.paint(w, bold, cell)
		} else if c, ok := t.paint[cell]; ok {
			shown = a.paint(w, c, cell)
		}
		if i > 0 {
			b.WriteString("  ")
		}
		switch {
		case i < len(t.right) && t.right[i]:
			b.WriteString(pad + shown)
		case last:
			b.WriteString(shown)
		default:
			b.WriteString(shown + pad)
		}
	}
	b.WriteByte('\n')
}

// fit cuts a text to so many columns.
func fit(s string, columns int) string {
	if uniseg.StringWidth(s) <= columns {
		return s
	}
	var b strings.Builder
	n := 1 // the mark's
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if n += g.Width(); n > columns {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// clean takes out what would steer a terminal: sessions hold text of others.
func clean(s string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r):
			return '·'
		}
		return r
	}, s)
}

// printText prints session text: exact bytes into a file or pipe, without
// control characters on a terminal.
func (a *app) printText(text string) error {
	if _, ok := terminal(a.out); ok {
		text = clean(text, true)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// printTo prints session text to a file, to stdout if none is named.
func (a *app) printTo(file string, text []byte) error {
	if file == "" || file == "-" {
		return a.printText(string(text))
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return hinted(fmt.Errorf("write the answer: %w", err), "give a file in a folder that exists and that you may write to")
	}
	put(a.err, "wrote %s (%s)\n", file, size(int64(len(text))))
	return nil
}

// number writes 1234567 as 1,234,567.
func number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		return "-" + s
	}
	return s
}

// plural writes "1 file", "2 files".
func plural[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + one + "s"
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	case n < 1_000_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
	}
	return strconv.FormatFloat(float64(n)/1e9, 'f', 2, 64) + " GB"
}

// age writes how long ago something was.
func age(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	switch d := now.Sub(then); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d < 365*24*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	default:
		return strconv.Itoa(int(d/(365*24*time.Hour))) + "y"
	}
}

// took writes a duration for people.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// instant gives a time for JSON; null for none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// orNull gives null for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// list never gives null: readers of JSON loop over it.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// program is how this program is called from where the user stands.
func program() string {
	const name = "session-migrator"
	if _, err := exec.LookPath(name); err == nil {
		return name
	}
	return os.Args[0]
}

// executable is the same for programs that start it from elsewhere.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return program()
	}
	return path
}
