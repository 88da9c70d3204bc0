package tokens_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// counted is a text with the counts of the Rust original.
type counted struct {
	Name   string
	Text   *string
	Bytes  []byte
	O200k  int `json:"o200k_base"`
	Cl100k int `json:"cl100k_base"`
}

func reference(tb testing.TB, name string) []counted {
	tb.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var all []counted
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c counted
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		if c.Text != nil {
			c.Bytes = []byte(*c.Text)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		tb.Fatalf("no reference counts in %s", name)
	}
	return all
}

func TestReferenceCounts(t *testing.T) {
	o, c := counter(t, tokens.O200kBase), counter(t, tokens.Cl100kBase)
	all := append(reference(t, "strings.jsonl"), reference(t, "bytes.jsonl")...)
	for range 2 { // once as new, once from the caches
		for _, r := range all {
			if got := o.Count(r.Bytes); got != r.O200k {
				t.Errorf("o200k_base %s %.60q = %d, want %d", r.Name, r.Bytes, got, r.O200k)
			}
			if got := c.CountString(string(r.Bytes)); got != r.Cl100k {
				t.Errorf("cl100k_base %s %.60q = %d, want %d", r.Name, r.Bytes, got, r.Cl100k)
			}
		}
	}
}

// TestLongRuns: the counts are those of the Rust original.
func TestLongRuns(t *testing.T) {
	tests := []struct {
		name          string
		text          string
		o200k, cl100k int
	}{
		{"small letter", strings.Repeat("a", 1000), 125, 125},
		{"capital", strings.Repeat("A", 20000), 2500, 2500},
		{"two cases", strings.Repeat("aB", 10000), 10001, 10001},
		{"CRLF", strings.Repeat("\r\n", 10000), 2500, 2500},
		{"emoji", strings.Repeat("😀", 1000), 1000, 2000},
		{"many emoji", strings.Repeat("😀", 20000), 20000, 40000},
		{"equals", strings.Repeat("=", 1000), 16, 17},
		{"many equals", strings.Repeat("=", 20000), 312, 313},
		{"line ends", strings.Repeat("\n", 1000), 63, 32},
		{"many line ends", strings.Repeat("\n", 20000), 1250, 625},
		{"spaces, x", strings.Repeat(" ", 20000) + "x", 158, 158},
		{"tabs", strings.Repeat("\t", 1000), 63, 63},
		{"many tabs", strings.Repeat("\t", 20000), 1250, 1250},
		{"digits", strings.Repeat("0", 1000), 334, 334},
	}
	o, c := counter(t, tokens.O200kBase), counter(t, tokens.Cl100kBase)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := o.CountString(tt.text); got != tt.o200k {
				t.Errorf("o200k_base = %d, want %d", got, tt.o200k)
			}
			if got := c.CountString(tt.text); got != tt.cl100k {
				t.Errorf("cl100k_base = %d, want %d", got, tt.cl100k)
			}
		})
	}
}

// TestIllFormed: each maximal ill-formed part counts as one U+FFFD.
func TestIllFormed(t *testing.T) {
	const r = "\ufffd"
	tests := []struct{ name, raw, want string }{
		{"Latin-1", "caf\xe9 na\xefve", "caf" + r + " na" + r + "ve"},
		{"cut rune of three", "x\xe2\x82", "x" + r},
		{"cut rune of four, then text", "\xf0\x9f\x98x", r + "x"},
		{"cut rune, then a whole one", "\xf0\x9f\xe4\xb8\xad", r + "中"},
		{"overlong two", "\xc0\xaf", r + r},
		{"overlong three", "\xe0\x80\xaf", r + r + r},
		{"overlong four", "\xf0\x80\x80\xaf", r + r + r + r},
		{"surrogate", "\xed\xa0\x80", r + r + r},
		{"beyond Unicode", "\xf4\x90\x80\x80", r + r + r + r},
		{"never a start", "\xf5\x80\xff", r + r + r},
		{"stray ends", "中\x80\xbf!", "中" + r + r + "!"},
	}
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase, tokens.R50kBase} {
		c := counter(t, enc)
		for _, tt := range tests {
			want := c.CountString(tt.want)
			if got := c.CountString(tt.raw); got != want {
				t.Errorf("%s %s: Count = %d, want %d", enc, tt.name, got, want)
			}
			n, size, err := tokens.CountReader(enc, bytes.NewReader([]byte(tt.raw)))
			if err != nil || int(n) != want || int(size) != len(tt.raw) {
				t.Errorf("%s %s: CountReader = %d, %d, %v, want %d, %d", enc, tt.name, n, size, err, want, len(tt.raw))
			}
		}
	}
}

// TestSplit names the pieces by their counts: of each pair the left text is
// the right ones taken on their own.
func TestSplit(t *testing.T) {
	tests := []struct {
		name          string
		text          string
		o200k, cl100k []string
	}{
		{"long s", "it'ſ", []string{"it'ſ"}, []string{"it", "'ſ"}},
		{"contraction goes on", "x'sample", []string{"x's", "ample"}, []string{"x", "'s", "ample"}},
		{"quote as prefix", "x'zample", []string{"x", "'zample"}, []string{"x", "'zample"}},
		{"capital contraction", "IT'LL'RE", []string{"IT'LL", "'RE"}, []string{"IT", "'LL", "'RE"}},
		{"mark, capital", "\u0301A", []string{"\u0301", "A"}, []string{"\u0301A"}},
		{"mark, small letter", "\u0301a", []string{"\u0301a"}, []string{"\u0301a"}},
		{"mark, contraction", "\u0301's", []string{"\u0301's"}, []string{"\u0301'", "s"}},
		{"either case, capitals", "中AB", []string{"中", "AB"}, []string{"中AB"}},
		{"given back to the last", "A中B中CD", []string{"A中B中", "CD"}, []string{"A中B中CD"}},
		{"symbols, mark", "!!\u0301", []string{"!!\u0301"}, []string{"!!\u0301"}},
		{"camel case", "helloWorldHTTPServer", []string{"hello", "World", "HTTPServer"}, []string{"helloWorldHTTPServer"}},
		{"slash in the trail", "!\n/\n/a", []string{"!\n/\n/", "a"}, []string{"!\n", "/\n", "/a"}},
		{"blanks before a word", "a \t\u3000b", []string{"a", " \t", "\u3000b"}, []string{"a", " \t", "\u3000b"}},
		{"blanks with line ends", "a \n \n  b", []string{"a", " \n \n", " ", " b"}, []string{"a", " \n \n", " ", " b"}},
		{"line end, blanks, end", "a\n  ", []string{"a", "\n", "  "}, []string{"a", "\n", "  "}},
		{"no prefix for digits", "  12345", []string{" ", " ", "123", "45"}, []string{" ", " ", "123", "45"}},
		{"next line is a blank", "a\u0085b", []string{"a", "\u0085b"}, []string{"a", "\u0085b"}},
		{"no break at a byte order mark", "a\ufeffb", []string{"a", "\ufeffb"}, []string{"a", "\ufeffb"}},
		{"other numbers", "½Ⅷ٣4", []string{"½Ⅷ٣", "4"}, []string{"½Ⅷ٣", "4"}},
		{"title case", "aǅb", []string{"a", "ǅb"}, []string{"aǅb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for enc, want := range map[tokens.Encoding][]string{tokens.O200kBase: tt.o200k, tokens.Cl100kBase: tt.cl100k} {
				if got := tokens.Pieces(counter(t, enc), tt.text); strings.Join(got, "|") != strings.Join(want, "|") {
					t.Errorf("%s = %q, want %q", enc, got, want)
				}
			}
		})
	}
}

// TestWorstTexts: whatever the text, half a megabyte of it is counted, at once
// and as a stream; what is not linear does not come to an end here.
func TestWorstTexts(t *testing.T) {
	for name, text := range worst(1 << 19) {
		for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
			want := counter(t, enc).Count(text)
			got, size, err := tokens.CountReader(enc, bytes.NewReader(text))
			if err != nil || int(got) != want || int(size) != len(text) {
				t.Errorf("%s %s: CountReader = %d, %d, %v, want %d, %d", enc, name, got, size, err, want, len(text))
			}
		}
	}
}

// TestCacheTellsLengthsApart: zeros are what the cache fills its keys up with.
func TestCacheTellsLengthsApart(t *testing.T) {
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
		used := counter(t, enc)
		for _, start := range []string{"", "(", "Straßen", "Donaudampf"} {
			for n := range 64 {
				text := start + strings.Repeat("\x00", n)
				for range 2 {
					if got, want := used.CountString(text), counter(t, enc).CountString(text); got != want {
						t.Errorf("%s of %q = %d, want %d", enc, text, got, want)
					}
				}
			}
		}
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	c := counter(t, tokens.O200kBase)
	text := []byte(strings.Repeat("Counting a text twice, zweimal, 两次 must leave no garbage.\n", 50))
	c.Count(text)
	if n := testing.AllocsPerRun(20, func() { c.Count(text) }); n != 0 {
		t.Errorf("Count made %v allocations", n)
	}
}
