package tokens_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// small is the start of cl100k_base: its bytes and first merges.
func small(limit int, without ...string) map[string]int {
	m := tokens.Ranks(tokens.Cl100kBase)
	maps.DeleteFunc(m, func(token string, rank int) bool { return rank >= limit || slices.Contains(without, token) })
	return m
}

func byRank(ranks map[string]int) []string {
	return slices.SortedFunc(maps.Keys(ranks), func(a, b string) int { return ranks[a] - ranks[b] })
}

// rankFile writes a .tiktoken file.
func rankFile(ranks map[string]int) []byte {
	var b strings.Builder
	for _, token := range byRank(ranks) {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), ranks[token])
	}
	return []byte(b.String())
}

// letters writes a token as a tokenizer.json does.
func letters(token string) string {
	var b strings.Builder
	for _, c := range []byte(token) {
		n := rune(0x100)
		for x := range 256 {
			r := rune(x)
			if !(r >= '!' && r <= '~' || r >= 0xa1 && r <= 0xac || r >= 0xae && r <= 0xff) {
				r = n
				n++
			}
			if byte(x) == c {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// tokenizerJSON writes a tokenizer.json with one merge a token.
func tokenizerJSON(ranks map[string]int, asPairs bool, change func(map[string]any), patterns ...string) []byte {
	vocab, merges := map[string]int{}, []any{}
	for _, token := range byRank(ranks) {
		vocab[letters(token)] = ranks[token]
		if len(token) == 1 {
			continue
		}
		parts := bytePair(token, ranks, ranks[token])
		if len(parts) != 2 {
			panic("not closed: " + token)
		}
		if asPairs {
			merges = append(merges, []string{letters(parts[0]), letters(parts[1])})
		} else {
			merges = append(merges, letters(parts[0])+" "+letters(parts[1]))
		}
	}
	vocab["<|end|>"] = len(vocab)
	var steps []any
	for _, p := range patterns {
		steps = append(steps, map[string]any{"type": "Split", "pattern": map[string]any{"Regex": p}, "behavior": "Isolated", "invert": false})
	}
	steps = append(steps, map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false})
	model := map[string]any{"type": "BPE", "dropout": nil, "byte_fallback": false, "vocab": vocab, "merges": merges}
	file := map[string]any{"version": "1.0", "added_tokens": []any{map[string]any{"id": 1, "content": "<|end|>", "special": true}}, "normalizer": nil,
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": steps}, "model": model}
	if change != nil {
		change(file)
	}
	text, err := json.Marshal(file)
	if err != nil {
		panic(err)
	}
	return text
}

// unspelled has the line ends of patterns as they are, as DeepSeek's file has.
func unspelled(patterns []string) (out []string) {
	for _, p := range patterns {
		out = append(out, strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(p))
	}
	return out
}

// bytePair merges by rank below limit, the slow and plain way.
func bytePair(piece string, ranks map[string]int, limit int) []string {
	parts := strings.Split(piece, "")
	parts = parts[:0]
	for i := range len(piece) {
		parts = append(parts, piece[i:i+1])
	}
	for {
		best, at := limit, -1
		for i := range len(parts) - 1 {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return parts
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
}

// plainly counts as the publishers define it.
func plainly(split tokens.Split, nfc bool, ranks map[string]int, text string) (n int) {
	if nfc {
		text = norm.NFC.String(text)
	}
	for _, piece := range tokens.PiecesBy(split, text) {
		if _, ok := ranks[piece]; ok {
			n++
			continue
		}
		n += len(bytePair(piece, ranks, 1<<30))
	}
	return n
}

func tekkenJSON(ranks map[string]int, pattern string) []byte {
	var vocab []any
	for _, token := range byRank(ranks) {
		vocab = append(vocab, map[string]any{"rank": ranks[token], "token_bytes": []byte(token), "token_str": nil})
	}
	beyond := map[string]any{"rank": len(ranks), "token_bytes": []byte("beyond the size"), "token_str": nil}
	text, err := json.Marshal(map[string]any{"vocab": append(vocab, beyond), "config": map[string]any{
		"pattern": pattern, "num_vocab_tokens": len(ranks) + 1, "default_vocab_size": len(ranks) + 10, "default_num_special_tokens": 10, "version": "v3"}})
	if err != nil {
		panic(err)
	}
	return text
}

func TestImportedCounts(t *testing.T) {
	closed, open := small(3000), small(3000, " t", "in", "er", "on", "re")
	real := realText(t)
	nfc := func(m map[string]any) { m["normalizer"] = map[string]any{"type": "NFC"} }
	whole := func(m map[string]any) { m["model"].(map[string]any)["ignore_merges"] = true }
	tests := []struct {
		name   string
		file   []byte
		split  string
		ranks  map[string]int
		want   tokens.Split
		closed bool
		nfc    bool
	}{
		{"rank file, closed", rankFile(closed), "kimi", closed, tokens.SplitKimi, true, false},
		{"rank file, not closed", rankFile(open), "o200k", open, tokens.SplitO200k, false, false},
		{"Qwen", tokenizerJSON(closed, false, nfc, patterns[tokens.SplitQwen]...), "", closed, tokens.SplitQwen, true, true},
		{"Llama 3", tokenizerJSON(closed, true, whole, patterns[tokens.SplitCl100k]...), "", closed, tokens.SplitCl100k, true, false},
		{"DeepSeek with line ends as they are", tokenizerJSON(closed, false, nil, unspelled(patterns[tokens.SplitDeepSeek])...), "", closed, tokens.SplitDeepSeek, true, false},
		{"DeepSeek", tokenizerJSON(closed, false, nil, patterns[tokens.SplitDeepSeek]...), "", closed, tokens.SplitDeepSeek, true, false},
		{"gpt-oss", tokenizerJSON(closed, true, nil, patterns[tokens.SplitO200k]...), "o200k", closed, tokens.SplitO200k, true, false},
		{"Tekken", tekkenJSON(closed, patterns[tokens.SplitTekken][0]), "", closed, tokens.SplitTekken, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := tokens.Import(tt.file, tt.split)
			if err != nil {
				t.Fatal(err)
			}
			if v.Split != tt.want || v.Closed != tt.closed || v.NFC != tt.nfc || v.Tokens != len(tt.ranks) || len(v.SHA256) != 64 {
				t.Fatalf("read as %s, closed %v, NFC %v, %d tokens", v.Split, v.Closed, v.NFC, v.Tokens)
			}
			c := v.New()
			for i := range 600 {
				s := differText(rand.New(rand.NewPCG(11, uint64(i))), real)
				if len(s) > 2<<10 {
					s = strings.ToValidUTF8(s[:2<<10], "")
				}
				if i%4 == 0 {
					s += "e\u0301 <|end|> \u1112\u1161\u11ab"
				}
				want := plainly(tt.want, tt.nfc, tt.ranks, s)
				if got := c.CountString(s); got != want {
					t.Fatalf("text %d %.300q = %d, want %d", i, s, got, want)
				}
				if got, err := tokens.CountBlocks(c, strings.NewReader(s), 16, 1<<20); err != nil || got != want {
					t.Fatalf("text %d %.300q by 16 = %d, %v, want %d", i, s, got, err, want)
				}
			}
		})
	}
}

// TestImportedIsLinear: neither core nor split is quadratic.
func TestImportedIsLinear(t *testing.T) {
	closed, open := small(3000), small(3000, " t", "in", "er", "on", "re")
	for name, file := range map[string][]byte{"closed": rankFile(closed), "not closed": rankFile(open)} {
		for _, split := range []string{"kimi", "deepseek", "tekken", "qwen"} {
			v, err := tokens.Import(file, split)
			if err != nil {
				t.Fatal(err)
			}
			for kind, text := range worst(1 << 16) {
				if n := v.New().Count(text); n == 0 {
					t.Errorf("%s %s %s: no tokens", name, split, kind)
				}
			}
		}
	}
}

func TestOwnVocabularyImported(t *testing.T) {
	for enc, split := range map[tokens.Encoding]string{tokens.O200kBase: "o200k", tokens.Cl100kBase: "cl100k"} {
		v, err := tokens.Import(rankFile(tokens.Ranks(enc)), split)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Closed {
			t.Errorf("%s is not closed", enc)
		}
		c, want := v.New(), counter(t, enc)
		for _, r := range append(reference(t, "strings.jsonl"), reference(t, "bytes.jsonl")...) {
			if got, want := c.Count(r.Bytes), want.Count(r.Bytes); got != want {
				t.Fatalf("%s of %.100q = %d, want %d", enc, r.Bytes, got, want)
			}
		}
	}
}

func TestImportRefuses(t *testing.T) {
	ranks := small(300)
	qwen := patterns[tokens.SplitQwen][0]
	model := func(key string, value any) []byte {
		return tokenizerJSON(ranks, false, func(m map[string]any) { m["model"].(map[string]any)[key] = value }, qwen)
	}
	top := func(key string, value any) []byte {
		return tokenizerJSON(ranks, false, func(m map[string]any) { m[key] = value }, qwen)
	}
	tests := []struct {
		name, split string
		file        []byte
		want        string
	}{
		{"nothing", "", nil, "how text is split"},
		{"text", "o200k", []byte("hello there world\n"), "line 1 is no token and rank"},
		{"bad base64", "o200k", []byte("!!! 1\n"), "line 1"},
		{"bad rank", "o200k", []byte("AA== x\n"), `"x" is no rank`},
		{"bytes missing", "o200k", []byte("AA== 0\n"), "no token for byte 0x01"},
		{"no split", "", rankFile(ranks), "o200k, cl100k, qwen, tekken, kimi, deepseek"},
		{"unknown split", "gpt2", rankFile(ranks), `unknown split "gpt2"`},
		{"another split", "kimi", tokenizerJSON(ranks, false, nil, qwen), "splits as qwen, not as kimi"},
		{"unknown pattern", "", tokenizerJSON(ranks, false, nil, `\w+`), `split pattern "\\w+" is not known`},
		{"WordPiece", "", model("type", "WordPiece"), `type "WordPiece"`},
		{"SentencePiece", "", model("byte_fallback", true), "SentencePiece"},
		{"marked parts", "", model("end_of_word_suffix", "</w>"), "</w>"},
		{"dropout", "", model("dropout", 0.1), "by chance"},
		{"strange token", "", model("vocab", map[string]int{"中": 1}), `"中"`},
		{"merge of no token", "", model("merges", []string{"zz qq"}), "merge 0"},
		{"NFKC", "", top("normalizer", map[string]any{"type": "NFKC"}), `"NFKC"`},
		{"no splits", "", top("pre_tokenizer", map[string]any{"type": "ByteLevel"}), "no sequence"},
		{"JSON of another kind", "", []byte(`{"a":1}`), "neither"},
		{"broken JSON", "", []byte(`{"model":`), "read vocabulary"},
		{"unknown Tekken pattern", "", tekkenJSON(ranks, `\S+`), "not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tokens.Import(tt.file, tt.split); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %s", err, tt.want)
			}
		})
	}
}
