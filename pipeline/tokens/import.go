package tokens

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Imported is a vocabulary that was read from a file of its publisher. It is
// immutable and shared by its counters.
type Imported struct {
	// SHA256 is that of the file, in hexadecimal.
	SHA256 string
	// Tokens is the number of tokens that text can have.
	Tokens int
	// Split is how text is cut into pieces, NFC that it is composed first.
	Split Split
	NFC   bool
	// Closed says that each token is reached by its own merges, so that the
	// linear core counts; else the merges are done one by one.
	Closed bool

	vocabulary *vocabulary       // if closed
	ranked     *rankedVocabulary // else
}

// pairs of byte-pair encoding in the order of their ranks, and what else a file
// says.
type recipe struct {
	tokens []string       // in no order; all 256 bytes among them
	merges [][2]string    // lowest rank first; nil: the order of ranks says it
	ranks  map[string]int // of tokens, if there are no merges
	whole  bool           // a piece that is a token is that one
	split  Split
	nfc    bool
}

var (
	// ErrSplit means that the split to take is not told, or not one that the file
	// can have.
	ErrSplit = errors.New("the split can't be taken")
	// ErrUnsupported means that a file is a vocabulary, of a kind that can't be
	// counted with exactly.
	ErrUnsupported = errors.New("not supported: counts would not be exact")
)

// Import reads a tokenizer.json (byte-level BPE), a .tiktoken rank file or a
// tekken.json. A .tiktoken file doesn't say how text is split, so split must;
// for the others it must be empty or what the file says. What isn't known
// exactly (a pattern, a kind of model, a normalisation) is refused with an error
// that names it: a count that is nearly right would be said to be exact.
func Import(file []byte, split string) (*Imported, error) {
	r, err := readRecipe(file)
	if err != nil {
		return nil, err
	}
	if split != "" {
		s, err := parseSplit(split)
		if err != nil {
			return nil, err
		}
		if r.split != 0 && r.split != s {
			return nil, fmt.Errorf("read vocabulary: %w: the file splits as %s, not as %s", ErrSplit, r.split, s)
		}
		r.split = s
	}
	if r.split == 0 {
		return nil, fmt.Errorf("read vocabulary: %w: a rank file doesn't say how text is split: give one of %s", ErrSplit, strings.Join(splitNames[1:], ", "))
	}
	if split == SplitQwen.String() && r.merges == nil {
		r.nfc = true // Qwen's rank file is meant with it
	}
	v := &Imported{Split: r.split, NFC: r.nfc, Tokens: len(r.tokens)}
	sum := sha256.Sum256(file)
	v.SHA256 = hex.EncodeToString(sum[:])
	return v, v.build(r)
}

func parseSplit(name string) (Split, error) {
	for i, n := range splitNames {
		if i > 0 && n == name {
			return Split(i), nil
		}
	}
	return 0, fmt.Errorf("%w: unknown split %q: give one of %s", ErrSplit, name, strings.Join(splitNames[1:], ", "))
}

// New returns a counter for the vocabulary.
func (v *Imported) New() *Counter {
	c := &Counter{imported: v}
	if v.Closed {
		c.merger = newMerger(v.vocabulary)
	} else {
		c.ranked = &ranked{v: v.ranked}
	}
	c.classes, c.cache = classes(), newCache()
	return c
}

func readRecipe(file []byte) (recipe, error) {
	head := bytes.TrimLeft(file, " \t\r\n\ufeff")
	if len(head) == 0 || head[0] != '{' {
		return readRanks(file)
	}
	var kinds struct {
		Model  json.RawMessage `json:"model"`
		Vocab  json.RawMessage `json:"vocab"`
		Config json.RawMessage `json:"config"`
	}
	if err := json.Unmarshal(file, &kinds); err != nil {
		return recipe{}, fmt.Errorf("read vocabulary: %w", err)
	}
	switch {
	case kinds.Model != nil:
		return readHuggingFace(file)
	case kinds.Vocab != nil && kinds.Config != nil:
		return readTekken(file)
	}
	return recipe{}, fmt.Errorf("read vocabulary: neither a tokenizer.json (no model) nor a tekken.json (no config and vocab)")
}

// readRanks reads lines of a token in base64 and its rank.
func readRanks(file []byte) (recipe, error) {
	r := recipe{ranks: map[string]int{}, whole: true}
	n := 0
	for line := range bytes.Lines(file) {
		n++
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return r, fmt.Errorf("read vocabulary: line %d is no token and rank: not a .tiktoken file, nor JSON", n)
		}
		token, err := base64.StdEncoding.DecodeString(string(fields[0]))
		if err != nil {
			return r, fmt.Errorf("read vocabulary: line %d: %w", n, err)
		}
		rank, err := strconv.Atoi(string(fields[1]))
		if err != nil || rank < 0 || rank >= maxTokens {
			return r, fmt.Errorf("read vocabulary: line %d: %.20q is no rank", n, fields[1])
		}
		if err := r.add(string(token), rank); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *recipe) add(token string, rank int) error {
	if _, twice := r.ranks[token]; twice || token == "" {
		return fmt.Errorf("read vocabulary: token %q stands twice or is empty", token)
	}
	r.ranks[token] = rank
	r.tokens = append(r.tokens, token)
	return nil
}

// maxTokens is more than any vocabulary has.
const maxTokens = 1 << 21

// readTekken reads the ranks of a tekken.json: the special tokens come before
// them and take their part of the size.
func readTekken(file []byte) (recipe, error) {
	var t struct {
		Config struct {
			Pattern string `json:"pattern"`
			Size    int    `json:"default_vocab_size"`
			Special int    `json:"default_num_special_tokens"`
		} `json:"config"`
		Vocab []struct {
			Rank  int    `json:"rank"`
			Bytes []byte `json:"token_bytes"`
		} `json:"vocab"`
	}
	if err := json.Unmarshal(file, &t); err != nil {
		return recipe{}, fmt.Errorf("read tekken.json: %w", err)
	}
	r := recipe{ranks: map[string]int{}, whole: true}
	var err error
	if r.split, err = splitOf(t.Config.Pattern); err != nil {
		return r, err
	}
	keep := t.Config.Size - t.Config.Special
	for _, v := range t.Vocab {
		if v.Rank >= keep {
			continue
		}
		if err := r.add(string(v.Bytes), v.Rank); err != nil {
			return r, err
		}
	}
	return r, nil
}
