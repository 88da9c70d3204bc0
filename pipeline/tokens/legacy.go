package tokens

import (
	"fmt"
	"path"
	"strings"
	"sync"

	tiktoken "github.com/pkoukk/tiktoken-go"
)

// legacy counts the encodings of models that are no longer sold. They get no
// engine of their own: tiktoken-go runs them, at 2-3 MB/s and in time
// quadratic in the length of a piece, which is a run of letters, of digits, of
// symbols or of blanks.
type legacy struct {
	codec *tiktoken.Tiktoken
}

// Made on first use. tiktoken-go keeps what it has read for the life of the
// process, so Release wins little here.
var (
	p50kLegacy = &shared[legacy]{make: func() *legacy { return newLegacy(P50kBase) }}
	r50kLegacy = &shared[legacy]{make: func() *legacy { return newLegacy(R50kBase) }}
)

func newLegacy(enc Encoding) *legacy {
	useEmbedded()
	codec, err := tiktoken.GetEncoding(enc.String())
	if err != nil {
		panic(fmt.Sprintf("bug: open embedded vocabulary %s: %v", enc, err))
	}
	return &legacy{codec: codec}
}

func (l *legacy) count(text []byte) int {
	return len(l.codec.EncodeOrdinary(string(text)))
}

// useEmbedded makes tiktoken-go read our vocabularies. Its loader is a global
// that is unguarded and by default goes to the network, hence once and first.
var useEmbedded = sync.OnceFunc(func() { tiktoken.SetBpeLoader(embedded{}) })

// embedded is a loader of tiktoken-go that knows the embedded vocabularies.
type embedded struct{}

// LoadTiktokenBpe returns the ranks that tiktoken-go would fetch from url.
func (embedded) LoadTiktokenBpe(url string) (map[string]int, error) {
	enc, err := ParseEncoding(strings.TrimSuffix(path.Base(url), ".tiktoken"))
	if err != nil {
		return nil, fmt.Errorf("load vocabulary: %w", err)
	}
	return ranks(enc), nil
}

// r50kCount: r50k_base is p50k_base without the runs of blanks that the latter
// appended, which gen/main.go proves.
const r50kCount = 50256

// ranks returns the vocabulary of enc as a map.
func ranks(enc Encoding) map[string]int {
	var w *words
	limit := 1 << tokenIDBits
	switch enc {
	case O200kBase:
		w = inflate(o200kBlob)
	case Cl100kBase:
		w = inflate(cl100kBlob)
	case P50kBase:
		w = inflate(p50kBlob)
	case R50kBase:
		w, limit = inflate(p50kBlob), r50kCount
	}
	m := make(map[string]int, w.count)
	w.each(func(i int, token []byte) {
		if r := int(w.rank(i)); r < limit {
			m[string(token)] = r
		}
	})
	return m
}

// Baseline returns the count of tiktoken-go in an encoding that has an engine of
// our own, to measure that against: the widely used counter, fed with the same
// vocabulary. It takes quadratic time on long pieces.
func Baseline(enc Encoding) (count func(text []byte) int, err error) {
	if _, err := ParseEncoding(enc.String()); err != nil {
		return nil, fmt.Errorf("make baseline counter: %w", err)
	}
	return newLegacy(enc).count, nil
}
