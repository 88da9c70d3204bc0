// Package corpus makes the texts that counting is measured on: prose, what
// coding agents read and write, and Chinese, Japanese and Korean. They are
// generated from word lists and a seed, so they are the same everywhere, take
// no room, and are of any length; few words make up most of them and many are
// rare, as in what people write.
//
// A text is made of messages of 40 bytes to 40 KB, most of them short.
package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"unicode/utf8"
)

// Kind is what a text is like. The zero value is none.
type Kind uint8

const (
	// Prose is English documentation: paragraphs, lists, headings, links.
	Prose Kind = iota + 1
	// Agent is source, patches, and what tools put out, some of it in JSON.
	Agent
	// CJK is Chinese in both scripts, Japanese and Korean, in equal parts.
	CJK
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Prose, Agent, CJK} }

// String returns the kind in one word.
func (k Kind) String() string {
	switch k {
	case Prose:
		return "prose"
	case Agent:
		return "agent"
	case CJK:
		return "cjk"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

const (
	messageMin = 40
	messageMax = 40 << 10
)

// Messages returns at least size bytes of text in valid UTF-8. More of it
// starts with the same messages.
func Messages(k Kind, size int) [][]byte {
	w := newWriter(k)
	var all [][]byte
	for made := 0; made < size; {
		text := w.message(w.length())
		all, made = append(all, text), made+len(text)
	}
	return all
}

// length draws the length of a message: as many of 40 to 400 bytes as of 400
// to 4,000, and from there on fewer.
func (w *writer) length() int {
	decades := 2 * w.Float64()
	if w.one(8) {
		decades = 3 * w.Float64()
	}
	return int(messageMin * math.Pow(10, decades))
}

// message writes one of about n bytes.
func (w *writer) message(n int) []byte {
	w.Reset()
	for w.Len() < n {
		switch w.kind {
		case Prose:
			w.block()
		case Agent:
			w.step(n - w.Len())
		case CJK:
			w.wideBlock()
		}
	}
	text := w.Bytes()
	if n = min(len(text), n+n/8, messageMax); n < len(text) {
		for !utf8.RuneStart(text[n]) {
			n--
		}
	}
	return append([]byte(nil), text[:n]...)
}

func newWriter(k Kind) *writer {
	w := &writer{kind: k, Rand: rand.New(rand.NewPCG(uint64(k), 0x5eed))} //nolint:gosec // to be the same every time
	w.zipfs, w.known = map[int]*rand.Zipf{}, map[string][]string{}
	return w
}
