package failpoint_test

import (
	"testing"

	"github.com/session-migrator/session-migrator/store/failpoint"
)

func TestEveryPointHasItsOwnName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range failpoint.Points() {
		text, err := p.MarshalText()
		if err != nil || len(text) == 0 || seen[string(text)] {
			t.Errorf("point %d: %q, %v", p, text, err)
		}
		seen[string(text)] = true
	}
	if len(seen) < 12 {
		t.Errorf("%d points", len(seen))
	}
	if got := failpoint.Point(200).String(); got != "point(200)" {
		t.Error(got)
	}
}
