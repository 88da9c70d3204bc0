package mcpserver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// BenchmarkDecision asks over the wire for decisions about 10,000 sessions, one
// after the other: p50 is to be at most 1 ms, p99 at most 5 ms.
func BenchmarkDecision(b *testing.B) {
	const threads = 10_000
	var all []*rollouttest.Rollout
	begun := time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC)
	for i := range threads {
		r := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: threadID(i), Start: begun.Add(time.Duration(i) * time.Hour)})
		for turn := range 5 {
			r.User(fmt.Sprintf("question %d of %d", turn, i)).Assistant(fmt.Sprintf("answer %d of %d", turn, i))
		}
		all = append(all, r.End())
	}
	c := legacy(b, newWorld(b, all...).deps())
	ask := func(i int) {
		c.good("get_migration_decision", fmt.Sprintf(`{"session":%q,"target_model":"gpt-5.5"}`, threadID(i*7919%threads)))
	}
	ask(0) // opens the cache
	var took []time.Duration
	for i := 1; b.Loop(); i++ {
		start := time.Now()
		ask(i)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	at := func(p int) float64 { return float64(took[min(len(took)-1, len(took)*p/100)].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
}

func threadID(i int) string { return fmt.Sprintf("%08x-0000-7000-9000-%012d", 0x019a0000+i, i) }
