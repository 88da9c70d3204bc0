package embed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const tinyTokenizer = `{"version":"1.0","normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":12,
"vocab":{"[PAD]":0,"[UNK]":1,"cat":2,"##s":3,"car":4,"un":5,"##wind":6,"##able":7,"!":8,"数":9,"据":10,"uber":11,"_":12}}}`

// tinyRows is the table: row i is along dimension i%4, and i long.
func tinyRows(half bool) []byte {
	var b bytes.Buffer
	for i := range 13 {
		for j := range 4 {
			f := float32(0)
			if j == i%4 {
				f = float32(i)
			}
			if half {
				_ = binary.Write(&b, binary.LittleEndian, uint16(math.Float32bits(f)>>13&0x3ff|halfExponent(f)))
			} else {
				_ = binary.Write(&b, binary.LittleEndian, f)
			}
		}
	}
	return b.Bytes()
}

func halfExponent(f float32) uint32 {
	if f == 0 {
		return 0
	}
	return (math.Float32bits(f)>>23&255 - 127 + 15) << 10
}

// tiny writes a model and gives its folder.
func tiny(t *testing.T, tokenizer, header string, data []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), data...)
	for name, text := range map[string][]byte{"tokenizer.json": []byte(tokenizer), "model.safetensors": file} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	header32 = `{"__metadata__":{},"embeddings":{"dtype":"F32","shape":[13,4],"data_offsets":[0,208]}}`
	header16 = `{"embeddings":{"dtype":"F16","shape":[13,4],"data_offsets":[0,104]}}`
)

func TestAFolderMakesVectors(t *testing.T) {
	for _, half := range []bool{false, true} {
		header := header32
		if half {
			header = header16
		}
		l, err := OpenLocal(tiny(t, tinyTokenizer, header, tinyRows(half)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		a, err := l.Embed(t.Context(), []string{"cats", "Cat!", "nothing known", "unwindable"})
		if err != nil || l.Host() != "" || !l.Local() || !strings.HasPrefix(l.Model(), "tiny-") || a.Spent.Calls != 0 {
			t.Fatalf("%v, %q, %+v", err, l.Model(), a.Spent)
		}
		for i, want := range [][]float64{
			{0, 0, 2, 3}, // cat, ##s
			{8, 0, 2, 0}, // cat, !
			{1, 0, 0, 0}, // alike to nothing
			{0, 5, 6, 7}, // un, ##wind, ##able
		} {
			length := 0.0
			for _, f := range want {
				length += f * f
			}
			for j, f := range want {
				if math.Abs(f/math.Sqrt(length)-float64(a.Vectors[i][j])) > 1e-6 {
					t.Errorf("half %t, text %d: %v, want the direction of %v", half, i, a.Vectors[i], want)
					break
				}
			}
		}
	}
}

func TestWordsAreCutAsBERTDoes(t *testing.T) {
	l, err := OpenLocal(tiny(t, tinyTokenizer, header32, tinyRows(false)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for text, want := range map[string][]int{
		"":                 nil,
		"CATS car":         {2, 3, 4},
		"Über\tcat\u00a0s": {11, 2}, // "s" alone is unknown
		"u\u0308ber":       {11},
		"数据cat":            {9, 10, 2},
		"cat_car!":         {2, 12, 4, 8},
		"c\u200bat\x00s":   {2, 3}, // what isn't shown is dropped
		"catcatcatcatcat":  nil,    // too long for a word
		"catx [UNK] cat":   {2},    // brackets are marks, and "unk" is unknown
	} {
		if got := l.words.ids(text, 100); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := l.words.ids(strings.Repeat("cats ", 10), 3); len(got) != 3 {
		t.Errorf("limit: %v", got)
	}
}

func TestModelsOfOtherKindsAreRefused(t *testing.T) {
	all := tinyRows(false)
	for name, tt := range map[string]struct {
		tokenizer, header string
		data              []byte
		says              string
	}{
		"unigram":      {strings.Replace(tinyTokenizer, `"WordPiece"`, `"Unigram"`, 1), header32, all, `kind "Unigram"`},
		"other marks":  {strings.Replace(tinyTokenizer, `"BertPreTokenizer"`, `"Whitespace"`, 1), header32, all, `kind "Whitespace"`},
		"no JSON":      {"{", header32, all, "tokenizer.json can't be read"},
		"list":         {strings.Replace(tinyTokenizer, `"vocab":{`, `"vocab":[],"v":{`, 1), header32, all, "no vocabulary"},
		"negative":     {strings.Replace(tinyTokenizer, `"cat":2`, `"cat":-2`, 1), header32, all, "numbers a piece -2"},
		"few rows":     {strings.Replace(tinyTokenizer, `"cat":2`, `"cat":99`, 1), header32, all, "13 rows for a vocabulary of 100"},
		"weights":      {tinyTokenizer, strings.Replace(header32, `"__metadata__"`, `"weights"`, 1), all, "table of weights"},
		"integers":     {tinyTokenizer, strings.Replace(header32, "F32", "I8", 1), all, "numbers are I8"},
		"cut":          {tinyTokenizer, header32, all[:200], "not whole"},
		"wrong shape":  {tinyTokenizer, strings.Replace(header32, "[13,4]", "[13,5]", 1), all, "not whole"},
		"no table":     {tinyTokenizer, "{}", all, "no table of embeddings"},
		"negative row": {tinyTokenizer, strings.Replace(header32, "[0,208]", "[-8,200]", 1), all, "not whole"},
		"no header":    {tinyTokenizer, strings.Repeat(" ", 8), nil, "header of model.safetensors can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenLocal(tiny(t, tt.tokenizer, tt.header, tt.data))
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	if _, err := OpenLocal(t.TempDir()); !errors.Is(err, ErrOptions) {
		t.Errorf("empty folder: %v", err)
	}
}

func TestHalfFloats(t *testing.T) {
	for h, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.33325195, 0x7bff: 65504, 0x0001: 5.9604645e-8, 0x8400: -6.1035156e-5} {
		if got := halfFloat(h); got != want {
			t.Errorf("%04x: %v, want %v", h, got, want)
		}
	}
	if f := float64(halfFloat(0x7c00)); !math.IsInf(f, 1) {
		t.Errorf("infinity: %v", f)
	}
}

func FuzzTokenizer(f *testing.F) {
	f.Add(tinyTokenizer, "cats and 数据")
	f.Fuzz(func(t *testing.T, tokenizer, text string) {
		w, err := parseWordPiece([]byte(tokenizer))
		if err != nil {
			return
		}
		for _, id := range w.ids(text, maxTokens) {
			if id < 0 || id > w.last {
				t.Errorf("piece %d of %d", id, w.last)
			}
		}
	})
}
