package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func cutUp(text string) []string {
	var s segmenter
	s.add(text)
	return strings.Fields(string(s.out))
}

func TestTextIsCutIntoWords(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, c := range []struct{ name, text, want string }{
		{"plain", "the end. Of it", "the end of it"},
		{"once", "a b a", "a b"},
		{"camel", "getUserName", "get user name getusername"},
		{"capitals", "parseHTTPRequest HTTPServer JSON", "parse http request parsehttprequest server httpserver json"},
		{"snake", "call_output MAX_ITEMS __init__", "call output calloutput max items maxitems init"},
		{"both", "test_getUserName x-utf8", "test get user name getusername testgetusername x utf 8 utf8 xutf8"},
		{"kebab", "--dry-run x - y", "dry run dryrun x y"},
		{"digits", "sha256 v2 i18n", "sha 256 sha256 v 2 v2 i 18 n i18n"},
		{"numbers", "1234 3.14 2026-09-01T10:00", "1234 3 14 2026 09 01 t 10 00"},
		{"path", "store/search/index.go:12", "store search index go indexgo 12"},
		{"dots", "user_name.go os.Getenv a.b.c.d.e", "user name go username usernamego os getenv osgetenv a b c d e"},
		{"windows", `C:\Temp\x.txt`, "c temp x txt xtxt"},
		{"hash", "e24426c 0x1fA deadbeef 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "e24426c 0x1fa deadbeef 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"},
		{"uuid", "019a0000-0000-7000-8000-0000000a0b0c", "019a0000 0000 7000 8000 0000000a0b0c 019a00000000700080000000000a0b0c"},
		{"id", "call_8fJk2LmQ9xZpT4vR", "call 8fjk2lmq9xzpt4vr call8fjk2lmq9xzpt4vr"},
		{"long", long, long[:maxWord]},
		{"base64", "x " + strings.Repeat("aB3dE9fQr2xY7zKlM4nOp/Q5+", 20) + "== y", "x ab3de9fqr2xy7zklm4nop y"},
		{"accents", "Größe café CAFÉ naïve İstanbul ﬁle Œuvre", "grosse cafe naive istanbul file oeuvre"},
		{"pieces", "cafe\u0301 Cafe\u0301Bar", "cafe bar cafebar"},
		{"Greek", "Ὀδός ΣΊΣΥΦΟΣ σίσυφος", "ὀδοσ σισυφοσ"},
		{"Russian", "Ёлка елка МойФайл", "елка мои фаил моифаил"},
		{"Arabic", "أَحْمَد احمد", "احمد"},
		{"Hindi", "हिन्दी", "हिन्दी"},
		{"Chinese", "数据库", "数据 据库 库"},
		{"one", "错 误", "错 误"},
		{"mixed", "用Go写getUser吧", "用 go 写 get user getuser 吧"},
		{"Japanese", "ファイル名を", "ファ ァイ イル ル名 名を を"},
		{"Korean", "설정 파일", "설정 정 파일 일"},
		{"kana in pieces", "か\u3099く", "がく く"},
		{"Hangul in pieces", "\u1109\u1165\u11af\u110c\u1165\u11bc", "설정 정"},
		{"Thai", "ไทย", "ไท ทย ย"},
		{"full width", "ＡＢＣ１２　ｘ", "abc 12 abc12 x"},
		{"unseen", "foo\u200bbar 数\u200d据 so\u00adft", "foobar 数据 据 soft"},
		{"invalid", "a\xffb\xed\xa0\x80c\xe6\x95 d", "a b c d"},
		{"nothing", " \t\n\u3000。、…🎉", ""},
	} {
		want := strings.Fields(c.want)
		got := cutUp(c.text)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

func TestWordsOfAQuestion(t *testing.T) {
	for text, want := range map[string][]word{
		"getUserName":    {{typed: "getUserName", parts: []string{"get", "user", "name"}, whole: "getusername"}},
		"user_name.go x": {{typed: "user_name.go", parts: []string{"user", "name", "go"}, whole: "usernamego"}, {typed: "x", parts: []string{"x"}}},
		"store/open":     {{typed: "store", parts: []string{"store"}}, {typed: "open", parts: []string{"open"}}},
		"数据库,错":          {{typed: "数据库", parts: []string{"数据", "据库"}}, {typed: "错", parts: []string{"错"}, begin: true}},
		"2026-09-01":     {{typed: "2026-09-01", parts: []string{"2026", "09", "01"}}},
		"a.b.c.d.e":      {{typed: "a.b.c.d.e", parts: []string{"a", "b", "c", "d", "e"}}},
		"  ":             nil,
	} {
		got := words(text)
		if len(got) != len(want) {
			t.Errorf("%q: %+v", text, got)
			continue
		}
		for i := range got {
			if got[i].typed != want[i].typed || got[i].whole != want[i].whole || got[i].begin != want[i].begin || !slices.Equal(got[i].parts, want[i].parts) {
				t.Errorf("%q: %+v, want %+v", text, got[i], want[i])
			}
		}
	}
}

// has tells whether a text's words answer a typed one.
func has(there map[string]bool, w word) bool {
	for _, p := range w.parts {
		if w.begin && !there[p] {
			for o := range there {
				there[p] = there[p] || strings.HasPrefix(o, p)
			}
		}
		if !there[p] {
			return false
		}
	}
	return true
}

func FuzzSegment(f *testing.F) {
	for _, s := range []string{"getUserName 数据库 a_b-c.d", "İ\xffé\u0301", strings.Repeat("aB3/", 60), strings.Repeat("x9", 100), "か\u3099\u1109\u1165\u11af", "0x", "ＡＢ_Ｃ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s segmenter
		s.add(text)
		// A pair of characters for each, or a part and the whole it belongs to, more
		// than once if dots join it; a fold at most doubles.
		if len(s.out) > 8*len(text) {
			t.Errorf("%d bytes of %d", len(s.out), len(text))
		}
		if !utf8.Valid(s.out) {
			t.Errorf("not UTF-8: %q", s.out)
		}
		there := map[string]bool{}
		for _, w := range strings.Fields(string(s.out)) {
			if there[w] {
				t.Errorf("%q is there twice", w)
			}
			if len(w) > maxWord || strings.HasPrefix(w, private) {
				t.Errorf("%q is no word", w)
			}
			there[w] = true
		}
		for _, w := range words(text) {
			if !has(there, w) || w.whole != "" && !there[w.whole] {
				t.Errorf("%+v isn't found in %q", w, text)
			}
			// Typed alone, it is the same.
			for _, v := range words(w.typed) {
				if !has(there, v) {
					t.Errorf("%+v of %q isn't found in %q", v, w.typed, text)
				}
			}
		}
	})
}
