package tokens

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
)

// Pieces returns text as the split pattern of the counter cuts it.
func Pieces(c *Counter, text string) []string {
	var all []string
	for i := 0; i < len(text); {
		var j int
		if c.encoding == O200kBase {
			j = c.classes.o200k([]byte(text), i)
		} else {
			j = c.classes.cl100k([]byte(text), i)
		}
		all = append(all, text[i:j])
		i = j
	}
	return all
}

// Borders returns the places that are sure to be borders of pieces.
func Borders(c *Counter, text string) []int {
	var all []int
	for i := 1; i < len(text); i++ {
		if before := runeStart([]byte(text), i-1); runeStart([]byte(text), i) == i && c.border([]byte(text), before, i) {
			all = append(all, i)
		}
	}
	return all
}

// CountBlocks is CountReader with blocks and a limit of another size.
func CountBlocks(c *Counter, r io.Reader, block, limit int) (int, error) {
	s := newStream(c, block, limit)
	_, err := s.readAll(r)
	return int(s.tokens), err
}

// CountWhole counts one piece with no run shortened.
func CountWhole(c *Counter, piece string) int {
	return len(c.merger.encode([]byte(piece), c.merger.v.trie.longest([]byte(piece))))
}

// CountPiece counts one piece as Count does, past the cache.
func CountPiece(c *Counter, piece string) int { return c.merger.count([]byte(piece)) }

// Held returns the most text, in bytes, that CountReader held of all r gives.
func Held(c *Counter, r io.Reader) (int, error) {
	s := newStream(c, readBlock, readLimit)
	most := 0
	for block := make([]byte, readBlock); ; {
		n, err := io.ReadFull(r, block)
		s.take(bytes.Clone(block[:n]), err == nil)
		most = max(most, cap(s.text))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return most, nil
		}
		if err != nil {
			return most, err
		}
		if err := s.settle(); err != nil {
			return most, err
		}
	}
}

// Ranks returns the embedded vocabulary of enc.
func Ranks(enc Encoding) map[string]int { return ranks(enc) }

// Build builds the vocabulary of enc anew.
func Build(enc Encoding) any {
	if enc == O200kBase {
		return build(inflate(o200kBlob))
	}
	return build(inflate(cl100kBlob))
}

// PiecesBy returns text as the split cuts it.
func PiecesBy(s Split, text string) (all []string) {
	for i := 0; i < len(text); {
		j := s.end(classes(), []byte(text), i)
		all = append(all, text[i:j])
		i = j
	}
	return all
}

// Shared says whether two counters have one vocabulary.
func Shared(a, b *Counter) bool { return a.merger.v == b.merger.v }

// Loaded says whether a vocabulary is held.
func Loaded() bool {
	return o200kVocabulary.loaded() || cl100kVocabulary.loaded() || p50kLegacy.loaded() || r50kLegacy.loaded()
}

func (s *shared[T]) loaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held != nil
}

// WindowPieces returns text as the windows and, where these can't tell, the
// splitters of one piece cut it.
func WindowPieces(c *Counter, text string) (all []string) {
	room := append([]byte(text), make([]byte, windowRoom)...)
	for i := 0; i < len(text); {
		starts, from := c.starts(room[i:i+windowRoom], len(text)-i), i
		for s := starts &^ 1; s != 0; s &= s - 1 {
			end := from + bits.TrailingZeros64(s)
			all, i = append(all, text[i:end]), end
		}
		if i == from {
			i = c.pieceEnd([]byte(text), i)
			all = append(all, text[from:i])
		}
	}
	return all
}
