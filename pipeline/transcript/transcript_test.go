package transcript_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestPathsAreShownAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct{ path, shown, key string }{
		{"", "", ""},
		{"/", "/", "/"},
		{"/home/dana/proj/", "/home/dana/proj", "/home/dana/proj"},
		{"/Home/Dana", "/Home/Dana", "/Home/Dana"},
		{`c:\Work\Shop (2026)\app`, `C:\Work\Shop (2026)\app`, "c:/work/shop (2026)/app"},
		{`\\?\C:\Work\Shop (2026)\app\`, `C:\Work\Shop (2026)\app`, "c:/work/shop (2026)/app"},
		{"C:/Work/x", `C:\Work\x`, "c:/work/x"},
		{`C:\`, `C:\`, "c:/"},
		{`\\?\UNC\server\share\x`, `\\server\share\x`, "//server/share/x"},
		{`\\server\share\x\`, `\\server\share\x`, "//server/share/x"},
		{`relative\path`, `relative\path`, `relative\path`},
		{"C:relative", "C:relative", "C:relative"},
	} {
		if got := transcript.ShownPath(c.path); got != c.shown {
			t.Errorf("%q is shown as %q, want %q", c.path, got, c.shown)
		}
		if got := transcript.WorkspaceKey(c.path); got != c.key {
			t.Errorf("%q has the key %q, want %q", c.path, got, c.key)
		}
	}
}

func TestPathsSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`(\\\\\?\\)?([a-zA-Z]:)?[\\/a-z.?]{0,12}`).Draw(t, "path")
		shown := transcript.ShownPath(p)
		if again := transcript.ShownPath(shown); again != shown {
			t.Fatalf("%q becomes %q, then %q", p, shown, again)
		}
		if transcript.WorkspaceKey(p) != transcript.WorkspaceKey(shown) {
			t.Fatalf("%q and %q are two workspaces", p, shown)
		}
	})
}

func TestWordsReadBack(t *testing.T) {
	for r := transcript.RoleUser; r <= transcript.RoleCompaction; r++ {
		var back transcript.Role
		text, err := r.MarshalText()
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back != r {
			t.Errorf("role %v reads back as %v, %v", r, back, err)
		}
	}
	for s := transcript.StateEmpty; s <= transcript.StateFailed; s++ {
		var back transcript.State
		text, err := s.MarshalText()
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back != s {
			t.Errorf("state %v reads back as %v, %v", s, back, err)
		}
	}
	var r transcript.Role
	if err := r.UnmarshalText([]byte("tool")); err == nil {
		t.Error("a word that is no role is taken for one")
	}
}

func TestUsageNeverFallsBelowZero(t *testing.T) {
	u := transcript.Usage{Input: 5, Total: 5}
	v := transcript.Usage{Input: 7, Output: 1, Total: 8}
	if d := u.Minus(v); d != (transcript.Usage{}) {
		t.Errorf("%+v", d)
	}
	if s := u.Plus(v).Minus(v); s != u {
		t.Errorf("%+v", s)
	}
}
