package embed

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordPiece cuts text as BERT does.
type wordPiece struct {
	vocab   map[string]int // of pieces
	inside  string         // what a piece within a word begins with
	longest int            // runes of a word; a longer one is unknown
	last    int            // greatest id
	lower   bool
	accents bool // are taken off
	chinese bool // each character is a word
	clean   bool
}

// readWordPiece reads tokenizer.json. ErrOptions for other kinds.
func readWordPiece(path string) (*wordPiece, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxTokenizer))
	if err != nil {
		return nil, fmt.Errorf("read tokenizer.json: %w", err)
	}
	return parseWordPiece(text)
}

func parseWordPiece(text []byte) (*wordPiece, error) {
	var t struct {
		Model struct {
			Type    string          `json:"type"`
			Vocab   json.RawMessage `json:"vocab"`
			Unknown string          `json:"unk_token"`
			Inside  *string         `json:"continuing_subword_prefix"`
			Longest *int            `json:"max_input_chars_per_word"`
		} `json:"model"`
		Normalizer struct {
			Type    string `json:"type"`
			Clean   bool   `json:"clean_text"`
			Chinese bool   `json:"handle_chinese_chars"`
			Accents *bool  `json:"strip_accents"`
			Lower   bool   `json:"lowercase"`
		} `json:"normalizer"`
		Cut struct {
			Type string `json:"type"`
		} `json:"pre_tokenizer"`
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("%w: tokenizer.json can't be read: %w", ErrOptions, err)
	}
	for _, is := range [][2]string{{t.Model.Type, "WordPiece"}, {t.Normalizer.Type, "BertNormalizer"}, {t.Cut.Type, "BertPreTokenizer"}} {
		if is[0] != is[1] {
			return nil, fmt.Errorf("%w: the tokenizer is of kind %q; only those of BERT are read (WordPiece, BertNormalizer, BertPreTokenizer), as potion-base models have", ErrOptions, is[0])
		}
	}
	w := &wordPiece{inside: "##", longest: 100, lower: t.Normalizer.Lower, accents: t.Normalizer.Lower, chinese: t.Normalizer.Chinese, clean: t.Normalizer.Clean}
	if err := json.Unmarshal(t.Model.Vocab, &w.vocab); err != nil || len(w.vocab) == 0 {
		return nil, fmt.Errorf("%w: tokenizer.json has no vocabulary", ErrOptions)
	}
	if t.Model.Inside != nil {
		w.inside = *t.Model.Inside
	}
	if t.Model.Longest != nil {
		w.longest = *t.Model.Longest
	}
	if t.Normalizer.Accents != nil {
		w.accents = *t.Normalizer.Accents
	}
	for _, id := range w.vocab {
		if id < 0 {
			return nil, fmt.Errorf("%w: tokenizer.json numbers a piece %d", ErrOptions, id)
		}
		w.last = max(w.last, id)
	}
	delete(w.vocab, t.Model.Unknown) // what is unknown says nothing
	return w, nil
}

// ids gives the pieces of a text, at most limit. Words with an unknown part are
// left out, as model2vec does.
func (w *wordPiece) ids(text string, limit int) (out []int) {
	for _, word := range w.split(text) {
		out = append(out, w.pieces(word)...)
		if len(out) >= limit {
			return out[:limit]
		}
	}
	return out
}

// split normalises a text and cuts it into words and marks.
func (w *wordPiece) split(text string) []string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case w.clean && (r == 0 || r == utf8.RuneError || !space(r) && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)):
		case space(r):
			b.WriteByte(' ')
		case w.chinese && chinese(r):
			b.WriteString(" " + string(r) + " ")
		default:
			b.WriteRune(r)
		}
	}
	text = b.String()
	if w.accents {
		text = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(text))
	}
	if w.lower {
		text = strings.ToLower(text)
	}
	var out []string
	for _, word := range strings.FieldsFunc(text, space) {
		from := 0
		for i, r := range word {
			if !mark(r) {
				continue
			}
			if i > from {
				out = append(out, word[from:i])
			}
			from = i + utf8.RuneLen(r)
			out = append(out, word[i:from])
		}
		if from < len(word) {
			out = append(out, word[from:])
		}
	}
	return out
}

// pieces cuts a word: the longest known piece first, then the longest of what is
// left. Nil if that doesn't come out.
func (w *wordPiece) pieces(word string) (out []int) {
	if utf8.RuneCountInString(word) > w.longest {
		return nil
	}
	for from := 0; from < len(word); {
		to, prefix := len(word), ""
		if from > 0 {
			prefix = w.inside
		}
		for to > from {
			if id, ok := w.vocab[prefix+word[from:to]]; ok {
				out = append(out, id)
				break
			}
			_, n := utf8.DecodeLastRuneInString(word[from:to])
			to -= n
		}
		if to == from {
			return nil
		}
		from = to
	}
	return out
}

func space(r rune) bool { return r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r) }

// mark tells punctuation as BERT does: all of ASCII that is no letter or digit,
// and what Unicode calls so.
func mark(r rune) bool {
	return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsPunct(r)
}

// chinese tells the ideographs that BERT takes for words.
func chinese(r rune) bool {
	for _, in := range [...][2]rune{{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f}} {
		if r >= in[0] && r <= in[1] {
			return true
		}
	}
	return false
}
