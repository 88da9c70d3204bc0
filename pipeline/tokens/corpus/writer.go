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
	zipfs map[int]*rand.Zipf  // by the length of the list
	known map[string][]string // names in use, by how they are spelled
}

func (w *writer) put(parts ...string) {
	for _, p := range parts {
		_, _ = w.WriteString(p) // to memory: never fails
	}
}

func (w *writer) putf(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) } // to memory: never fails

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

// project is how many names of a spelling are in use at a time.
const project = 300

// again draws a name that is in use; one in twelve times it is a new one, which
// takes the place of another. What a project is about is named again and again.
func (w *writer) again(spelling string, name func() string) string {
	names := w.known[spelling]
	if len(names) < project {
		w.known[spelling] = append(names, name())
		return w.known[spelling][len(names)]
	}
	if w.one(12) {
		at := w.IntN(project)
		names[at] = name()
		return names[at]
	}
	return w.word(names)
}

// name is an identifier of one to three words.
func (w *writer) name() string { return w.again("camel", w.newName) }

// snake is a name in the other common spelling.
func (w *writer) snake() string { return w.again("snake", w.newSnake) }

// path is that of a file in a project.
func (w *writer) path() string { return w.again("path", w.newPath) }

func (w *writer) newName() string {
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

func (w *writer) newSnake() string {
	s := w.word(nouns) + "_" + w.word(nouns)
	if w.one(4) {
		return w.word(verbs) + "_" + s
	}
	return s
}

func (w *writer) newPath() string {
	var b strings.Builder
	for range 1 + w.IntN(3) {
		b.WriteString(w.word(nouns) + "/")
	}
	base := w.word(nouns)
	if w.one(2) {
		base = w.newSnake()
	}
	return b.String() + base + w.any(".go", ".go", "_test.go", ".ts", ".py", ".rs", ".md", ".json", ".yaml")
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
