package redact_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/redact"
)

// hidings are what a terminal or a reader doesn't show.
var hidings = []string{
	"\x1b[01;31m\x1b[K", "\x1b[m\x1b[K", "\x1b[0m", "\x1b[38;5;196m", "\x1b[38:2::1:2:3m", "\x1b(B\x1b[m", "\x1b]8;;https://a.test\x1b\\", "\x1b]0;t\a",
	"\x1bP1$r\x1b\\", "\x1b7", "\x1b=", "\x1b", "\u009b31m", "\x00", "\b", "\x7f",
	"\u200b", "\u200c", "\u200d", "\u200e", "\u202e", "\u2060", "\u2066", "\ufeff", "\u00ad", "\u180e", "\u034f", "\ufe0f", "\U000e0041",
}

func TestSecretsInColours(t *testing.T) {
	token := "gh" + "p_" + body(36, letters)
	for _, h := range hidings {
		for name, in := range map[string]string{
			"match of grep":   "a.txt:" + h + token[:4] + h + token[4:] + " end",
			"in the middle":   "my " + token[:20] + h + token[20:] + " end",
			"in every gap":    "my " + strings.Join(strings.Split(token, ""), h) + " end",
			"in front":        "x" + h + "AKIA" + body(16, capitals) + " end",
			"assigned":        "DB_PASS" + h + "WORD=\"hunter2" + h + "hunter2\" end",
			"half of it seen": "my " + token[:36] + h + token[36:] + " end",
		} {
			got := redact.Text(in)
			if !strings.Contains(got, "[redacted:") || !strings.HasSuffix(got, " end") {
				t.Errorf("%s with %q: %q", name, h, got)
			}
			for _, part := range []string{token[4:12], token[22:28], token[36:], "hunter2", body(16, capitals)} {
				if strings.Contains(got, part) {
					t.Errorf("%s with %q: %q has %q", name, h, got, part)
				}
			}
			if again := redact.Text(got); again != got {
				t.Errorf("%s with %q: twice gives %q, once %q", name, h, again, got)
			}
			if b := redact.Bytes([]byte(in)); string(b) != got {
				t.Errorf("%s with %q: bytes give %q", name, h, b)
			}
			if len(redact.Count(in)) == 0 {
				t.Errorf("%s with %q: not counted", name, h)
			}
		}
	}
}

// Colours alone are nothing to take away, and neither are those beside a
// secret that is seen without.
func TestColoursAreKept(t *testing.T) {
	token := "gh" + "p_" + body(36, letters)
	for in, want := range map[string]string{
		"\x1b[32mok\x1b[0m \u200bpkg 👩\u200d💻\x00":                       "\x1b[32mok\x1b[0m \u200bpkg 👩\u200d💻\x00",
		"\x1b[31mred\x1b[0m " + token + " \u200b":                        "\x1b[31mred\x1b[0m [redacted:github-token] \u200b",
		"a\u200b " + token + "\nb\u200d":                                 "a\u200b [redacted:github-token]\nb\u200d",
		"\x1b[1m" + strings.Join(harmless, "\x1b[0m\n\x1b[1m") + "\x1b[": "\x1b[1m" + strings.Join(harmless, "\x1b[0m\n\x1b[1m") + "\x1b[",
	} {
		if got := redact.Text(in); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// A border that only the hidden character makes still counts.
func TestWhatStrippingWouldHide(t *testing.T) {
	key := "AKIA" + body(16, capitals)
	token := "gh" + "p_" + body(36, letters)
	in := "foo\u200b" + key + " " + token[:9] + "\u200b" + token[9:]
	if got := redact.Text(in); strings.Contains(got, key) || strings.Contains(got, token[9:]) {
		t.Errorf("got %q", got)
	}
}

func TestHiddenRedactingTwiceIsRedactingOnce(t *testing.T) {
	parts := append(pieces(), hidings...)
	for _, s := range secrets() {
		parts = append(parts, s.secret[:len(s.secret)/2], s.secret[len(s.secret)/2:])
	}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, "parts"), "")
		once := redact.Text(in)
		if twice := redact.Text(once); twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", in, once, twice)
		}
		if found := redact.Find(once); len(found) > 0 {
			t.Fatalf("%q\nbecame %q with %v", in, once, found)
		}
	})
}

// Prefixes in a row, each of which could begin a key as long as the rest, take
// time in proportion to their length: this would run for minutes otherwise.
func TestManyPrefixesInARow(t *testing.T) {
	for _, p := range []string{"gh" + "p_", "gh" + "p_\x1b[m", "AKIA\x1b[", "\x1b]0;a", "\x1b[1111"} {
		in := strings.Repeat(p, 1<<18/len(p))
		if got := redact.Text(in); got != in {
			t.Errorf("%q: became %.80q", p, got)
		}
	}
	long := "gh" + "p_" + body(5000, letters)
	if got := redact.Text("a " + long + " b"); got != "a [redacted:github-token] b" {
		t.Errorf("a long one: %q", got)
	}
}
