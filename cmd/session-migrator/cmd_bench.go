package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

func newBenchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure on your own history how fast this program is here",
		Long: `Measures on your own sessions, and changes nothing. Other programs that run at
the same time slow the figures down.

Exit codes: 0 measured, 1 failed, 2 wrong usage, 10 no cache and no Codex home.`,
		Example: "  session-migrator bench tokens",
		Args:    args(0, 0, "tokens, ingest or handoff"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("bench takes what to measure: tokens, ingest or handoff")
		},
	}
	var kind string
	tokensOf := &cobra.Command{
		Use:   "tokens [FILE…]",
		Short: "Counting: speed, first count, and tiktoken-go on the same texts",
		Long: `Counts the messages of your newest sessions, or FILEs cut into messages of 4 kB,
with each vocabulary: with nothing remembered (cold), then again (warm), and a part
of them with tiktoken-go in the same process, all three times; of each text the
best time counts. COLD and WARM are how many times as fast that is. Counts that
differ are said so.

Exit codes: 0 measured, 1 failed or counts differ, 10 no cache and no Codex home.`,
		Example: "  session-migrator bench tokens\n  session-migrator bench tokens book.txt --json",
		RunE:    func(cmd *cobra.Command, files []string) error { return runBenchTokens(cmd.Context(), a, kind, files) },
	}
	tokensOf.Flags().StringVar(&kind, "corpus", "", "count generated texts that are the same everywhere: prose, agent or cjk")
	ingest := &cobra.Command{
		Use:   "ingest",
		Short: "Reading all sessions into a cache that is thrown away",
		Long: `Reads all of the Codex homes into a new cache in a temporary folder.

Exit codes: 0 measured, 1 failed, 10 no Codex home.`,
		Example: "  session-migrator bench ingest",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBenchIngest(cmd.Context(), a) },
	}
	handoff := &cobra.Command{
		Use:   "handoff",
		Short: "Answering what a target is to be given",
		Long: `Makes a hand-over of each of the newest sessions to every target.

Exit codes: 0 measured, 1 failed, 10 no cache and no Codex home.`,
		Example: "  session-migrator bench handoff --json",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBenchHandoff(cmd.Context(), a) },
	}
	cmd.AddCommand(tokensOf, ingest, handoff)
	return cmd
}

type benchIngestJSON struct {
	Schema  int     `json:"schema"`
	Files   int     `json:"files"`
	Threads int     `json:"threads"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	MBPerS  float64 `json:"mb_per_s"`
}

// runBenchIngest reads everything into a data folder of its own.
func runBenchIngest(ctx context.Context, a *app) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	if missing := missingHomes(c); len(missing) == len(c.CodexHomes) {
		return noHome(missing, store.ErrNone)
	}
	dir, err := os.MkdirTemp("", "session-migrator-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the measurement: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is the system's to clear
	c.Home = dir
	log, err := a.log(slog.LevelError)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := daemon.CatchUp(ctx, daemon.Options{Config: c, Version: version, Log: log}); err != nil {
		return err
	}
	took := time.Since(start)
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // only read
	totals, err := db.Totals(ctx)
	if err != nil {
		return err
	}
	out := benchIngestJSON{Schema: 1, Seconds: took.Seconds()}
	for _, t := range totals {
		out.Files, out.Threads, out.Bytes = out.Files+t.Files, out.Threads+t.Threads, out.Bytes+t.Bytes
	}
	out.MBPerS = rate(out.Bytes, took)
	if a.flags.json {
		return a.printJSON(out)
	}
	put(a.out, "%s files, %s sessions, %.1f MB in %.2f s: %.1f MB/s\n", number(out.Files), number(out.Threads), mega(out.Bytes), out.Seconds, out.MBPerS)
	return nil
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// rate is in MB a second.
func rate(bytes int64, took time.Duration) float64 {
	return mega(bytes) / max(took.Seconds(), 1e-9)
}

type benchHandoffJSON struct {
	Schema   int     `json:"schema"`
	Sessions int     `json:"sessions"`
	Handoffs int     `json:"handoffs"`
	Refused  int     `json:"refused"` // a window that holds no hand-over
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
	Max      float64 `json:"max_ms"`
}

// benchSessions is how many of the newest sessions are measured.
const benchSessions = 20

func runBenchHandoff(ctx context.Context, a *app) error {
	r, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	threads, _, err := r.db.Threads(ctx, store.Filter{Limit: benchSessions})
	if err != nil {
		return err
	}
	out := benchHandoffJSON{Schema: 1}
	var took []time.Duration
	for _, th := range threads {
		v, err := r.pipe.View(ctx, th.ID)
		if err != nil {
			return err
		}
		out.Sessions++
		for _, target := range targets(r) {
			start := time.Now()
			if _, err := r.pipe.Migrate(ctx, v, pipeline.Request{Target: target}); err != nil {
				if ctx.Err() != nil {
					return err
				}
				out.Refused++
				continue
			}
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	at := func(share int) float64 {
		if len(took) == 0 {
			return 0
		}
		return took[(len(took)-1)*share/100].Seconds() * 1e3
	}
	out.Handoffs, out.P50, out.P95, out.Max = len(took), at(50), at(95), at(100)
	if a.flags.json {
		return a.printJSON(out)
	}
	put(a.out, "%s hand-overs of %s: %.1f ms in the median, %.1f ms at the 95th percentile, %.1f ms at most\n",
		number(out.Handoffs), plural(out.Sessions, "session"), out.P50, out.P95, out.Max)
	return nil
}
