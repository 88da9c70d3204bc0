package corpus_test

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/tokens/corpus"
)

// The figures of one program's version are to be comparable with those of the
// next, and of one size with those of another.
func TestMessagesAreTheSameEveryTime(t *testing.T) {
	for _, k := range corpus.Kinds() {
		few, many := corpus.Messages(k, 64<<10), corpus.Messages(k, 256<<10)
		if len(few) >= len(many) {
			t.Fatalf("%s: %d messages in 64 KB, %d in 256 KB", k, len(few), len(many))
		}
		for i, text := range few {
			if !bytes.Equal(text, many[i]) {
				t.Fatalf("%s: message %d is another one where more are asked for", k, i)
			}
		}
	}
}

func TestMessagesAreOfTheirKind(t *testing.T) {
	for _, k := range corpus.Kinds() {
		size, wide, short, long := 0, 0, 0, 0
		for i, text := range corpus.Messages(k, 1<<20) {
			if len(text) < 40 || len(text) > 40<<10 {
				t.Errorf("%s: message %d has %d bytes", k, i, len(text))
			}
			if !utf8.Valid(text) {
				t.Errorf("%s: message %d is not UTF-8", k, i)
			}
			if len(text) < 1000 {
				short++
			}
			if len(text) > 10_000 {
				long++
			}
			size += len(text)
			for _, r := range string(text) {
				if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
					wide += utf8.RuneLen(r)
				}
			}
		}
		if share := 100 * wide / size; k == corpus.CJK && (share < 60 || share > 90) || k != corpus.CJK && share > 0 {
			t.Errorf("%s: %d %% of its bytes are Chinese, Japanese and Korean", k, share)
		}
		if short < 100 || long == 0 {
			t.Errorf("%s: %d messages below 1 KB, %d above 10 KB", k, short, long)
		}
	}
}
