package tokens_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// patterns are the published ones, those of Kimi with .NET's way to take a
// class out of another. A split of several steps has several.
var patterns = map[tokens.Split][]string{
	tokens.SplitO200k:  {`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	tokens.SplitCl100k: {`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	tokens.SplitQwen:   {`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	tokens.SplitTekken: {`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	tokens.SplitKimi:   {`[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	tokens.SplitDeepSeek: {`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`,
		"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
}

// cut cuts each piece by the pattern; what it doesn't match stays.
func cut(t *testing.T, pattern *regexp2.Regexp, pieces []string) (out []string) {
	for _, p := range pieces {
		runes, at := []rune(p), 0
		m, err := pattern.FindStringMatch(p)
		for ; m != nil && err == nil; m, err = pattern.FindNextMatch(m) {
			if m.Index > at {
				out = append(out, string(runes[at:m.Index]))
			}
			out, at = append(out, m.String()), m.Index+m.Length
		}
		if err != nil {
			t.Fatal(err)
		}
		if at < len(runes) {
			out = append(out, string(runes[at:]))
		}
	}
	return out
}

// TestSplitsAreThePatterns compares each split with its pattern, run by a
// regular-expression engine, on drawn texts.
func TestSplitsAreThePatterns(t *testing.T) {
	real := realText(t)
	counter(t, tokens.O200kBase)
	for split, texts := range patterns {
		t.Run(split.String(), func(t *testing.T) {
			var all []*regexp2.Regexp
			for _, p := range texts {
				all = append(all, regexp2.MustCompile(p, regexp2.None))
			}
			n := 3_000
			if testing.Short() {
				n = 1_000
			}
			for i := range n {
				s := withoutLongS(differText(rand.New(rand.NewPCG(*differSeed+7, uint64(i))), real))
				if len(s) > 4<<10 {
					continue
				}
				if i%3 == 0 { // what only some of them ask for
					extra := []string{"〇", "⺀", "々", "・", "ー", "\u3099", "か\u3099", "漢字かな", "\u00ad", "\x01", "龦", "한국", "\u0300", "_a", "#x", "\x02b"}
					r := rand.New(rand.NewPCG(3, uint64(i)))
					for range 1 + r.IntN(6) {
						at := r.IntN(len(s) + 1)
						s = strings.ToValidUTF8(s[:at]+extra[r.IntN(len(extra))]+s[at:], "")
					}
				}
				want := []string{s}
				if s == "" {
					want = nil
				}
				for _, p := range all {
					want = cut(t, p, want)
				}
				if got := tokens.PiecesBy(split, s); !slices.Equal(got, want) {
					t.Fatalf("text %d %q: pieces %q, want %q", i, s, got, want)
				}
			}
		})
	}
}
