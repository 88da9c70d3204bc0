package main

import (
	"context"
	"encoding/json"
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
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.given(cmd); err != nil {
				return err
			}
			return runSinkEnable(cmd.Context(), a, given[0], f)
		},
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
	if k.Mode == sink.ModeAlways {
		if f.workspace != "" || f.dir != "" {
			return usagef("%s is always on, for all projects: it takes neither --workspace nor --dir", name)
		}
		if a.flags.json {
			return a.printJSON(changed(k, choices.Choice{}, left{}, nil))
		}
		put(a.out, "%s is always on\n", name)
		return nil
	}
	before, err := choices.Load(c.Home)
	if err != nil {
		return err
	}
	if err := a.mayMove(ctx, c, k, before, f.dir); err != nil {
		return err
	}
	if err := checkEnable(c, k, before.Sinks[name], f); err != nil {
		return err
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
	warnings := hindered(ctx, a, c, k, said, f.workspace)
	if reason := noPlace(c, k, said); reason != "" {
		warnings = append(warnings, name+" has nothing to do yet: "+reason)
	}
	if a.flags.json {
		return a.printJSON(changed(k, said, left{}, warnings))
	}
	put(a.out, "%s is on\n", name)
	for _, w := range warnings {
		a.warn("%s", w)
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
	if dir == "" || anySystem().MatchString(dir) {
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
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.given(cmd); err != nil {
				return err
			}
			return runSinkDisable(cmd.Context(), a, given[0], f)
		},
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
	before, err := choices.Load(c.Home)
	if err != nil {
		return err
	}
	if err := checkDisable(ctx, c, k, before.Sinks[name], f.workspace); err != nil {
		return err
	}
	said := switchedOff(before.Sinks[name], k.Mode, f)
	// Looked up now: a daemon takes away what there is as soon as it hears of the choice.
	had, unread := a.had(ctx, c, k, said)
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
		if a.flags.json {
			return a.printJSON(changed(k, said, left{}, nil))
		}
		put(a.out, "%s is off; its files stay\n", name)
		return nil
	}
	var l left
	switch {
	case errors.Is(unread, store.ErrNone): // nothing was ever written
	case unread != nil:
		return unread
	default:
		if l, err = a.takeAway(ctx, c, k, said, had); err != nil {
			return err
		}
	}
	if a.flags.json {
		err = a.printJSON(changed(k, said, l, nil))
	} else {
		put(a.out, "%s is off%s; %s\n", name, where, l)
		for _, path := range l.edited {
			put(a.out, "edited, it stays: %s\n", clean(path, false))
		}
		for _, path := range l.waiting {
			put(a.err, "still there: %s\n", clean(path, false))
		}
	}
	if len(l.waiting) > 0 && err == nil {
		return hinted(partlyError{plural(len(l.waiting), "file") + " could not be taken away yet"}, `the daemon tries again; "session-migrator status" says why`)
	}
	return err
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
	taken, lines    int // files of ours, and others without our lines
	edited, waiting []string
}

const (
	leavePatience = 20 * time.Second // for the daemon to take files away
	leavePoll     = 100 * time.Millisecond
)

// had gives the files of a sink that go by a choice, and are there.
func (a *app) had(ctx context.Context, c config.Config, k sink.Consumer, said choices.Choice) ([]string, error) {
	had, _, err := a.written(ctx, daemon.Options{Config: c, Version: version}, k, said)
	return slices.DeleteFunc(had, func(path string) bool { return !exists(path) }), err
}

// takeAway has what a sink wrote taken away: by the daemon, which is the one
// writer of the cache, or without one by this command. had is what there was
// before the choice.
func (a *app) takeAway(ctx context.Context, c config.Config, k sink.Consumer, said choices.Choice, had []string) (l left, err error) {
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return l, err
	}
	opt := daemon.Options{Config: c, Version: version, Log: log}
	err = opt.TakeAway(ctx)
	locked, byDaemon := errors.AsType[*daemon.LockedError](err)
	if err != nil && (!byDaemon || !locked.Daemon) {
		return l, explained(c, err)
	}
	for until := time.Now().Add(leavePatience); ; {
		if l.waiting, l.edited, err = a.written(ctx, opt, k, said); err != nil {
			return l, err
		}
		if len(l.waiting) == 0 || !byDaemon || time.Now().After(until) {
			break
		}
		select {
		case <-ctx.Done():
			return l, ctx.Err()
		case <-time.After(leavePoll):
		}
	}
	for _, path := range had {
		switch {
		case slices.Contains(l.edited, path), slices.Contains(l.waiting, path):
		case !exists(path):
			l.taken++
		case !isLog(path): // entries of days stay
			l.lines++
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
	if err != nil {
		return nil, nil, err
	}
	rows, err := db.Shared(ctx, k.Name)
	kept = slices.DeleteFunc(kept, func(path string) bool { // there was never anything of ours
		var f sink.SharedFile
		body, is := rows[path]
		return is && json.Unmarshal([]byte(body), &f) == nil && f.Hash == "" && len(f.Entries) == 0
	})
	edited = slices.DeleteFunc(edited, func(path string) bool { _, err := os.Lstat(path); return err != nil })
	return kept, edited, err
}

// isLog tells whether a file is a daily log, by its name.
func isLog(path string) bool {
	_, err := time.Parse("2006-01-02.md", filepath.Base(path))
	return err == nil
}
