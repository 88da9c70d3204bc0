package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// history makes n small rollouts, about 20 a day, and old ones.
func history(tb testing.TB, home string, n int) {
	tb.Helper()
	begun := time.Date(2023, 1, 1, 9, 0, 0, 0, time.UTC)
	for i := range n {
		at := begun.AddDate(0, 0, i/20).Add(time.Duration(i%20) * time.Minute)
		b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-9000-%012d", i), Start: at})
		b.User(fmt.Sprint("question ", i)).Assistant(fmt.Sprint("answer ", i)).End()
		path := filepath.Join(home, filepath.FromSlash(b.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			tb.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			tb.Fatal(err)
		}
	}
}

// live runs a daemon in this process until the benchmark ends.
func live(b *testing.B, c config.Config) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ready, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{Config: c, Progress: func(g daemon.Progress) {
			if g.Phase == daemon.PhaseWatch {
				ready <- struct{}{}
			}
		}})
	}()
	select {
	case <-ready:
	case err := <-done:
		b.Fatal(err)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

func percentile(took []time.Duration, p int) float64 {
	return float64(took[min(len(took)-1, len(took)*p/100)].Microseconds()) / 1000
}

// BenchmarkGoal6AppendToRow is the time from the end of a write to the row that
// another process reads.
func BenchmarkGoal6AppendToRow(b *testing.B) {
	home, data := b.TempDir(), filepath.Join(b.TempDir(), "data")
	c := config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}
	history(b, home, 200)
	stop := live(b, c)
	defer stop()
	db, err := store.OpenReader(b.Context(), c.DB())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	// seen waits for the last answer of a thread.
	seen := func(thread, text string) {
		for {
			ms, err := db.Messages(b.Context(), thread, 0, 0)
			if err == nil && len(ms) > 0 && ms[len(ms)-1].Text == text {
				return
			}
			time.Sleep(200 * time.Microsecond) // looks at what is measured, as a reader would
		}
	}
	add := func(r *rollouttest.Rollout, from int) {
		path := filepath.Join(home, filepath.FromSlash(r.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(r.Bytes()[from:]); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	const appends, days = 500, 100
	var took, fresh []time.Duration
	for b.Loop() {
		var r *rollouttest.Rollout
		for i := range appends {
			if i%25 == 0 { // a new thread, so that reading it stays cheap
				r = rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019b0000-0000-7000-8000-%06d%06d", len(took), i)})
				r.User("question").Assistant("answer").End()
				add(r, 0)
				seen(r.ThreadID(), "answer")
			}
			from, answer := len(r.Bytes()), fmt.Sprint("answer ", i)
			r.User("question").Assistant(answer).End()
			began := time.Now()
			add(r, from)
			seen(r.ThreadID(), answer)
			took = append(took, time.Since(began))
		}
		for i := range days {
			at := time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, len(fresh))
			r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019c0000-0000-7000-8000-%06d%06d", len(fresh), i), Start: at})
			r.User("question").Assistant("first of its day").End()
			began := time.Now()
			add(r, 0)
			seen(r.ThreadID(), "first of its day")
			fresh = append(fresh, time.Since(began))
		}
	}
	slices.Sort(took)
	slices.Sort(fresh)
	b.ReportMetric(percentile(took, 50), "p50-ms")
	b.ReportMetric(percentile(took, 99), "p99-ms")
	b.ReportMetric(0, "ns/op")
	reliability.Figure(b, 6, "append to row another connection reads: p50 %.0f ms, p99 %.0f ms over %d appends; first file of a new day folder: p50 %.0f ms, p99 %.0f ms over %d",
		percentile(took, 50), percentile(took, 99), len(took), percentile(fresh, 50), percentile(fresh, 99), len(fresh))
}

// BenchmarkGoal7StartWithNothingNew is the time from the start of the daemon to
// "current" when 10,000 sessions lie there as they were.
func BenchmarkGoal7StartWithNothingNew(b *testing.B) {
	home, data := b.TempDir(), filepath.Join(b.TempDir(), "data")
	c := config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}
	history(b, home, 10_000)
	if _, err := daemon.Once(b.Context(), daemon.Options{Config: c}); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	var took, cpu []time.Duration
	for b.Loop() {
		for range 5 {
			began, used := time.Now(), cpuTime()
			stop := live(b, c)
			took, cpu = append(took, time.Since(began)), append(cpu, cpuTime()-used)
			stop()
		}
	}
	slices.Sort(took)
	slices.Sort(cpu)
	b.ReportMetric(percentile(took, 50), "ms")
	b.ReportMetric(0, "ns/op")
	reliability.Figure(b, 7, "10,000 sessions, nothing new: current %.0f ms after the start (p50 of %d), with %.0f ms of CPU", percentile(took, 50), len(took), percentile(cpu, 50))
}
