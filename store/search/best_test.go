package search

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBestFindsThePassage(t *testing.T) {
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprintf("step %d: the build of package p%d went on\n", i, i)+strings.Repeat("nothing to see here, the build goes on\n", 40))
	}
	texts[17] = strings.Repeat("noise before it\n", 100) + "The courier was late because nobody opened the side gate.\n" + strings.Repeat("noise behind it\n", 100)
	texts[40] = "上传测试失败的原因是磁盘空间不足"
	texts[41] = "func openSideGate(id string) error { return nil }"
	for _, c := range []struct {
		asked string
		text  int
		has   string
	}{
		{"Why was the courier late? Please look at the side gate.", 17, "courier was late"},
		{"上传测试为什么失败？磁盘空间够吗", 40, "磁盘空间不足"},
		{"rename openSideGate to openGate", 41, "openSideGate"},
	} {
		got := Best(c.asked, 900, len(texts), func(i int) string { return texts[i] })
		if len(got) == 0 || got[0].Text != c.text || !strings.Contains(texts[got[0].Text][got[0].From:got[0].To], c.has) {
			t.Errorf("%s: %+v", c.asked, got)
			continue
		}
		if n := got[0].To - got[0].From; n > 2*900 {
			t.Errorf("%s: %d bytes", c.asked, n)
		}
	}
	for _, asked := range []string{"", "please go on with it", "the build goes on", "zebra"} {
		if got := Best(asked, 900, len(texts), func(i int) string { return texts[i] }); got != nil {
			t.Errorf("%q: %+v", asked, got)
		}
	}
}

func FuzzPassages(f *testing.F) {
	f.Add(strings.Repeat("line\n", 1000))
	f.Add(strings.Repeat("文", 2000))
	f.Add(strings.Repeat("\x80", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, p := range passages(text, 900) {
			if p.From != at || p.To <= p.From || p.To-p.From > 900*3/2 {
				t.Fatalf("passage %+v at %d", p, at)
			}
			at = p.To
			if utf8.ValidString(text) && !utf8.ValidString(text[p.From:p.To]) {
				t.Fatalf("%+v cuts a character", p)
			}
		}
		if at != len(text) {
			t.Fatalf("%d of %d", at, len(text))
		}
	})
}

func BenchmarkBest(b *testing.B) {
	text := strings.Repeat("func (s *server) handleUpload(w http.ResponseWriter, r *http.Request) { // 上传处理 step 42\n", 10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Best("why does handleUpload in server.go refuse large files since the change to chunked bodies?", 900, 1, func(int) string { return text })
	}
}
