package summary_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/store/summary"
)

func TestChecked(t *testing.T) {
	for text, want := range map[string]error{
		"": summary.ErrBlank, " \n\t": summary.ErrBlank, "a\xffb": summary.ErrNotText, " kept\n": nil,
		strings.Repeat("x", summary.MaxBytes): nil, strings.Repeat("x", summary.MaxBytes+1): summary.ErrTooLong,
	} {
		got, err := summary.Checked(text)
		if !errors.Is(err, want) || err == nil && got != strings.TrimSpace(text) {
			t.Errorf("%.20q: %.20q, %v, want %v", text, got, err, want)
		}
	}
}
