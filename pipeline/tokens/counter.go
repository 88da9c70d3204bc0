package tokens

import (
	"fmt"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// Counter counts the tokens of texts in one encoding. It remembers what it has
// counted in caches of bounded size (about 1 MB, up to 5 MB where texts are of
// long pieces, as in Chinese), so keep one a worker; it is not for concurrent
// use. What counters share is immutable.
type Counter struct {
	encoding Encoding
	classes  *classTable
	cache    cache
	merger   *merger
	legacy   *legacy // for the encodings without an engine of ours
	imported *Imported
	ranked   *ranked // for an imported vocabulary that is not closed
	scratch  []byte  // valid UTF-8 made of a text that was not
}

// New returns a counter for enc. It is cheap: the vocabulary is built by the
// first count in the process, which takes about 50 ms.
func New(enc Encoding) (*Counter, error) {
	if _, err := ParseEncoding(enc.String()); err != nil {
		return nil, fmt.Errorf("make token counter: %w", err)
	}
	return &Counter{encoding: enc}, nil
}

// Count returns the number of tokens of text, exactly. The text is ordinary
// text to the last byte: what looks like a special token is counted as it is
// spelled, and each maximal ill-formed part of UTF-8 counts as one U+FFFD.
func (c *Counter) Count(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if !utf8.Valid(text) {
		c.scratch, _ = appendValid(c.scratch[:0], text, false)
		text = c.scratch
		if cap(c.scratch) > 1<<20 {
			c.scratch = nil
		}
	}
	return c.countValid(text)
}

// CountString is Count of a string.
func (c *Counter) CountString(s string) int {
	return c.Count(unsafe.Slice(unsafe.StringData(s), len(s))) //nolint:gosec // Count only reads; a copy would cost more than the count
}

// countValid counts a text that is valid UTF-8.
func (c *Counter) countValid(text []byte) int {
	if c.imported != nil {
		return c.countImported(text)
	}
	if c.merger == nil && c.legacy == nil {
		c.load()
	}
	switch c.encoding {
	case O200kBase, Cl100kBase:
		return c.countWindows(text)
	case P50kBase, R50kBase:
		return c.legacy.count(text)
	}
	panic("bug: count with " + c.encoding.String())
}

// load takes what the encoding needs, building it if this is its first use.
func (c *Counter) load() {
	if c.imported != nil {
		return // made with all it needs
	}
	switch c.encoding {
	case O200kBase:
		c.merger = newMerger(o200kVocabulary.get())
	case Cl100kBase:
		c.merger = newMerger(cl100kVocabulary.get())
	case P50kBase:
		c.legacy = p50kLegacy.get()
	case R50kBase:
		c.legacy = r50kLegacy.get()
	}
	c.classes = classes()
	if c.legacy == nil {
		c.cache = newCache()
	}
}

// Release lets go of the vocabulary and the caches until the next count. The
// counter of an imported vocabulary keeps both.
func (c *Counter) Release() {
	if c.imported == nil {
		*c = Counter{encoding: c.encoding}
	}
}

// countImported counts with an imported vocabulary.
func (c *Counter) countImported(text []byte) int {
	if c.imported.NFC && !norm.NFC.IsNormal(text) {
		text = norm.NFC.Bytes(text)
	}
	count := 0
	for i := 0; i < len(text); {
		j := c.imported.Split.end(c.classes, text, i)
		if c.ranked == nil {
			count += c.countPiece(text, i, j)
		} else {
			count += c.ranked.count(text[i:j])
		}
		i = j
	}
	return count
}
