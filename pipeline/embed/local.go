package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

const (
	maxTokenizer = 64 << 20 // bytes of tokenizer.json
	maxHeader    = 16 << 20 // bytes of a safetensors header
	maxRows      = 1 << 24
	maxTokens    = 512      // of a text that count
	hashedEnds   = 64 << 10 // bytes of either end of a model that tell it from others
)

// Local makes vectors by a model2vec model in a folder: the mean of the rows of
// a table, one for each piece of a word. Nothing is sent. It is safe for
// concurrent use.
type Local struct {
	name  string
	words *wordPiece
	file  *os.File
	rows  table
}

// table says where in a safetensors file the rows are.
type table struct {
	at         int64 // of the first row
	rows, dims int
	half       bool // 16 bits a number, else 32
}

// OpenLocal opens a folder with tokenizer.json and model.safetensors, as
// model2vec writes them for a model with the WordPiece vocabulary of BERT.
// ErrOptions for others.
func OpenLocal(dir string) (_ *Local, err error) {
	words, err := readWordPiece(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", dir, err)
	}
	f, err := os.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w: %w", dir, ErrOptions, err)
	}
	l := &Local{words: words, file: f}
	if l.rows, err = readTable(f); err == nil {
		l.name, err = fileName(f, filepath.Base(dir))
	}
	if err == nil && l.rows.rows <= words.last {
		err = fmt.Errorf("%w: %d rows for a vocabulary of %d", ErrOptions, l.rows.rows, words.last+1)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open model %s: %w", dir, err), f.Close())
	}
	return l, nil
}

// readTable reads the header of a safetensors file.
func readTable(f *os.File) (t table, err error) {
	st, err := f.Stat()
	if err != nil {
		return t, err
	}
	var size [8]byte
	if _, err := f.ReadAt(size[:], 0); err != nil {
		return t, fmt.Errorf("%w: model.safetensors has no header", ErrOptions)
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > maxHeader || int64(n)+8 > st.Size() {
		return t, fmt.Errorf("%w: model.safetensors is not whole, or no such file", ErrOptions)
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, 8); err != nil {
		return t, fmt.Errorf("read model.safetensors: %w", err)
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return t, fmt.Errorf("%w: the header of model.safetensors can't be read: %w", ErrOptions, err)
	}
	for _, other := range []string{"mapping", "weights"} {
		if header[other] != nil {
			return t, fmt.Errorf("%w: the model has a table of %s, which this program doesn't read", ErrOptions, other)
		}
	}
	var e struct {
		Type   string   `json:"dtype"`
		Shape  []int    `json:"shape"`
		Offset [2]int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(header["embeddings"], &e); err != nil || len(e.Shape) != 2 {
		return t, fmt.Errorf("%w: model.safetensors has no table of embeddings", ErrOptions)
	}
	t = table{at: 8 + int64(n) + e.Offset[0], rows: e.Shape[0], dims: e.Shape[1], half: e.Type == "F16"}
	if e.Type != "F16" && e.Type != "F32" {
		return t, fmt.Errorf("%w: the model's numbers are %s; F32 and F16 are read", ErrOptions, e.Type)
	}
	if t.rows < 1 || t.rows > maxRows || t.dims < 1 || t.dims > maxDims || e.Offset[0] < 0 || e.Offset[1]-e.Offset[0] != int64(t.rows)*int64(t.width()) || 8+int64(n)+e.Offset[1] > st.Size() {
		return t, fmt.Errorf("%w: model.safetensors is not whole", ErrOptions)
	}
	return t, nil
}

// width is the bytes of a row.
func (t table) width() int {
	if t.half {
		return 2 * t.dims
	}
	return 4 * t.dims
}

// fileName tells a model from others by the name of its folder: its size and
// either end.
func fileName(f *os.File, base string) (string, error) {
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, st.Size()) // a hash never fails
	for _, at := range []int64{0, max(0, st.Size()-hashedEnds)} {
		if _, err := io.Copy(sum, io.NewSectionReader(f, at, hashedEnds)); err != nil {
			return "", fmt.Errorf("read model.safetensors: %w", err)
		}
	}
	return base + "-" + hex.EncodeToString(sum.Sum(nil)[:4]), nil
}

// Host is empty: nothing is sent.
func (l *Local) Host() string { return "" }

// Local is true.
func (l *Local) Local() bool { return true }

// Model is the folder's name with what tells its files from others.
func (l *Local) Model() string { return l.name }

// Batch is how many texts it takes at a time.
func (l *Local) Batch() int { return Batch }

// Close frees the file.
func (l *Local) Close() { _ = l.file.Close() } // only read

// Embed gives a vector for each text. A text of which the model knows no word
// gets one that is alike to nothing: along the first dimension, alone.
func (l *Local) Embed(ctx context.Context, texts []string) (a Answer, err error) {
	row := make([]byte, l.rows.width())
	for _, text := range texts {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		v := make([]float32, l.rows.dims)
		for _, id := range l.words.ids(text, maxTokens) {
			if _, err := l.file.ReadAt(row, l.rows.at+int64(id)*int64(len(row))); err != nil {
				return Answer{}, fmt.Errorf("%w: read model.safetensors: %w", ErrUnavailable, err)
			}
			l.rows.add(v, row)
		}
		if !Normalise(v) {
			clear(v)
			v[0] = 1
		}
		a.Vectors = append(a.Vectors, v)
	}
	return a, nil
}

// add adds a row to v.
func (t table) add(v []float32, row []byte) {
	for i := range v {
		if t.half {
			v[i] += halfFloat(binary.LittleEndian.Uint16(row[2*i:]))
		} else {
			v[i] += math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
		}
	}
}

// halfFloat reads a number of 16 bits: sign, 5 of exponent, 10 of fraction.
func halfFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, int(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | uint32(exp+127-15)<<23 | frac<<13)
}
