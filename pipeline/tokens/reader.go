package tokens

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// ErrUncut is returned by CountReader for a text with a stretch of more than
// 16 MiB in which no place is sure to be a border between pieces.
var ErrUncut = errors.New("no safe place to cut the text within 16 MiB")

const (
	// readBlock is what is read and, at the usual density of cuts, held: small
	// enough for the second-level cache.
	readBlock = 256 << 10
	// readLimit bounds what is held of a text that offers no cut.
	readLimit = 16 << 20
)

// CountReader counts the tokens of all that r gives, and its bytes, as Count
// would, holding about 1 MB however long it is. It cuts the text only where
// no text to come could move the border between pieces (see border), and of a
// long run of one rune it holds a short one. What is left to hold on to is a
// piece of another kind that does not end, say megabytes of Chinese without
// punctuation: past 16 MiB of that it gives up with ErrUncut. For p50k_base and
// r50k_base runs are not shortened, and long pieces take quadratic time.
//
// On an error tokens are those counted so far, of fewer bytes than were read.
func CountReader(enc Encoding, r io.Reader) (tokens, bytes int64, err error) {
	c, err := New(enc)
	if err != nil {
		return 0, 0, err
	}
	return c.CountReader(r)
}

// CountReader is the function of that name with a counter that is there.
func (c *Counter) CountReader(r io.Reader) (tokens, bytes int64, err error) {
	c.load()
	s := newStream(c, readBlock, readLimit)
	bytes, err = s.readAll(r)
	return s.tokens, bytes, err
}

// stream is a text of which the first part has been counted.
type stream struct {
	counter *Counter
	tokens  int64
	text    []byte // what is not counted yet; valid UTF-8, starts with a piece
	start   []byte // the start of a rune that the last block ended in
	block   int    // bytes to read at once
	limit   int    // bytes of text to hold at most
	due     int    // length of text at which to look for a cut again
}

func newStream(c *Counter, block, limit int) *stream {
	return &stream{counter: c, block: block, limit: limit, due: block}
}

// readAll counts all that r gives and returns its length in bytes.
func (s *stream) readAll(r io.Reader) (size int64, err error) {
	block := make([]byte, s.block)
	for {
		n, err := io.ReadFull(r, block)
		size += int64(n)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return size, fmt.Errorf("read text to count: %w", err)
		}
		s.take(block[:n], !ended)
		if ended {
			s.flush(len(s.text))
			return size, nil
		}
		if err := s.settle(); err != nil {
			return size, fmt.Errorf("count text read: %w", err)
		}
	}
}

// take appends a block of raw bytes to the text.
func (s *stream) take(block []byte, more bool) {
	if len(s.start) == 0 && utf8.Valid(block) {
		s.text = append(s.text, block...)
		return
	}
	raw := append(append(make([]byte, 0, len(s.start)+len(block)), s.start...), block...)
	s.text, s.start = appendValid(s.text, raw, more)
}

// settle counts what it can. A text that offers no cut is looked at again when
// it has doubled, so that looking stays linear in the text.
func (s *stream) settle() error {
	if len(s.text) < s.due {
		return nil
	}
	s.flush(s.counter.lastBorder(s.text))
	if m := s.counter.merger; m != nil && s.counter.imported == nil && len(s.text) >= s.block/2 {
		kept, extra := m.shorten(s.text)
		s.text, s.tokens = kept, s.tokens+int64(extra)
	}
	if len(s.text) > s.limit {
		return ErrUncut
	}
	s.due = min(max(s.block, 2*len(s.text)), s.limit+1)
	return nil
}

// flush counts the first n bytes of the text and drops them.
func (s *stream) flush(n int) {
	if n > 0 {
		s.tokens += int64(s.counter.countValid(s.text[:n]))
		s.text = append(s.text[:0], s.text[n:]...)
	}
}

// lastBorder returns the last place in text, which starts with a piece, that
// is sure to be a border, or 0. More text may follow.
func (c *Counter) lastBorder(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	i := runeStart(text, len(text)-1)
	for i > 0 {
		before := runeStart(text, i-1)
		if c.border(text, before, i) {
			return i
		}
		i = before
	}
	return c.leadingNumbers(text)
}

// runeStart returns the start of the rune that byte i belongs to.
func runeStart(text []byte, i int) int {
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// leadingNumbers returns the end of the full groups of three that text starts
// with, after blanks or at once. Only they can be told without knowing where a
// run of numbers began.
func (c *Counter) leadingNumbers(text []byte) int {
	start := 0
	for kind, w := c.classes.at(text, 0); kind.blank(); kind, w = c.classes.at(text, start) {
		start += w
	}
	for end := start; c.legacy == nil; {
		i := end
		for range 3 {
			kind, w := c.classes.at(text, i)
			if kind != classNumber {
				if end == start {
					return 0
				}
				return end
			}
			i += w
		}
		end = i
	}
	return 0
}

// border says whether between the runes at before and i there is a border of
// pieces, whatever stands elsewhere: no piece of the encoding goes on from the
// one to the other, and the part before it is cut up alike if the text ends
// here. After a blank that is not so, as \s+(?!\S) looks ahead; after a mark
// it may be, but marks go with too much to tell. False may mean not known.
func (c *Counter) border(text []byte, before, i int) bool {
	left, _ := c.classes.at(text, before)
	right, _ := c.classes.at(text, i)
	if right == classMark {
		return false
	}
	switch {
	case left.letter():
		if text[i] == '\'' { // may start 's and the like, and 3 bytes tell
			return i+4 <= len(text) && contraction(text, i) == i
		}
		return !right.letter()
	case left == classNumber:
		return right != classNumber
	case left == classOther: // may be the prefix of a letter, or have a trail of line ends
		return right == classNumber || right == classSpace
	case left == classNewline: // \s*[\r\n]+ ends here; a trail may go on with a slash
		return c.legacy == nil && !right.blank() && text[i] != '/'
	}
	return false
}
