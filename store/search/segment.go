package search

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// What bounds a word. Questions and items are cut the same way.
const (
	maxWord  = 40  // bytes; the rest is left out: a SHA-1 is whole
	maxAtom  = 128 // bytes of a run of letters and digits that is cut into parts
	maxParts = 16  // of such a run
	maxNames = 4   // joined by dots that are also taken as one word

	// A run of letters and digits is noise (an id, a key, base64) if it is as long
	// as this and its kind of character changes often. It isn't cut into parts.
	noiseBytes = 16
	blobBytes  = 96 // of base64 in one piece: it is left out but for its first word
	hexBytes   = 7  // the shortest hash that git shows
)

// segmenter cuts text into words: the rules are in doc.go. The zero value is
// ready. It allocates only its own room, which it keeps.
type segmenter struct {
	out   []byte // words, each once and with a space behind
	slots []slot // where the words of out are; a power of two of them
	used  int
	epoch uint32

	folded []byte // the chunk that is being read, without what joins
	parts  []int  // where in folded its parts begin
	atoms  []int  // which parts begin an atom
	dots   []int  // which parts begin a name behind a dot
	gram   []byte
	plain  []byte // arguments without escapes

	asked bool // a question is being cut: fill typed
	typed []word
}

// slot holds a word if its epoch is the segmenter's.
type slot struct{ epoch, hash, at, size uint32 }

// word is one thing that was typed. An item that has the whole, or all of the
// parts, may hold it; an item that has neither doesn't.
type word struct {
	typed string   // as it stands in the question
	parts []string // one or more; an item that holds what was typed has them all
	whole string   // the parts as one word, for an item that writes them so; may be empty
	begin bool     // parts is one character that longer words may begin with
}

// words gives what was typed in a question, in its order.
func words(text string) []word {
	s := segmenter{asked: true}
	s.add(text)
	return s.typed
}

// reset forgets the words so far.
func (s *segmenter) reset() {
	s.out, s.used = s.out[:0], 0
	if s.epoch++; s.epoch == 0 || len(s.slots) == 0 {
		s.slots, s.epoch = make([]slot, 1<<10), 1
	}
}

// add appends those words of a text to out that aren't there yet.
func (s *segmenter) add(text string) {
	if s.epoch == 0 {
		s.reset()
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch k := ascii[c]; {
		case k == lower:
			j := i + 1
			for j < len(text) && ascii[text[j]] == lower {
				j++
			}
			// Most words are plain.
			if !s.asked && j-i <= maxWord && (j == len(text) || ascii[text[j]] == none && text[j] < utf8.RuneSelf) {
				s.put(text[i:j])
				i = j
			} else {
				i = s.chunk(text, i)
			}
		case k == upper || k == digit:
			i = s.chunk(text, i)
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			switch classOf(r) {
			case dense:
				i = s.run(text, i)
			case lower, upper, digit:
				i = s.chunk(text, i)
			case none, joiner, unseen:
				i += n
			}
		}
	}
}

// chunk reads names that dots join, of atoms that other joiners join.
func (s *segmenter) chunk(text string, i int) int {
	s.folded, s.parts, s.atoms, s.dots = s.folded[:0], s.parts[:0], s.atoms[:0], s.dots[:0]
	start := i
	for {
		s.atoms = append(s.atoms, len(s.parts))
		i = s.atom(text, i)
		j := i
		for j < len(text) && text[j] == '_' {
			j++
		}
		if j == i && j < len(text) && ascii[text[j]] == joiner {
			j++
		}
		if j == i || j == len(text) || len(s.parts) >= maxParts || !begins(text[j:]) {
			break
		}
		if text[i] == '.' {
			s.dots = append(s.dots, len(s.parts))
		}
		i = j
	}
	s.emit(text[start:i])
	return i
}

// begins tells whether an atom begins here.
func begins(text string) bool {
	k := ascii[text[0]]
	if text[0] >= utf8.RuneSelf {
		r, _ := utf8.DecodeRuneInString(text)
		k = classOf(r)
	}
	return k == lower || k == upper || k == digit
}

// atom reads a run of letters and digits and notes where its parts begin.
func (s *segmenter) atom(text string, i int) int {
	var (
		start, from, first = i, len(s.folded), len(s.parts)
		prev               = none
		last, capitals     int // of the previous character: where, and how many up to it
		changes            int
		kinds              [unseen + 1]int
	)
	s.parts = append(s.parts, from)
	for i < len(text) {
		c, size, at := text[i], 1, len(s.folded)
		k := ascii[c]
		switch {
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			if k = classOf(r); k == unseen {
				i += size
				continue
			}
			if k == lower || k == upper || k == digit {
				s.folded = fold(s.folded, r)
			}
		case k == upper:
			s.folded = append(s.folded, c|0x20)
		case k == lower || k == digit:
			s.folded = append(s.folded, c)
		}
		if k != lower && k != upper && k != digit {
			break
		}
		i += size
		if at-from > maxAtom {
			s.folded = s.folded[:at] // the rest is passed over
			continue
		}
		kinds[k]++
		if k != prev && prev != none {
			switch {
			case prev != upper || k != lower:
				s.cut(first, at)
				changes++
			case capitals > 1: // HTTPServer
				s.cut(first, last)
				changes++
			}
		}
		if k == upper {
			capitals++
		} else {
			capitals = 0
		}
		prev, last = k, at
	}
	n := len(s.folded) - from
	noise := n > maxAtom || n >= noiseBytes && changes*10 > n*3
	if noise || kinds[digit] > 0 && n > kinds[digit] && isHex(s.folded[from:], changes) {
		s.parts = s.parts[:first+1]
	}
	if noise {
		i = max(i, blob(text, start))
	}
	return i
}

// cut lets a part begin, unless the atom has its share of them.
func (s *segmenter) cut(first, at int) {
	if len(s.parts)-first < maxParts {
		s.parts = append(s.parts, at)
	}
}

// isHex tells of letters and digits whether they are a number that is not to be
// taken apart.
func isHex(b []byte, changes int) bool {
	if b[0] == '0' && b[1] == 'x' && len(b) > 2 {
		b = b[2:]
	} else if len(b) < hexBytes || changes < 2 {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// blob gives the end of a long piece of base64; 0 if there is none.
func blob(text string, i int) int {
	start, changes, prev := i, 0, none
	for ; i < len(text); i++ {
		k := ascii[text[i]]
		if k == none && text[i] != '+' && text[i] != '/' && text[i] != '=' || text[i] == '.' {
			break
		}
		if k != prev {
			changes++
		}
		prev = k
	}
	if i-start < blobBytes || changes*10 < (i-start)*4 {
		return 0
	}
	return i
}

// emit puts the words of a chunk.
func (s *segmenter) emit(typed string) {
	var w word
	part := func(k int) []byte {
		if k+1 < len(s.parts) {
			return s.folded[s.parts[k]:s.parts[k+1]]
		}
		return s.folded[s.parts[k]:]
	}
	for k := range s.parts {
		p := s.put(view(part(k)))
		if s.asked {
			w.parts = append(w.parts, strings.Clone(p))
		}
	}
	if len(s.parts) > 1 {
		if len(s.atoms) > 1 {
			s.wholes(s.atoms[1:], &w)
		}
		dots := len(s.dots)
		s.wholes(s.dots, &w)
		if dots > 0 {
			w.whole = ""
			if dots < maxNames {
				s.whole(0, len(s.parts), &w)
			}
		}
	}
	if s.asked {
		w.typed = typed
		s.typed = append(s.typed, w)
	}
}

// wholes puts what ends before each of these parts, and at the end, as one word.
func (s *segmenter) wholes(ends []int, w *word) {
	from := 0
	for i := range len(ends) + 1 {
		to := len(s.parts)
		if i < len(ends) {
			to = ends[i]
		}
		if w.whole = ""; to-from > 1 {
			s.whole(from, to, w)
		}
		from = to
	}
}

// whole puts parts as one word, unless they are a date or the like.
func (s *segmenter) whole(from, to int, w *word) {
	b := s.folded[s.parts[from]:]
	if to < len(s.parts) {
		b = s.folded[s.parts[from]:s.parts[to]]
	}
	letters := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			letters++
		}
	}
	if letters >= 2 || b[0] > '9' {
		p := s.put(view(b))
		if s.asked {
			w.whole = strings.Clone(p)
		}
	}
}

// run reads a text without spaces: it puts all pairs of neighbours, and the last
// character by itself, so that each begins a word.
func (s *segmenter) run(text string, i int) int {
	start, prev, n := i, 0, 0 // prev: bytes in gram of the character before
	w := word{}
	s.gram = s.gram[:0]
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		k := classOf(r)
		if k != dense && k != unseen {
			break
		}
		if k == dense {
			r, size = compose(text, i)
			s.gram = utf8.AppendRune(s.gram, r)
			if n++; n > 1 {
				p := s.put(view(s.gram))
				if s.asked {
					w.parts = append(w.parts, strings.Clone(p))
				}
				s.gram = append(s.gram[:0], s.gram[prev:]...)
			}
			prev = len(s.gram)
		}
		i += size
	}
	p := s.put(view(s.gram))
	if s.asked {
		if w.typed = text[start:i]; n == 1 {
			w.parts, w.begin = append(w.parts, strings.Clone(p)), true
		}
		s.typed = append(s.typed, w)
	}
	return i
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) } //nolint:gosec // read only, not kept

// put adds a word to out if it isn't there, and gives it as it was put.
func (s *segmenter) put(w string) string {
	if len(w) > maxWord {
		n := maxWord
		for !utf8.RuneStart(w[n]) {
			n--
		}
		w = w[:n]
	}
	h := uint32(len(w))
	for i := range len(w) {
		h = (h ^ uint32(w[i])) * 0x01000193
	}
	h ^= h >> 15
	mask := uint32(len(s.slots) - 1)
	for k := h & mask; ; k = (k + 1) & mask {
		t := &s.slots[k]
		if t.epoch != s.epoch {
			*t = slot{s.epoch, h, uint32(len(s.out)), uint32(len(w))}
			break
		}
		if t.hash == h && int(t.size) == len(w) && view(s.out[t.at:t.at+t.size]) == w {
			return w
		}
	}
	s.out = append(append(s.out, w...), ' ')
	if s.used++; s.used*2 > len(s.slots) {
		s.grow()
	}
	return w
}

// grow doubles the room for words.
func (s *segmenter) grow() {
	old := slices.Clone(s.slots)
	s.slots = make([]slot, 2*len(old))
	mask := uint32(len(s.slots) - 1)
	for _, t := range old {
		if t.epoch != s.epoch {
			continue
		}
		k := t.hash & mask
		for s.slots[k].epoch == s.epoch {
			k = (k + 1) & mask
		}
		s.slots[k] = t
	}
}
