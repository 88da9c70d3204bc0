package redact_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/redact"
)

// A value that is known as a secret in one place of a text goes in all others,
// where nothing else tells.
func TestASecretGoesWhereverItStands(t *testing.T) {
	const secret = "hunter2Zebra!"
	in := "password=" + secret + "\nthen I typed " + secret + " and it said (" + secret + ") is wrong"
	got := redact.Text(in)
	if strings.Contains(got, "hunter2") || strings.Count(got, "[redacted:password]") != 3 || !strings.Contains(got, "then I typed ") {
		t.Errorf("%q", got)
	}
	if redact.Text(got) != got {
		t.Errorf("a second pass changes %q", got)
	}
	for _, word := range []string{"postgres", "12345678"} { // words and numbers that mean other things elsewhere
		in = "password: \"" + word + "\" # " + word + " runs on port " + word
		if got := redact.Text(in); strings.Count(got, word) != 2 {
			t.Errorf("%q", got)
		}
	}
}

// In a table the first cell names what the second holds.
func TestPasswordsInTables(t *testing.T) {
	for in, want := range map[string]string{
		"| Key | Value |\n|---|---|\n| Password | G1raffe-Passw0rd |":     "| Key | Value |\n|---|---|\n| Password | [redacted:password] |",
		"  | **DB password** | `G1raffe-Passw0rd` | staging |":            "  | **DB password** | `[redacted:password]` | staging |",
		"| login | Password | G1raffe-Passw0rd |":                         "| login | Password | G1raffe-Passw0rd |", // columns
		"| Password | Password2Field is the name of the form's field | x": "| Password | Password2Field is the name of the form's field | x",
	} {
		if got := redact.Text(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
}
