package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

func newSinkPreviewCommand(a *app) *cobra.Command {
	var f sinkFlags
	cmd := &cobra.Command{
		Use:   "preview NAME [SESSION]",
		Short: "Show what a sink would write for a session, and write nothing",
		Long: `Shows, of the newest session or the one named, the files that a sink would write, on
or off: the session's document and what its workspace shares, each with the
difference to what is there. With --json the exact text of each. Nothing is
written. Lists of all sessions are not shown.

Exit codes: 0 shown, 1 failed, 2 wrong usage, 10 no cache and no Codex home, 12 no such
sink or session, or no place for it.`,
		Example: "  session-migrator sink preview workbuddy\n  session-migrator sink preview agents-md latest --workspace . --json",
		Args:    args(1, 2, "the NAME of a sink and at most one SESSION"),
		ValidArgsFunction: func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 1 {
				return a.sessionIDs(cmd)
			}
			return completeSink(cmd, given, typed)
		},
		RunE: func(cmd *cobra.Command, given []string) error { return runSinkPreview(cmd.Context(), a, given, f) },
	}
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "as if the sink was enabled for this project; without SESSION its newest")
	cmd.Flags().StringVar(&f.dir, "dir", "", "as if the sink was enabled with this folder")
	return cmd
}

func runSinkPreview(ctx context.Context, a *app, given []string, f sinkFlags) error {
	k, err := consumer(given[0])
	if err != nil {
		return err
	}
	r, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	for _, dir := range []*string{&f.workspace, &f.dir} {
		if *dir, err = folder(r.config, *dir); err != nil {
			return err
		}
	}
	id, err := r.previewed(ctx, given[1:], f.workspace)
	if err != nil {
		return err
	}
	all, err := loadChoices(r.config)
	if err != nil {
		return err
	}
	t, err := r.db.Thread(ctx, id)
	if err != nil {
		return err
	}
	if f.workspace != "" && !choices.Within([]string{f.workspace}, t.Cwd) && !within(f.workspace, t.Cwd) {
		return hinted(fmt.Errorf("session %s is of another workspace: it worked in %s, not in %s%w", id, orDash(shown(t.Cwd)), f.workspace, silent{store.ErrNotFound}),
			"leave --workspace away, or name a SESSION of it")
	}
	if k.Mode == sink.ModeProject && f.workspace == "" && !choices.Within(all.Sinks[k.Name].Workspaces, t.Cwd) {
		f.workspace = t.Cwd
	}
	said := switchedOn(all.Sinks[k.Name], k.Mode, f, a.now())
	files, err := daemon.Options{Config: r.config}.Preview(ctx, r.db, r.pipe, k, said, id)
	if errors.Is(err, sink.ErrNoPlace) {
		return hinted(fmt.Errorf("%s has no place: %s%w", k.Name, noPlace(r.config, k, said), silent{store.ErrNotFound}), "start the program once, or say with --dir or --workspace where it looks")
	}
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return hinted(fmt.Errorf("%s has no place for session %s in %s%w", k.Name, id, orDash(shown(t.Cwd)), silent{store.ErrNotFound}),
			"it is written where the program's folder is; name another SESSION or --workspace")
	}
	return a.printPreview(k.Name, id, files)
}

// previewed finds the session to preview: the one named, else the newest.
func (r *reader) previewed(ctx context.Context, given []string, workspace string) (string, error) {
	if len(given) > 0 {
		return r.thread(ctx, given[0])
	}
	key, err := workspaceKey(workspace)
	if err != nil {
		return "", err
	}
	newest, _, err := r.db.Threads(ctx, store.Filter{Workspace: key, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(newest) == 0 {
		return "", fmt.Errorf("session in %s: %w", workspace, store.ErrNotFound)
	}
	return newest[0].ID, nil
}
