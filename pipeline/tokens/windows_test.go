package tokens_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// meeting is what the formulas of windows ask for, so that most texts drawn of
// it have something that meets something else.
const meeting = "  \n\n\r\t''//!(aabstdmlrevASTMLREV12\v\x00é中"

// TestWindowsSplitAlike: windows cut a text where the splitters of one piece do,
// wherever in it they start.
func TestWindowsSplitAlike(t *testing.T) {
	alphabet := []rune(meeting)
	for _, enc := range engines {
		c := counter(t, enc)
		c.CountString("x") // takes the tables
		for seed := range uint64(10_000) {
			r := rand.New(rand.NewPCG(seed, 6))
			few := alphabet
			if r.IntN(2) == 0 {
				few = []rune{alphabet[r.IntN(len(alphabet))], alphabet[r.IntN(len(alphabet))], alphabet[r.IntN(len(alphabet))]}
			}
			var b strings.Builder
			for range 1 + r.IntN(150) {
				b.WriteRune(few[r.IntN(len(few))])
			}
			s := b.String()
			if got, want := tokens.WindowPieces(c, s), tokens.Pieces(c, s); !slices.Equal(got, want) {
				t.Fatalf("%s of seed %d, %q:\n%q, want\n%q", enc, seed, s, got, want)
			}
		}
	}
}
