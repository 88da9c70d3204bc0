package rollout

import (
	"strings"
	"testing"
)

// A title is cut before it is known what is a secret in it: never within one.
func TestAPreviewEndsBetweenWords(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("aB3", 12)
	for n := 300; n < 420; n++ {
		text := strings.Repeat("字", n/3) + strings.Repeat("x ", n%3) + "use " + key + " now, and go on with " + strings.Repeat("more words ", 20)
		got := preview(text, 400)
		if i := strings.Index(got, "gh"+"p_"); i >= 0 && !strings.Contains(got, key) || len(got) > 400 || len(got) < 300 {
			t.Errorf("%d: %d bytes, ends with %q", n, len(got), got[max(0, len(got)-50):])
		}
	}
	if got := preview(strings.Repeat("k", 500), 400); got != "" {
		t.Errorf("one long word becomes %q", got)
	}
	// The part that is looked at of a text of white space ends within a word, too.
	if got := preview("start "+strings.Repeat(" ", 16*400-16)+key, 400); got != "start" {
		t.Errorf("after white space: %q", got)
	}
}
