package tokens

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The parts of a tokenizer.json that say how text becomes tokens. What stands
// for special tokens and templates has no part in it.
type tokenizerJSON struct {
	Added []struct {
		Content string `json:"content"`
	} `json:"added_tokens"`
	Normalizer   *step `json:"normalizer"`
	PreTokenizer *step `json:"pre_tokenizer"`
	Model        struct {
		Type         string            `json:"type"`
		ByteFallback bool              `json:"byte_fallback"`
		IgnoreMerges bool              `json:"ignore_merges"`
		Prefix       string            `json:"continuing_subword_prefix"`
		Suffix       string            `json:"end_of_word_suffix"`
		Dropout      *float64          `json:"dropout"`
		Vocab        map[string]int    `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
	} `json:"model"`
}

// step is a normalizer or pre-tokenizer.
type step struct {
	Type          string `json:"type"`
	Normalizers   []step `json:"normalizers"`
	PreTokenizers []step `json:"pretokenizers"`
	Pattern       struct {
		Regex  string `json:"Regex"`
		String string `json:"String"`
	} `json:"pattern"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
}

func readHuggingFace(file []byte) (recipe, error) {
	var t tokenizerJSON
	r := recipe{}
	if err := json.Unmarshal(file, &t); err != nil {
		return r, fmt.Errorf("read tokenizer.json: %w", err)
	}
	m := &t.Model
	switch {
	case m.Type != "BPE":
		return r, refuse("a model of type %q", m.Type)
	case m.ByteFallback:
		return r, refuse("a model that falls back to bytes (SentencePiece)")
	case m.Prefix != "" || m.Suffix != "":
		return r, refuse("a mark on parts of words (%q, %q)", m.Prefix, m.Suffix)
	case m.Dropout != nil && *m.Dropout != 0:
		return r, refuse("merges left out by chance")
	}
	var err error
	if r.nfc, err = t.Normalizer.composes(); err != nil {
		return r, err
	}
	if r.split, err = t.PreTokenizer.splits(); err != nil {
		return r, err
	}
	r.whole = m.IgnoreMerges
	special := map[string]bool{}
	for _, a := range t.Added {
		special[a.Content] = true
	}
	decode := byteLevel()
	for word := range m.Vocab {
		if special[word] {
			continue
		}
		token, ok := decode(word)
		if !ok {
			return r, refuse("token %q, which is not of bytes", word)
		}
		r.tokens = append(r.tokens, token)
	}
	r.merges = make([][2]string, 0, len(m.Merges))
	for i, raw := range m.Merges {
		left, right, err := halves(raw)
		if err != nil {
			return r, fmt.Errorf("read tokenizer.json: merge %d: %w", i, err)
		}
		l, ok := decode(left)
		if !ok {
			return r, refuse("merge %d of %q", i, left)
		}
		h, ok := decode(right)
		if !ok {
			return r, refuse("merge %d of %q", i, right)
		}
		r.merges = append(r.merges, [2]string{l, h})
	}
	return r, nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("read tokenizer.json: %s: %w", fmt.Sprintf(format, args...), ErrUnsupported)
}

// halves reads a merge in either of its forms: "a b" or ["a","b"].
func halves(raw json.RawMessage) (left, right string, err error) {
	var pair [2]string
	if err := json.Unmarshal(raw, &pair); err == nil {
		return pair[0], pair[1], nil
	}
	var line string
	if err := json.Unmarshal(raw, &line); err != nil {
		return "", "", err
	}
	left, right, ok := strings.Cut(line, " ")
	if !ok {
		return "", "", fmt.Errorf("%q has no two halves", line)
	}
	return left, right, nil
}

// composes says whether text is brought into the composed form NFC first.
func (s *step) composes() (bool, error) {
	switch {
	case s == nil:
		return false, nil
	case s.Type == "NFC":
		return true, nil
	case s.Type == "Sequence" && len(s.Normalizers) == 0:
		return false, nil
	case s.Type == "Sequence" && len(s.Normalizers) == 1:
		return s.Normalizers[0].composes()
	}
	return false, refuse("normalisation %q", s.Type)
}

// splits finds the split that the steps are. The last is the way from text to
// bytes.
func (s *step) splits() (Split, error) {
	if s == nil || s.Type != "Sequence" || len(s.PreTokenizers) < 2 {
		return 0, refuse("a pre-tokenizer that is no sequence of splits and bytes")
	}
	steps := s.PreTokenizers
	last := steps[len(steps)-1]
	if last.Type != "ByteLevel" || last.AddPrefixSpace || last.UseRegex == nil || *last.UseRegex {
		return 0, refuse("pre-tokenizer %q with a pattern or blank of its own", last.Type)
	}
	var all []string
	for _, p := range steps[:len(steps)-1] {
		if p.Type != "Split" || p.Behavior != "Isolated" || p.Invert || p.Pattern.Regex == "" {
			return 0, refuse("pre-tokenizer %q with behaviour %q", p.Type, p.Behavior)
		}
		all = append(all, p.Pattern.Regex)
	}
	return splitOf(all...)
}

const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	lettersUpper = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	lettersLower = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	blanksAtEnd  = `\s*[\r\n]+|\s+(?!\S)|\s+`
)

// splitOf finds the split of published patterns, by their very text.
func splitOf(patterns ...string) (Split, error) {
	known := map[string]Split{
		lettersUpper + contractions + `?|` + lettersLower + contractions + `?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + blanksAtEnd: SplitO200k,
		contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + blanksAtEnd:                              SplitCl100k,
		contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + blanksAtEnd:                                   SplitQwen,
		lettersUpper + `|` + lettersLower + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + blanksAtEnd:                                      SplitTekken,
		strings.Join([]string{
			`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`,
			"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" + blanksAtEnd,
		}, "\n"): SplitDeepSeek,
	}
	// A line end in a pattern stands for itself, spelled or not.
	spelled := strings.NewReplacer("\r", `\r`, "\n", `\n`)
	all := make([]string, len(patterns))
	for i, p := range patterns {
		all[i] = spelled.Replace(p)
	}
	text := strings.Join(all, "\n")
	if s, ok := known[text]; ok {
		return s, nil
	}
	return 0, fmt.Errorf("read vocabulary: split pattern %.300q is not known: %w", text, ErrUnsupported)
}

// byteLevel gives the way back from the letters that stand for bytes in a
// tokenizer.json: what can be printed stands for itself, the rest for letters
// from U+0100 on.
func byteLevel() func(word string) (token string, ok bool) {
	of := map[rune]byte{}
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= 0xa1 && r <= 0xac || r >= 0xae && r <= 0xff) {
			r = next
			next++
		}
		of[r] = byte(b)
	}
	return func(word string) (string, bool) {
		var out strings.Builder
		for _, r := range word {
			b, ok := of[r]
			if !ok {
				return "", false
			}
			out.WriteByte(b)
		}
		return out.String(), true
	}
}
