package defuse_test

import (
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
)

func TestJoinedPicturesStayWhole(t *testing.T) {
	for in, want := range map[string]string{
		"👩\u200d💻 at work":      "👩\u200d💻 at work",
		"🏳\ufe0f\u200d🌈":        "🏳\ufe0f\u200d🌈",
		"gh\u200dp_ and \u200d": "ghp_ and ",
		"👩\u200da":              "👩a",
	} {
		if got := defuse.Visible(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
