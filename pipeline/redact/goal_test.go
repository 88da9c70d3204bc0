//go:build !windows

package redact_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
)

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkGoal17 measures what redacting costs, in megabytes a CPU second.
func BenchmarkGoal17(b *testing.B) {
	prose := strings.Join(harmless, "\n") + "\n"
	var dense strings.Builder
	for _, s := range secrets() {
		dense.WriteString(strings.Replace(s.text, "%s", s.secret, 1) + "\n")
	}
	var kinds, hidden strings.Builder
	for _, s := range redacttest.All(1) {
		hidden.WriteString(s.Text + "\n")
		if !strings.HasPrefix(s.Name, "split by") {
			kinds.WriteString(s.Text + "\n")
		}
	}
	page := strings.Repeat("The renderer asks the list of the host and stops before any page is laid out.\n", 60)
	for _, c := range []struct{ name, text string }{
		{"ordinary text, a secret every 64 KiB", strings.Repeat(strings.Repeat(page, 14)+dense.String()[:200], 16)},
		{"text full of what looks like secrets", strings.Repeat(prose, 1<<20/len(prose))},
		{"nothing but secrets", strings.Repeat(dense.String(), 1<<20/dense.Len())},
		{"a secret of every kind, each on its line", strings.Repeat(kinds.String(), 1<<20/kinds.Len())},
		{"the same with some split by what is not shown", strings.Repeat(hidden.String(), 1<<20/hidden.Len())},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			begun := cpu(b)
			n := 0
			for b.Loop() {
				redact.Text(c.text)
				n++
			}
			used := cpu(b) - begun
			reliability.Figure(b, 17, "%s: %.0f MB per CPU second", c.name, float64(n)*float64(len(c.text))/1e6/used.Seconds())
		})
	}
}
