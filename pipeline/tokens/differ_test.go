package tokens_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// How many texts TestDifferential compares, and from which seed on. A run of
// ten million is .ci/differ 10000000.
var (
	differTexts = flag.Int("texts", 10_000, "texts to compare with tiktoken-go")
	differSeed  = flag.Uint64("seed", 1, "seed of the texts to compare with tiktoken-go")
)

// differMax bounds a text: tiktoken-go takes quadratic time on a piece.
const differMax = 20 << 10

// TestDifferential compares with tiktoken-go the counts of texts of five kinds,
// one after the other with one counter, so that its caches are asked too.
func TestDifferential(t *testing.T) {
	n := *differTexts
	if testing.Short() {
		n = min(n, 5_000)
	}
	const parts = 2 // side by side; a text's number alone says what it is
	real := realText(t)
	for _, enc := range engines {
		want := oracle(t, enc)
		for part := range parts {
			t.Run(fmt.Sprintf("%s/%d", enc, part), func(t *testing.T) {
				t.Parallel()
				c := counter(t, enc)
				for i := part; i < n; i += parts {
					s := differText(rand.New(rand.NewPCG(*differSeed, uint64(i))), real)
					if got, want := c.CountString(s), want(s); got != want {
						t.Errorf("%s of text %d of seed %d, %.200q = %d, want %d", enc, i, *differSeed, s, got, want)
					}
				}
			})
		}
	}
}

// realText is text that people wrote, in several scripts.
func realText(tb testing.TB) string {
	var all strings.Builder
	for _, texts := range corpora(tb) {
		for _, text := range texts[:min(len(texts), 200)] {
			all.Write(text)
		}
	}
	return all.String()
}

// differText draws a text.
func differText(r *rand.Rand, real string) string {
	var b strings.Builder
	switch k := r.IntN(100); {
	case k < 40: // what the rules meet in
		for range 1 + r.IntN(12) {
			b.WriteString(snippets[r.IntN(len(snippets))])
		}
	case k < 60: // a cut of real text with faults put in
		at := r.IntN(len(real))
		for !utf8.RuneStart(real[at]) {
			at--
		}
		for _, c := range real[at:min(len(real), at+8+r.IntN(400))] {
			switch r.IntN(60) {
			case 0:
				b.WriteString(snippets[r.IntN(len(snippets))])
			case 1:
			default:
				b.WriteRune(c)
			}
		}
	case k < 80: // runes from anywhere
		for range 1 + r.IntN(40) {
			b.WriteRune(anyRune(r))
		}
	case k < 99: // runes of few, many in a row
		few := []rune{anyRune(r), anyRune(r), rune(r.IntN(128)), rune('a' + r.IntN(26))}
		for range 1 + r.IntN(60) {
			for c, n := few[r.IntN(len(few))], 1+r.IntN(1+r.IntN(20)); n > 0; n-- {
				b.WriteRune(c)
			}
		}
	default: // a long piece
		letters := []string{"abcdefghijklmnopqrstuvwxyz", "ab", "=-", " \t", "中文字数计算", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"}
		runes := []rune(letters[r.IntN(len(letters))])
		for range 1 << r.IntN(11) {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
	}
	s := withoutLongS(strings.ToValidUTF8(b.String(), ""))
	if len(s) > differMax {
		s = strings.ToValidUTF8(s[:differMax], "")
	}
	return s
}

// anyRune draws a rune, most often of those in use.
func anyRune(r *rand.Rand) rune {
	switch r.IntN(8) {
	case 0:
		return rune(r.IntN(0x80))
	case 1:
		return rune(0x80 + r.IntN(0x780))
	case 2:
		return rune(0x2000 + r.IntN(0x400))
	case 3:
		return rune(0x3000 + r.IntN(0x7000))
	case 4:
		return rune(0x1f000 + r.IntN(0xc00))
	}
	for {
		if c := rune(r.IntN(unicode.MaxRune)); utf8.ValidRune(c) {
			return c
		}
	}
}
