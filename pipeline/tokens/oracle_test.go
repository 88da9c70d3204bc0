package tokens_test

import (
	"testing"

	tiktoken "github.com/pkoukk/tiktoken-go"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// counter returns a counter that has its vocabulary.
func counter(tb testing.TB, enc tokens.Encoding) *tokens.Counter {
	tb.Helper()
	c, err := tokens.New(enc)
	if err != nil {
		tb.Fatal(err)
	}
	c.Count([]byte("x"))
	return c
}

// oracle returns the count of tiktoken-go. A count of a legacy encoding has
// made it read the embedded vocabularies, which TestVocabulary holds against
// those of its own loader.
func oracle(tb testing.TB, enc tokens.Encoding) func(string) int {
	tb.Helper()
	counter(tb, tokens.R50kBase)
	t, err := tiktoken.GetEncoding(enc.String())
	if err != nil {
		tb.Fatal(err)
	}
	return func(s string) int { return len(t.EncodeOrdinary(s)) }
}
