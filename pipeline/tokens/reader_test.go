package tokens_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// repeat gives text over and over, size bytes in all.
type repeat struct {
	text string
	at   int
	left int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && n < r.left {
		k := copy(p[n:min(len(p), r.left)], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	r.left -= n
	return n, nil
}

func TestCountReaderHoldsLittle(t *testing.T) {
	c := counter(t, tokens.O200kBase)
	const size, limit = 3 << 19, 1 << 20
	for _, text := range []string{
		"func main() { return }\n", "a", "\n", " ", "=", "\x00", "1", "1234567890", "x1", "½", "中文，", "a'b", "==\n",
		"{\"a\":1},", "中", "\xff", "\xe4\xb8",
	} {
		most, err := tokens.Held(c, &repeat{text: text, left: size})
		if err != nil || most > limit {
			t.Errorf("%.20q: held %d bytes, %v, want at most %d", text, most, err, limit)
		}
	}
}

func TestCountReaderGivesUp(t *testing.T) {
	// Ideographs alone are one piece, and their run is not of one rune.
	c := counter(t, tokens.O200kBase)
	const limit = 1 << 20
	if _, err := tokens.CountBlocks(c, &repeat{text: "中文", left: limit}, 64<<10, limit); err != nil {
		t.Errorf("up to the limit: %v", err)
	}
	_, err := tokens.CountBlocks(c, &repeat{text: "中文", left: limit + 64<<10}, 64<<10, limit)
	if !errors.Is(err, tokens.ErrUncut) {
		t.Errorf("error = %v, want ErrUncut", err)
	}
}

func TestCountReaderReportsReadErrors(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("hello world"), iotest.ErrReader(broken))
	_, size, err := tokens.CountReader(tokens.Cl100kBase, r)
	if !errors.Is(err, broken) || size != 11 {
		t.Errorf("CountReader = %d bytes, %v, want 11, broken", size, err)
	}
}

func TestCountReaderOfNothing(t *testing.T) {
	n, size, err := tokens.CountReader(tokens.O200kBase, strings.NewReader(""))
	if n != 0 || size != 0 || err != nil {
		t.Errorf("CountReader = %d, %d, %v", n, size, err)
	}
}
