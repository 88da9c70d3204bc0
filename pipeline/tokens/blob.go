package tokens

import (
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

//go:generate go run gen/main.go

// The vocabularies as gen/main.go writes them: tokens in byte order, each as
// the length it shares with the one before it and the rest. Sorted tokens
// deflate better than rank order, and arrive as the trie wants them: parents
// first, siblings in order, so that nothing is sorted or hashed at load.
var (
	//go:embed vocab/o200k_base.deflate
	o200kBlob string
	//go:embed vocab/cl100k_base.deflate
	cl100kBlob string
	//go:embed vocab/p50k_base.deflate
	p50kBlob string
)

// words is an inflated vocabulary: one row a token, held in columns.
type words struct {
	count  int
	shared []byte // bytes shared with the token before
	more   []byte // bytes of its own
	split  []byte // length of the left half of its last merge, 0 for one byte
	ranks  [3][]byte
	tails  []byte // the own bytes of all tokens, one after the other
}

// inflate opens an embedded vocabulary. A blob is part of the program, so a
// bad one is a bug and not an error.
func inflate(blob string) *words {
	r := flate.NewReader(strings.NewReader(blob))
	read := func(size int) []byte {
		column := inLargePages(make([]byte, size))
		if _, err := io.ReadFull(r, column); err != nil {
			panic(fmt.Sprintf("bug: inflate embedded vocabulary: %v", err))
		}
		return column
	}
	w := &words{count: int(binary.LittleEndian.Uint32(read(4)))}
	columns := read(6 * w.count)
	for _, column := range []*[]byte{&w.shared, &w.more, &w.split, &w.ranks[0], &w.ranks[1], &w.ranks[2]} {
		*column, columns = columns[:w.count], columns[w.count:]
	}
	size := 0
	for _, n := range w.more {
		size += int(n)
	}
	w.tails = read(size)
	return w
}

// rank returns the rank of row i, which is also the id of its token.
func (w *words) rank(i int) uint32 {
	return uint32(w.ranks[0][i])<<16 | uint32(w.ranks[1][i])<<8 | uint32(w.ranks[2][i])
}

// each calls f for every token in byte order. The slice is good until f returns.
func (w *words) each(f func(i int, token []byte)) {
	token, tails := make([]byte, 0, 256), w.tails
	for i := range w.count {
		token = append(token[:w.shared[i]], tails[:w.more[i]]...)
		tails = tails[w.more[i]:]
		f(i, token)
	}
}
