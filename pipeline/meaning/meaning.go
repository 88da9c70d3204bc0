// Package meaning stands between what was said and whoever turns it into
// vectors: it takes out the secrets, cuts texts into passages, and asks for the
// vector of a question without making anybody wait for it.
package meaning

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/redact"
)

const (
	// A passage is as long as a thought, and as short as any model takes: runes.
	passageFull = 800
	passageMost = 1200
	// passages is how many the beginning of a long item has: a pasted log has
	// said after that what it is about.
	passages = 12
	// least is how many runes are worth a vector: "ok" is near to everything.
	least = 4
)

// Passage is a part of what was said, without secrets.
type Passage struct {
	Hash [16]byte // of Text
	Text string
}

// Cut takes the secrets out of a text and cuts it at ends of paragraphs, else
// of lines, sentences or words. It gives the first 12 passages; none for a text
// that says next to nothing. It is pure.
func Cut(text string) (out []Passage) {
	text = clean(text, 2*passages*passageMost*utf8.UTFMax)
	for len(out) < passages && text != "" {
		n := end(text)
		p := strings.TrimSpace(text[:n])
		text = strings.TrimSpace(text[n:])
		if utf8.RuneCountInString(p) < least {
			continue
		}
		sum := sha256.Sum256([]byte(p))
		out = append(out, Passage{Hash: [16]byte(sum[:16]), Text: p})
	}
	return out
}

// clean redacts before it cuts: half a key would no longer be recognised.
func clean(text string, most int) string {
	text = redact.Text(text)
	if len(text) > most {
		text = text[:most]
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""))
}

// end is where the first passage of a text ends, in bytes.
func end(text string) int {
	full, most, n := len(text), len(text), 0
	for i := range text {
		if n == passageFull {
			full = i
		}
		if n == passageMost {
			most = i
			break
		}
		n++
	}
	if most == len(text) && n <= passageMost {
		return most // all of it
	}
	// The last good place from half of a full passage on, the best kind first.
	for _, sep := range []string{"\n\n", "\n", "。", ". ", "! ", "? ", " "} {
		if i := strings.LastIndex(text[full/2:most], sep); i >= 0 {
			return full/2 + i + len(sep)
		}
	}
	return most
}
