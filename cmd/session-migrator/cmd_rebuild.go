package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
)

func newRebuildCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild [SESSION…]",
		Short: "Read rollouts into the cache again",
		Long: `Reads the rollouts of the sessions named, or all, into the cache again. Sessions
whose rollout is gone stay, and references stay valid.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some files could not be read
or some places not written, 10 no cache and no Codex home, 11 a daemon runs, 12 no such session.`,
		Example:           "  session-migrator rebuild latest",
		ValidArgsFunction: a.completeSession,
		RunE:              func(cmd *cobra.Command, sessions []string) error { return runRebuild(cmd.Context(), a, sessions) },
	}
}

func runRebuild(ctx context.Context, a *app, sessions []string) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	ids, err := a.threadIDs(ctx, sessions)
	if err != nil {
		return err
	}
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	bar := a.progress()
	s, err := daemon.Rebuild(ctx, daemon.Options{Config: c, Version: version, Log: log, Progress: bar.tell, Healed: a.healed}, ids)
	bar.done()
	return a.finish(ctx, c, s, explained(c, err))
}

// threadIDs resolves sessions; nil for none given.
func (a *app) threadIDs(ctx context.Context, sessions []string) ([]string, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	r, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.threads(ctx, sessions)
}
