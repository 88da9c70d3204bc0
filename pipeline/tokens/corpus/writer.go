package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer draws text.
type writer struct {
	bytes.Buffer
	*rand.Rand
	kind  Kind
	zipfs map[int]*rand.Zipf // by the length of the list
}

func (w *writer) put(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

func (w *writer) putf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// one says yes once in n times.
func (w *writer) one(n int) bool { return w.IntN(n) == 0 }

// any draws from choices evenly.
func (w *writer) any(choices ...string) string { return choices[w.IntN(len(choices))] }

// word draws from a list, those at its head far more often.
func (w *writer) word(list []string) string {
	z := w.zipfs[len(list)]
	if z == nil {
		z = rand.NewZipf(w.Rand, 1.15, 12, uint64(len(list)-1))
		w.zipfs[len(list)] = z
	}
	return list[z.Uint64()]
}

// letters draws a text of n letters of an alphabet.
func (w *writer) letters(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[w.IntN(len(alphabet))])
	}
	return b.String()
}

func (w *writer) hex(n int) string { return w.letters("0123456789abcdef", n) }

// name is an identifier of one to three words.
func (w *writer) name() string {
	first := w.word(nouns)
	if w.one(3) {
		first = w.word(verbs)
	}
	if w.one(3) {
		return first
	}
	second := title(w.word(nouns))
	if w.one(4) {
		second += title(w.word(nouns))
	}
	return first + second
}

// snake is a name in the other common spelling.
func (w *writer) snake() string {
	s := w.word(nouns) + "_" + w.word(nouns)
	if w.one(4) {
		return w.word(verbs) + "_" + s
	}
	return s
}

// path is that of a file in a project.
func (w *writer) path() string {
	var b strings.Builder
	for range 1 + w.IntN(3) {
		b.WriteString(w.word(nouns) + "/")
	}
	base := w.word(nouns)
	if w.one(2) {
		base = w.snake()
	}
	return b.String() + base + w.any(".go", ".go", "_test.go", ".ts", ".py", ".rs", ".md", ".json", ".yaml")
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
