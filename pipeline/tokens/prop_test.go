package tokens_test

import (
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

var engines = []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase}

// snippets are what the rules of splitting and merging meet in.
var snippets = []string{
	" ", "  ", "\t", "\n", "\r\n", "\n\n", "\r", "\v", "\u0085", "\u00a0", "\u2028", "\u3000", "\ufeff", "\x00", "\x7f",
	"a", "B", "é", "É", "ǅ", "ʰ", "中", "文字", "ا", "ა", "𝕏", "ſ", "ß", "İ", "K", "\u0301", "\u0903", "ก็",
	"1", "22", "333", "4444", "½", "Ⅷ", "٣", "²",
	"'", "''", "'s", "'S", "'t", "'ll", "'LL", "'re", "'Ve", "'d", "'m", "'ſ", "’s",
	"/", "//", "!\n/", "!", "!!", "\"", "(", "=", "==", "-", "_", "::", "{\"", "\",", "€", "→", "😀", "👩‍👩‍👧", "🇩🇪", "\ufffd", "\U0010ffff",
	"the", " the", "Hello", "HELLO", "helloWorld", "internationalization", "Donaudampfschifffahrt", "func main() {\n\t", "<|endoftext|>",
}

// text draws a text of snippets, runs of them, and any runes.
func text() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom(snippets), rapid.SampledFrom(snippets), rapid.String(),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom(snippets).Draw(t, "snippet"), rapid.IntRange(2, 40).Draw(t, "times"))
		}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 24).Draw(t, "parts"), "")
	})
}

// withoutLongS takes out what tiktoken-go does not match and Rust does.
func withoutLongS(s string) string { return strings.ReplaceAll(s, "'ſ", "'s") }

func TestCountIsTheOracles(t *testing.T) {
	for _, enc := range engines {
		c, want := counter(t, enc), oracle(t, enc)
		rapid.Check(t, func(t *rapid.T) {
			s := withoutLongS(text().Draw(t, "text"))
			if got, want := c.CountString(s), want(s); got != want {
				t.Fatalf("%s of %q = %d, want %d", enc, s, got, want)
			}
		})
	}
}

func TestAnyBlocksAreOneRead(t *testing.T) {
	for _, enc := range append(engines, tokens.P50kBase) {
		c := counter(t, enc)
		rapid.Check(t, func(t *rapid.T) {
			s := text().Draw(t, "text")
			if rapid.Bool().Draw(t, "cut short") { // leaves a broken rune behind
				s = s[:rapid.IntRange(0, len(s)).Draw(t, "length")] + text().Draw(t, "more")
			}
			block := rapid.IntRange(1, 64).Draw(t, "block")
			got, err := tokens.CountBlocks(c, iotest.HalfReader(strings.NewReader(s)), block, 1<<20)
			if want := c.CountString(s); err != nil || got != want {
				t.Fatalf("%s of %q by %d = %d, %v, want %d", enc, s, block, got, err, want)
			}
		})
	}
}

func TestBordersAreFinal(t *testing.T) {
	for _, enc := range append(engines, tokens.P50kBase) {
		c := counter(t, enc)
		rapid.Check(t, func(t *rapid.T) {
			s := strings.ToValidUTF8(text().Draw(t, "text"), "")
			want := c.CountString(s)
			for _, i := range tokens.Borders(c, s) {
				if got := c.CountString(s[:i]) + c.CountString(s[i:]); got != want {
					t.Fatalf("%s of %q | %q = %d, want %d", enc, s[:i], s[i:], got, want)
				}
				if enc == tokens.P50kBase {
					continue
				}
				parts, whole := append(tokens.Pieces(c, s[:i]), tokens.Pieces(c, s[i:])...), tokens.Pieces(c, s)
				if !slices.Equal(parts, whole) {
					t.Fatalf("%s of %q | %q: pieces %q, want %q", enc, s[:i], s[i:], parts, whole)
				}
			}
		})
	}
}

// TestShortenedRuns: with its long runs cut short, and with what is tried first
// in short ones, a piece counts as the whole.
func TestShortenedRuns(t *testing.T) {
	for _, enc := range engines {
		c := counter(t, enc)
		rapid.Check(t, func(t *rapid.T) {
			var piece strings.Builder
			for range rapid.IntRange(1, 4).Draw(t, "runs") {
				piece.WriteString(rapid.SampledFrom([]string{"", "", "a", "=", "ab", "\n", " ", "-=", "中"}).Draw(t, "between"))
				b := rapid.SampledFrom([]byte("aAzexX=-*#_./+~ \t\n\r\x00\x7f")).Draw(t, "byte")
				piece.WriteString(strings.Repeat(string(rune(b)), rapid.OneOf(rapid.IntRange(1, 700), rapid.IntRange(500, 3000)).Draw(t, "length")))
			}
			s := piece.String()
			if got, want := tokens.CountPiece(c, s), tokens.CountWhole(c, s); got != want {
				t.Fatalf("%s of %d bytes = %d, want %d", enc, len(s), got, want)
			}
		})
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range snippets {
		f.Add([]byte(s + s))
	}
	for _, r := range reference(f, "bytes.jsonl") {
		f.Add(r.Bytes)
	}
	type pair struct {
		enc    tokens.Encoding
		c      *tokens.Counter
		oracle func(string) int
	}
	var pairs []pair
	for _, enc := range engines {
		pairs = append(pairs, pair{enc, counter(f, enc), oracle(f, enc)})
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, p := range pairs {
			got := p.c.Count(raw)
			if s := withoutLongS(string(raw)); s == string(raw) && len(s) <= 20<<10 && strings.ToValidUTF8(s, "") == s {
				if want := p.oracle(s); got != want {
					t.Errorf("%s of %q = %d, want %d", p.enc, raw, got, want)
				}
			}
			if blocks, err := tokens.CountBlocks(p.c, strings.NewReader(string(raw)), 7, 1<<20); err != nil || blocks != got {
				t.Errorf("%s of %q by 7 = %d, %v, want %d", p.enc, raw, blocks, err, got)
			}
		}
	})
}
