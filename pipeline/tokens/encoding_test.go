package tokens_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

func TestEncodingNames(t *testing.T) {
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		enc, err := tokens.ParseEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := enc.String(); got != name {
			t.Errorf("String of %s = %s", name, got)
		}
		text, err := enc.MarshalText()
		if err != nil || string(text) != name {
			t.Errorf("MarshalText of %s = %q, %v", name, text, err)
		}
	}
	if tokens.O200kBase != 1 || tokens.R50kBase != 4 {
		t.Error("stored numbers of encodings have changed")
	}
}

func TestUnknownEncoding(t *testing.T) {
	_, err := tokens.ParseEncoding("gpt2")
	if err == nil {
		t.Fatal("no error for an unknown name")
	}
	for _, known := range []string{`"gpt2"`, "o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		if !strings.Contains(err.Error(), known) {
			t.Errorf("error %q does not name %s", err, known)
		}
	}
	for _, enc := range []tokens.Encoding{0, 5} {
		if _, err := tokens.New(enc); err == nil {
			t.Errorf("New(%d) gave no error", enc)
		}
		if _, err := enc.MarshalText(); err == nil {
			t.Errorf("MarshalText of %d gave no error", enc)
		}
		if _, _, err := tokens.CountReader(enc, strings.NewReader("x")); err == nil {
			t.Errorf("CountReader(%d) gave no error", enc)
		}
	}
}
