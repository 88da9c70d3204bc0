package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

func newRunCommand(a *app) *cobra.Command {
	var once bool
	var as runAs
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Read all sessions, then watch for more until Ctrl-C",
		Long: `Reads every rollout that is new, then watches: each new line is in the cache at
once, and a session's memory file is renewed when its turn has ended. Codex's
own files are only ever read.

Exit codes: 0 stopped or done, 1 no Codex home (--once) or failed, 2 wrong usage,
3 some files could not be read or some places not written (--once), 11 another one runs, 130 interrupted (--once).`,
		Example: "  session-migrator run\n  session-migrator run --once --json",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			boundMemory()
			if once {
				return runOnce(cmd.Context(), a)
			}
			return as.run(cmd.Context(), a)
		},
	}
	as.flags(cmd)
	cmd.Flags().BoolVar(&once, "once", false, "bring cache and memory files up to date, print a summary and end")
	return cmd
}

// softLimit makes garbage of huge lines be collected early. What is in use may
// exceed it.
const softLimit = 128 << 20

// boundMemory sets it, unless GOMEMLIMIT says otherwise.
func boundMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(softLimit)
	}
}

func runOnce(ctx context.Context, a *app) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	bar := a.progress()
	s, err := daemon.Once(ctx, daemon.Options{Config: c, Version: version, Log: log, Progress: bar.tell, Healed: a.healed})
	bar.done()
	return a.finish(ctx, c, s, explained(c, alreadyRuns(err)))
}

// alreadyRuns says that there is nothing to do if a daemon does it already.
func alreadyRuns(err error) error {
	if l, ok := errors.AsType[*daemon.LockedError](err); ok && l.Daemon {
		return hinted(err, `that daemon keeps everything up to date; "session-migrator status" says how it is`)
	}
	return err
}

// finish prints what a run that ends by itself has done.
func (a *app) finish(ctx context.Context, c config.Config, s daemon.Summary, err error) error {
	if errors.Is(err, daemon.ErrNoHome) {
		return noHome(s.Missing, errors.New("there is nothing to read"))
	}
	if err != nil {
		return err
	}
	for i, f := range s.NotFullyRead {
		s.NotFullyRead[i].Reason = without(f.Path, f.Reason)
	}
	odd, err := oddFiles(ctx, c, s)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.printJSON(summaryOf(s, odd))
	} else {
		err = printSummary(a, s, odd)
	}
	if err == nil && len(s.Unwritten) > 0 && len(s.NotFullyRead) == 0 {
		return hinted(partlyError{plural(len(s.Unwritten), "place") + " could not be written"}, "what helps is named with each; everything else is written")
	}
	if err == nil && len(s.NotFullyRead) > 0 {
		return hinted(partlyError{plural(len(s.NotFullyRead), "file") + " could not be read"}, `see that you may read them; "session-migrator status" lists them with the reason`)
	}
	return err
}

// oddFiles are files that were read, but for lines that were skipped.
func oddFiles(ctx context.Context, c config.Config, s daemon.Summary) (out []fileJSON, err error) {
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	problems, err := db.Problems(ctx)
	if err != nil {
		return nil, err
	}
	failed := map[string]bool{}
	for _, f := range s.NotFullyRead {
		failed[f.Path] = true
	}
	for _, p := range problems {
		if failed[p.Path] {
			continue
		}
		for _, line := range fewReasons(problemsOf(p), p.Damaged-len(p.Damage)) {
			out = append(out, fileJSON{Path: p.Path, Reason: line})
		}
	}
	return out, nil
}

type runJSON struct {
	Schema int `json:"schema"`
	daemon.Summary
	Skipped []fileJSON `json:"skipped"` // lines in files that were read otherwise
	TookMS  int64      `json:"took_ms"`
}

func summaryOf(s daemon.Summary, odd []fileJSON) runJSON {
	s.Homes, s.Missing, s.NotFullyRead, s.Copies = list(s.Homes), list(s.Missing), list(s.NotFullyRead), list(s.Copies)
	s.Unwritten = list(s.Unwritten)
	return runJSON{Schema: 1, Summary: s, Skipped: list(odd), TookMS: s.Took.Milliseconds()}
}

func printSummary(a *app, s daemon.Summary, odd []fileJSON) error {
	for _, h := range s.Missing {
		a.warn("no Codex home at %s", h)
	}
	if s.Files == 0 {
		a.warn("no sessions in %s yet", joined(s.Homes))
	}
	for _, f := range s.NotFullyRead {
		fix := ""
		if _, how := denied(f.Path, false); how != "" {
			fix = "; let this user read it: " + how
		}
		a.warn("not read: %s: %s%s", f.Path, f.Reason, fix)
	}
	for _, f := range s.Unwritten {
		a.warn("not written: %s: %s", f.Path, strings.TrimPrefix(f.Reason, sink.Unwritten))
	}
	for _, f := range s.Copies {
		a.warn("not needed: %s: %s", f.Path, f.Reason)
	}
	for i, f := range odd {
		if i == maxOddLines {
			a.warn(`%s more; "session-migrator status" names every file`, number(len(odd)-i))
			break
		}
		a.warn("skipped in %s: %s", f.Path, f.Reason)
	}
	elsewhere := ""
	if s.Elsewhere > 0 {
		elsewhere = fmt.Sprintf(", %s elsewhere", number(s.Elsewhere))
	}
	_, err := fmt.Fprintf(a.out, "%s in %s; %s read (%s), %s new; %s written to %s%s; took %s\n",
		plural(s.Threads, "session"), plural(s.Files, "file"), plural(s.Lines, "line"), size(s.Bytes), plural(s.Items, "message"),
		plural(s.Written, "memory file"), s.MemoryDir, elsewhere, took(s.Took))
	return err
}

// maxOddLines keeps a summary short.
const maxOddLines = 10

func runDaemon(ctx context.Context, a *app, as runAs) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	_, tty := terminal(a.err)
	if tty {
		level = slog.LevelWarn
	}
	log, err := a.log(level)
	if err != nil {
		return err
	}
	notifier, err := a.notifier(log)
	if err != nil {
		return err
	}
	defer notifier.close()
	bar := a.progress()
	defer bar.done()
	var begun, ready sync.Once
	err = daemon.Run(ctx, daemon.Options{Config: c, Version: version, Log: log, Service: as.service, Supervisor: as.supervisor(), Life: notifier.tell, Progress: func(p daemon.Progress) {
		begun.Do(func() { // not before the lock is ours
			if as.service == "" {
				a.begun(c)
			} else {
				log.Info("started", "version", version, "path", c.Home, "codex_homes", strings.Join(c.CodexHomes, ", "))
			}
		})
		bar.tell(p)
		if p.Phase == daemon.PhaseWatch && as.service == "" {
			ready.Do(func() { a.ready(ctx, c, p) })
		}
	}})
	if err != nil {
		return explained(c, alreadyRuns(err))
	}
	if ctx.Err() != nil {
		put(a.err, "stopped\n")
	}
	return nil
}

// begun says what the daemon works with.
func (a *app) begun(c config.Config) {
	for _, h := range c.CodexHomes {
		if isHome(h) {
			put(a.err, "watching  %s\n", h)
		} else {
			a.warn("no Codex home at %s yet: waiting for it", h)
		}
	}
	put(a.err, "cache     %s\nmemories  %s\n", c.DB(), c.MemoryDir)
}

// ready says that the backfill is done, and what can be done now.
func (a *app) ready(ctx context.Context, c config.Config, p daemon.Progress) {
	sessions := "the cache is up to date"
	if db, err := store.OpenReader(ctx, c.DB()); err == nil {
		if _, n, err := db.Threads(ctx, store.Filter{Limit: 1, Archived: true}); err == nil {
			sessions = plural(n, "session") + " ready"
		}
		_ = db.Close() // only read
	}
	put(a.err, `%[1]s (%[2]s read in %[3]s); watching until Ctrl-C
next, in another terminal:
  %[4]s sessions                    what there is
  %[4]s decide latest               which models can take the newest one over
  %[4]s migrate latest --to MODEL   what to give one of them
`, sessions, size(p.BytesDone), took(p.Elapsed.Round(time.Millisecond)), program())
}
