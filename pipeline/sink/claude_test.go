package sink

import (
	"strings"
	"testing"
)

func TestClaudeSlug(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/dana/code/ledger_kit.v2": "-home-dana-code-ledger-kit-v2",
		`C:\code\小店 😀`:                  "C--code------",
		"/" + strings.Repeat("a", 199):  "-" + strings.Repeat("a", 199),
		"/" + strings.Repeat("a", 200):  "-" + strings.Repeat("a", 199) + "-" + slugHash("/"+strings.Repeat("a", 200)),
	} {
		if got := claudeSlug(dir); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}

// slugHash is the hash written down another way: 31 times the last, as 32 bits.
func slugHash(s string) string {
	var h int64
	for _, c := range []byte(s) {
		h = (h*31 + int64(c)) % (1 << 32)
	}
	if h >= 1<<31 {
		h -= 1 << 32
	}
	if h < 0 {
		h = -h
	}
	digits := ""
	for ; h > 0; h /= 36 {
		digits = string("0123456789abcdefghijklmnopqrstuvwxyz"[h%36]) + digits
	}
	return digits
}
