package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/embedding"
	"github.com/session-migrator/session-migrator/daemon/exe"
	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/store"
)

// mcpCatchUp bounds how long the first question of a client waits for new
// lines where no daemon has taken them in. The rest of the grace is for the
// answer itself.
const mcpCatchUp = mcpserver.EndGrace - 2*time.Second

func newMCPCommand(a *app) *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer agents over MCP on stdin and stdout",
		Long: `Serves the Model Context Protocol on stdin and stdout until the client closes
them. Where no daemon runs, new sessions are taken into the cache before the
first question is answered, for up to 10 s; what comes later is answered from
once a daemon or another command has taken it in. With --workspace nothing of
another folder can be reached. With summaries.by_caller = true in config.toml
agents may save summaries of sessions.

Exit codes: 0 ended, 1 failed, 2 wrong usage.`,
		Example: "  codex mcp add session-migrator -- session-migrator mcp",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), a, workspace) },
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "answer only from sessions of this folder")
	return cmd
}

// mcpGC is how far the heap may grow between two collections, in per cent.
// Agents start a server each, and most of them only wait.
const mcpGC = 50

// collectOften has mcpGC hold from the first collection on. Until then the
// runtime's own bound does: a server's first answer needs less than that, and is
// there sooner without a collection in its way.
func collectOften() {
	runtime.AddCleanup(new(*int), func(percent int) { debug.SetGCPercent(percent) }, mcpGC)
}

func runMCP(ctx context.Context, a *app, workspace string) error {
	if a.env("GOGC") == "" {
		collectOften()
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	d, err := mcpDeps(c, log, workspace)
	if err != nil {
		return err
	}
	d.Env, d.Updated = a.env, exe.NewWatch(exe.This(), version).Note
	asker := embedding.NewAsker(c)
	defer func() { _ = asker.Close() }() // only read
	d.Meaning = asker.Fill
	return mcpserver.ServeStdio(ctx, d)
}

// mcpDeps is what a server needs. Nothing is opened before it is asked for.
func mcpDeps(c config.Config, log *slog.Logger, workspace string) (mcpserver.Deps, error) {
	d := mcpserver.Deps{
		OpenStore: func(ctx context.Context) (*store.DB, error) {
			mcpFresh(ctx, c, log)
			return store.OpenReader(ctx, c.DB())
		},
		SearchPath:      c.Search(),
		PipelineOptions: daemon.PipelineOptions(c),
		Damaged:         func(err error) { _ = daemon.Suspect(c, err) }, // a hint: the daily check finds it too
		Status: func(context.Context) (mcpserver.DaemonStatus, error) {
			i, err := daemon.Inspect(c)
			return mcpserver.DaemonStatus{Running: i.Running, PID: i.PID, Version: i.Version, Since: i.Since, Spools: i.Summaries}, err
		},
		Version: version,
		Log:     log,
	}
	if c.Summaries.ByCaller {
		d.Spool = c.Spool()
	}
	cwd, err := os.Getwd()
	if err != nil {
		log.Warn("the working folder is unknown", "err", err)
	}
	d.Cwd = cwd
	if workspace == "" {
		return d, nil
	}
	key, err := workspaceKey(workspace)
	if err != nil {
		return d, err
	}
	if key == "" {
		return d, usagef("--workspace takes a folder; leave it out to answer from all")
	}
	d.Workspace = key
	return d, nil
}

// mcpFresh takes new lines in where no daemon does. An answer from an older
// cache is better than none: what goes wrong is only logged.
func mcpFresh(ctx context.Context, c config.Config, log *slog.Logger) {
	if len(missingHomes(c)) == len(c.CodexHomes) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mcpCatchUp)
	defer cancel()
	if err := daemon.CatchUp(ctx, daemon.Options{Config: c, Version: version, Log: log}); err != nil {
		log.Warn("new lines were not taken in", "err", fmt.Errorf("catch up: %w", err))
	}
}
