package tokens

import (
	"fmt"
	"strings"
)

// Encoding names a way to cut text into tokens. The zero value names none.
type Encoding uint8

const (
	// O200kBase serves GPT-4o and everything OpenAI published after it.
	O200kBase Encoding = iota + 1
	// Cl100kBase serves GPT-4 and GPT-3.5.
	Cl100kBase
	// P50kBase serves the completion and code models before GPT-3.5.
	P50kBase
	// R50kBase serves GPT-3 as first published.
	R50kBase
)

// encodings lists every encoding, in the order in which errors name them.
func encodings() []Encoding {
	return []Encoding{O200kBase, Cl100kBase, P50kBase, R50kBase}
}

// String returns the name the encoding was published under.
func (e Encoding) String() string {
	switch e {
	case O200kBase:
		return "o200k_base"
	case Cl100kBase:
		return "cl100k_base"
	case P50kBase:
		return "p50k_base"
	case R50kBase:
		return "r50k_base"
	}
	return fmt.Sprintf("encoding(%d)", uint8(e))
}

// MarshalText returns the published name; a value outside the set is an error.
func (e Encoding) MarshalText() ([]byte, error) {
	if _, err := ParseEncoding(e.String()); err != nil {
		return nil, err
	}
	return []byte(e.String()), nil
}

// ParseEncoding returns the encoding of that name. The error of an unknown
// name lists the known ones.
func ParseEncoding(name string) (Encoding, error) {
	known := make([]string, 0, len(encodings()))
	for _, e := range encodings() {
		if e.String() == name {
			return e, nil
		}
		known = append(known, e.String())
	}
	return 0, fmt.Errorf("unknown encoding %q (known: %s)", name, strings.Join(known, ", "))
}
