package redact_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
)

// pieces are what rules look at, cut small, so that random sequences of them
// meet every border.
func pieces() []string {
	p := []string{
		"password", "secret", "token", "api_key", "Bearer ", "Authorization", "Cookie", "://", "user", ":", "=", "\"", "'",
		"\\\"", "\\n", "\n", " ", "@", "/", "a", "Z9x", "7", "-", "_", ".", "[", "]", "[redacted:", "[redacted:token]",
		"eyJ", "AKIA", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", " is ", "--", "curl -u ", "日本", "\xff",
	}
	for _, s := range secrets() {
		p = append(p, s.secret)
	}
	for _, s := range redacttest.All(5) {
		if !strings.HasPrefix(s.Name, "split by") {
			p = append(p, s.Text)
		}
	}
	return append(p, "curl -u ", " -p", "sshpass", ":5432:", "@tcp(", "密码是", "%22", "%3A", "login ", "eyJ", "LS0tLS1CRUdJTi", "\"auth\":")
}

func TestRedactingTwiceIsRedactingOnce(t *testing.T) {
	parts := pieces()
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, "parts"), "")
		once := redact.Text(in)
		if twice := redact.Text(once); twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", in, once, twice)
		}
	})
}

// What is not part of a finding comes through byte for byte.
func TestTheRestIsKept(t *testing.T) {
	parts := pieces()
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, "parts"), "")
		want := in
		for {
			found := redact.Find(want)
			if len(found) == 0 {
				break
			}
			var b strings.Builder
			last := 0
			for _, f := range found {
				if f.From < last || f.To <= f.From || f.To > len(want) {
					t.Fatalf("finding %+v after %d in %q", f, last, want)
				}
				b.WriteString(want[last:f.From] + "[redacted:" + f.Kind.String() + "]")
				last = f.To
			}
			want = b.String() + want[last:]
		}
		if got := redact.Text(in); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range secrets() {
		f.Add(strings.Replace(s.text, "%s", s.secret, 1))
	}
	for _, s := range harmless {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once := redact.Text(in)
		if twice := redact.Text(once); twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", in, once, twice)
		}
	})
}

func BenchmarkText(b *testing.B) {
	prose := strings.Join(harmless, "\n")
	clean := strings.Repeat(prose, 1<<20/len(prose))
	var all strings.Builder
	for _, s := range secrets() {
		all.WriteString(strings.Replace(s.text, "%s", s.secret, 1) + "\n")
	}
	for _, c := range []struct{ name, text string }{
		{"harmless", clean},
		{"one secret in 64 KiB", strings.Repeat(strings.Repeat(prose, 64<<10/len(prose))+all.String()[:200], 16)},
		{"prose", strings.Repeat("The renderer asks the list of the host and stops before any page is laid out. ", 13000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				redact.Text(c.text)
			}
		})
	}
}
