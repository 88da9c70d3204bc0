package search

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSnippets(t *testing.T) {
	long := strings.Repeat("filler text ", 50)
	for _, c := range []struct {
		text  string
		words []string
		limit int
		want  string
	}{
		{"short", nil, 10, "short"},
		{"two\n\tlines\x00 here ", nil, 40, "two lines here"},
		{"", []string{"x"}, 10, ""},
		{"text", nil, 0, ""},
		{long + "the DEADLOCK was found" + long, []string{"deadlock"}, 40, "…text the DEADLOCK was foundfille…"},
		{"upload here. " + long + "the upload deadlock. " + long + "deadlock", []string{"upload", "deadlock"}, 30, "…the upload deadlock.…"},
		{long + "retried it" + long, []string{"retries"}, 30, "…filler text retried itfiller…"},
		{strings.Repeat("无关文字", 60) + "库存超卖的原因" + strings.Repeat("其他", 60), []string{"超卖"}, 14, "…关文字库存超卖的原因其他…"},
		{`{"cmd":"go test\n-run \"TestX\"` + long + `"}`, []string{"TestX"}, 30, `…test -run "TestX"filler text…`},
		{strings.Repeat("e\u0301", 30), nil, 9, strings.Repeat("e\u0301", 4) + "…"},
		{long + "Fehler in der Prüfung" + long, []string{"pruefung", "PRÜFUNG"}, 34, "…in der Prüfungfiller text…"},
		{"a \u202eright\u202c b", nil, 20, "a right b"},
	} {
		got := Snippet(c.text, c.words, c.limit)
		if got != c.want {
			t.Errorf("snippet of %.40q around %q: %q, want %q", c.text, c.words, got, c.want)
		}
		if n := utf8.RuneCountInString(got); n > c.limit {
			t.Errorf("%q has %d characters, at most %d are asked for", got, n, c.limit)
		}
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("some text with words in it", "words", 12)
	f.Add("e\u0301e\u0301e\u0301", "é", 2)
	f.Add("\xff\xfe{\"a\":\"\\ud83d\\u", "\\", 3)
	f.Add(strings.Repeat("页", 99)+"\u200d\u200d", "页\u200d", 1)
	f.Fuzz(func(t *testing.T, text, words string, limit int) {
		limit %= 300
		s := Snippet(text, strings.Fields(words), limit)
		if n := utf8.RuneCountInString(s); n > max(0, limit) || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\t\x00") {
			t.Errorf("%q: %d characters of at most %d", s, n, limit)
		}
	})
}
