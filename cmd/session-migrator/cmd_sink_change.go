package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

type sinkFlags struct {
	workspace string
	dir       string
	keep      bool
}

func newSinkEnableCommand(a *app) *cobra.Command {
	var f sinkFlags
	cmd := &cobra.Command{
		Use:   "enable NAME",
		Short: "Switch a sink on; a running daemon follows within seconds",
		Long: `Switches a sink on. Those of mode "project" need --workspace, once for each. --dir
gives the folder where a program has several, such as a folder of a vault. Lines
of ours that went missing from a file of others are put back. The folder of --dir is
made now, if the one above is there, and never later. It must be apart from the drop
folder, the data folder, every Codex home and the folder of another sink. A sink that
has files in another folder is to be disabled first, which takes them away.

Exit codes: 0 on, 1 failed, 2 wrong usage, 12 no such sink.`,
		Example:           "  session-migrator sink enable agents-md --workspace .\n  session-migrator sink enable obsidian --dir ~/vault/codex",
		Args:              args(1, 1, "the NAME of a sink"),
		ValidArgsFunction: completeSink,
		RunE:              func(cmd *cobra.Command, given []string) error { return runSinkEnable(cmd.Context(), a, given[0], f) },
	}
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "folder of the project")
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder to write to")
	return cmd
}

func runSinkEnable(ctx context.Context, a *app, name string, f sinkFlags) error {
	k, err := consumer(name)
	if err != nil {
		return err
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	for _, dir := range []*string{&f.workspace, &f.dir} {
		if *dir, err = folder(c, *dir); err != nil {
			return err
		}
	}
	switch {
	case k.Mode == sink.ModeAlways:
		put(a.out, "%s is always on\n", name)
		return nil
	case k.Mode == sink.ModeProject && f.workspace == "":
		return hinted(usagef("%s is for single projects: --workspace is missing", name), "session-migrator sink enable "+name+" --workspace DIR")
	case k.Mode == sink.ModeProject && f.dir != "", k.Mode == sink.ModeFound && f.dir != "":
		return usagef("--dir: %s finds its folder itself", name)
	}
	if f.workspace != "" && !exists(f.workspace) {
		return usagef("--workspace %s: there is no such folder", f.workspace)
	}
	var said choices.Choice
	err = choices.Change(c.Home, func(all *choices.Choices) error {
		was := all.Sinks[name]
		if err := a.mayMove(ctx, c, k, *all, f.dir); err != nil {
			return err
		}
		said = switchedOn(was, k.Mode, f, a.now())
		if said.Dir != was.Dir {
			said.Made = false
		}
		if k.Mode == sink.ModeAsked && said.Dir != "" && os.Mkdir(said.Dir, 0o700) == nil {
			said.Made = true // else it is there, or why not is said below
		}
		all.Sinks[name] = said
		return nil
	})
	if err != nil {
		return err
	}
	put(a.out, "%s is on\n", name)
	if reason := noPlace(c, k, said); reason != "" {
		a.warn("%s has nothing to do yet: %s", name, reason)
	}
	next := `"session-migrator run" writes, now and from then on`
	if info, err := daemon.Inspect(c); err == nil && info.Running {
		next = "the daemon writes within seconds; lines in files of others follow after a minute of rest"
	}
	put(a.err, "%s\n", next)
	return nil
}

// mayMove tells with an error why a sink can't have a folder.
func (a *app) mayMove(ctx context.Context, c config.Config, k sink.Consumer, all choices.Choices, dir string) error {
	if dir == "" {
		return nil
	}
	if err := choices.Apart(c, dir); err != nil {
		return hinted(usagef("--dir: %w", err), "name a folder of its own")
	}
	for name, o := range all.Sinks {
		if name != k.Name && o.Dir != "" && (o.Enabled == nil || *o.Enabled) && (choices.Holds(o.Dir, dir) || choices.Holds(dir, o.Dir)) {
			return hinted(usagef("--dir: sink %s has the folder %s", name, o.Dir), "name a folder of its own")
		}
	}
	was := all.Sinks[k.Name].Dir
	if choices.Holds(dir, was) && choices.Holds(was, dir) {
		return nil
	}
	kept, _, err := a.written(ctx, daemon.Options{Config: c}, k, choices.Choice{Choice: sink.Choice{Dir: was}})
	if err != nil && !errors.Is(err, store.ErrNone) {
		return err
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err == nil {
			return hinted(usagef("%s has files elsewhere: %s", k.Name, path), "session-migrator sink disable "+k.Name+" takes them away; then enable it again")
		}
	}
	return nil
}

// switchedOn is pure: a choice with a sink switched on.
func switchedOn(said choices.Choice, m sink.Mode, f sinkFlags, now time.Time) choices.Choice {
	yes := true
	if m == sink.ModeProject && said.Enabled != nil && !*said.Enabled {
		said.Off, said.Workspaces = slices.Concat(said.Off, said.Workspaces), nil // only what is asked for comes back
	}
	said.Enabled, said.Keep, said.At = &yes, false, now.UTC().Truncate(time.Second)
	if f.dir != "" {
		said.Dir = f.dir
	}
	if f.workspace != "" {
		same := func(dir string) bool {
			return choices.Within([]string{dir}, f.workspace) && choices.Within([]string{f.workspace}, dir)
		}
		said.Off = slices.DeleteFunc(said.Off, same)
		if m == sink.ModeProject && !slices.ContainsFunc(said.Workspaces, same) {
			said.Workspaces = append(said.Workspaces, f.workspace)
		}
	}
	return said
}

// folder makes a folder given on the command line absolute. Nothing is written
// to a Codex home.
func folder(c config.Config, dir string) (string, error) {
	if dir == "" || anySystem.MatchString(dir) {
		return dir, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usagef("resolve folder %q: %w", dir, err)
	}
	for _, home := range c.CodexHomes {
		if within(home, abs) {
			return "", usagef("%s lies in the Codex home %s, where nothing is written", abs, home)
		}
	}
	return abs, nil
}

func newSinkDisableCommand(a *app) *cobra.Command {
	var f sinkFlags
	cmd := &cobra.Command{
		Use:   "disable NAME",
		Short: "Switch a sink off and take away what it wrote",
		Long: `Switches a sink off, in one workspace with --workspace, and takes away what it wrote:
its own files, and our lines in files of others. What somebody edited stays and is
listed. A running daemon does that; without one this command does.

Exit codes: 0 off, 1 failed, 2 wrong usage, 3 something could not be taken away yet,
11 another command works on the data folder, 12 no such sink.`,
		Example:           "  session-migrator sink disable claude\n  session-migrator sink disable workbuddy --workspace .",
		Args:              args(1, 1, "the NAME of a sink"),
		ValidArgsFunction: completeSink,
		RunE:              func(cmd *cobra.Command, given []string) error { return runSinkDisable(cmd.Context(), a, given[0], f) },
	}
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "only in this workspace")
	cmd.Flags().BoolVar(&f.keep, "keep-files", false, "leave what was written")
	return cmd
}

func runSinkDisable(ctx context.Context, a *app, name string, f sinkFlags) error {
	k, err := consumer(name)
	if err != nil {
		return err
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if k.Mode == sink.ModeAlways {
		return hinted(usagef("%s can't be switched off: the answers of other programs refer to it", name), "set memory.dir in "+c.File+" to have its files elsewhere")
	}
	if f.keep && f.workspace != "" {
		return usagef("--keep-files is for a sink as a whole, not with --workspace")
	}
	if f.workspace, err = folder(c, f.workspace); err != nil {
		return err
	}
	var said choices.Choice
	err = choices.Change(c.Home, func(all *choices.Choices) error {
		said = switchedOff(all.Sinks[name], k.Mode, f)
		all.Sinks[name] = said
		return nil
	})
	if err != nil {
		return err
	}
	where := ""
	if f.workspace != "" {
		where = " in " + f.workspace
	}
	if f.keep {
		put(a.out, "%s is off; its files stay\n", name)
		return nil
	}
	left, err := a.takeAway(ctx, c, k, said)
	if err != nil {
		return err
	}
	put(a.out, "%s is off%s; %s taken away\n", name, where, plural(left.taken, "file"))
	for _, path := range left.edited {
		put(a.out, "edited, it stays: %s\n", clean(path, false))
	}
	if len(left.waiting) > 0 {
		for _, path := range left.waiting {
			put(a.err, "still there: %s\n", clean(path, false))
		}
		return hinted(partlyError{plural(len(left.waiting), "file") + " could not be taken away yet"}, `the daemon tries again; "session-migrator status" says why`)
	}
	return nil
}

// switchedOff is pure: a choice with a sink switched off.
func switchedOff(said choices.Choice, m sink.Mode, f sinkFlags) choices.Choice {
	no := false
	if f.workspace == "" {
		said.Enabled, said.Keep = &no, f.keep
		return said
	}
	in := []string{f.workspace}
	said.Workspaces = slices.DeleteFunc(slices.Clone(said.Workspaces), func(dir string) bool { return choices.Within(in, dir) })
	if !slices.Contains(said.Off, f.workspace) {
		said.Off = append(slices.Clone(said.Off), f.workspace)
	}
	if m == sink.ModeProject && len(said.Workspaces) == 0 {
		said.Enabled = &no
	}
	return said
}

// left is what became of what a sink wrote.
type left struct {
	taken           int
	edited, waiting []string
}

const (
	leavePatience = 20 * time.Second // for the daemon to take files away
	leavePoll     = 100 * time.Millisecond
)

// takeAway has what a sink wrote taken away: by the daemon, which is the one
// writer of the cache, or without one by this command.
func (a *app) takeAway(ctx context.Context, c config.Config, k sink.Consumer, said choices.Choice) (l left, err error) {
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return l, err
	}
	opt := daemon.Options{Config: c, Version: version, Log: log}
	had, _, err := a.written(ctx, opt, k, said)
	if errors.Is(err, store.ErrNone) {
		return l, nil // nothing was ever written
	}
	if err != nil {
		return l, err
	}
	err = opt.TakeAway(ctx)
	locked, byDaemon := errors.AsType[*daemon.LockedError](err)
	if err != nil && (!byDaemon || !locked.Daemon) {
		return l, explained(c, err)
	}
	for until := time.Now().Add(leavePatience); ; {
		if l.waiting, l.edited, err = a.written(ctx, opt, k, said); err != nil {
			return l, err
		}
		if l.taken = len(had) - len(l.waiting); len(l.waiting) == 0 || !byDaemon || time.Now().After(until) {
			break
		}
		select {
		case <-ctx.Done():
			return l, ctx.Err()
		case <-time.After(leavePoll):
		}
	}
	for _, path := range l.edited {
		if slices.Contains(had, path) {
			l.taken--
		}
	}
	return l, nil
}

// written gives what is there of a sink that goes by a choice.
func (a *app) written(ctx context.Context, opt daemon.Options, k sink.Consumer, said choices.Choice) (kept, edited []string, err error) {
	db, err := store.OpenReader(ctx, opt.Config.DB())
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	kept, edited, err = opt.Written(ctx, db, k.Name, said)
	edited = slices.DeleteFunc(edited, func(path string) bool { _, err := os.Lstat(path); return err != nil })
	return kept, edited, err
}
