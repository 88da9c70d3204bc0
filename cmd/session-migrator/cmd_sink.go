package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

func newSinkCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sink",
		Short: "Say which programs get memory files, and look at what they would get",
		Long: `A sink writes memory files where another program looks for them. "sink list" says
which there are; some are on by themselves where their program's folder is there.

Exit codes: those of its commands.`,
		Example: "  session-migrator sink list\n  session-migrator sink preview claude latest",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				hint := `"session-migrator sink --help" lists the commands`
				if near := cmd.SuggestionsFor(given[0]); len(near) > 0 {
					hint = "did you mean sink " + strings.Join(near, " or sink ") + "?"
				}
				return hinted(usagef("unknown command %q for sink", given[0]), hint)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(newSinkListCommand(a), newSinkEnableCommand(a), newSinkDisableCommand(a), newSinkPreviewCommand(a))
	return cmd
}

// completeSink offers the names of sinks to the shell.
func completeSink(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, c := range sink.Consumers() {
		out = append(out, c.Name+"\t"+c.About)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// consumer finds a sink by its name.
func consumer(name string) (sink.Consumer, error) {
	all := sink.Consumers()
	names := make([]string, len(all))
	for i, c := range all {
		if c.Name == name {
			return c, nil
		}
		names[i] = c.Name
	}
	hint := "known are " + joined(names)
	if near := nearest(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return sink.Consumer{}, hinted(fmt.Errorf("sink %s: %w", quote(name), store.ErrNotFound), hint)
}

// nearest gives the name that most of a wrong one is in; empty if none is near.
func nearest(wrong string, names []string) string {
	probe := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		probe.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	if near := probe.SuggestionsFor(wrong); len(near) > 0 {
		return near[0]
	}
	return ""
}

// modeName is a mode's name in JSON.
func modeName(m sink.Mode) string {
	switch m {
	case sink.ModeAlways:
		return "always"
	case sink.ModeFound:
		return "found"
	case sink.ModeAsked:
		return "asked"
	case sink.ModeProject:
		return "project"
	}
	return "unknown"
}

type sinksJSON struct {
	Schema  int           `json:"schema"`
	Choices string        `json:"choices"` // the file
	Sinks   []sinkListing `json:"sinks"`
}

type sinkListing struct {
	Name       string   `json:"name"`
	About      string   `json:"about"`
	Mode       string   `json:"mode"` // always, found, asked, project
	Enabled    bool     `json:"enabled"`
	Why        string   `json:"why"`
	Dir        string   `json:"dir,omitempty"`
	Workspaces []string `json:"workspaces"` // that it was enabled for
	Off        []string `json:"off"`        // workspaces that it was disabled for
	Places     []string `json:"places"`     // folders that it has written to
	Files      int      `json:"files"`      // of ours, and of others with lines of ours
	Edited     []string `json:"edited"`     // files that somebody edited: left alone
	Problems   []string `json:"problems"`
	LastError  *string  `json:"last_error"`
}

func newSinkListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the sinks: on or off and why, where, how many files, what is wrong",
		Long: `Lists the sinks with what switches them on, whether they are on and why, where they
have written and how much, and what is wrong. It only looks.

Exit codes: 0 listed, 2 wrong usage or broken choices.`,
		Example: "  session-migrator sink list --json",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSinkList(cmd.Context(), a) },
	}
}

func runSinkList(ctx context.Context, a *app) (err error) {
	c, err := a.config()
	if err != nil {
		return err
	}
	all, err := loadChoices(c)
	if err != nil {
		return err
	}
	db, err := store.OpenReader(ctx, c.DB())
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, db.Close()) }()
	case !errors.Is(err, store.ErrNone):
		return err
	}
	info, err := daemon.Inspect(c)
	if err != nil {
		return err
	}
	out := sinksJSON{Schema: 1, Choices: filepath.Join(c.Home, choices.Name)}
	for _, k := range sink.Consumers() {
		l, err := listing(ctx, c, db, k, all.Sinks[k.Name], info)
		if err != nil {
			return err
		}
		out.Sinks = append(out.Sinks, l)
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	return printSinks(a, out)
}

// loadChoices reads what the user chose. A broken file is the user's to mend.
func loadChoices(c config.Config) (choices.Choices, error) {
	all, err := choices.Load(c.Home)
	if err != nil {
		return all, hinted(usageError{err}, "mend it, or copy the last good one from "+filepath.Join(c.Home, "backups", choices.Name)+" if it is there")
	}
	return all, nil
}

func listing(ctx context.Context, c config.Config, db *store.DB, k sink.Consumer, said choices.Choice, info daemon.Info) (sinkListing, error) {
	l := sinkListing{Name: k.Name, About: k.About, Mode: modeName(k.Mode), Enabled: said.On(k.Mode), Why: shown(why(c, k, said)), Dir: shown(said.Dir),
		Workspaces: allShown(said.Workspaces), Off: allShown(said.Off), Problems: []string{}, Places: []string{}, Edited: []string{}}
	if db != nil {
		is, err := stateOf(ctx, c, db, k.Name, said)
		if err != nil {
			return l, err
		}
		l.Files, l.Edited = len(is.held), allShown(is.edited)
		if l.Enabled {
			l.Problems = problemTexts(is.problems)
		}
		for _, f := range is.held {
			if dir := shown(filepath.Dir(f)); !slices.Contains(l.Places, dir) {
				l.Places = append(l.Places, dir)
			}
		}
	}
	if i := slices.IndexFunc(info.Sinks, func(s daemon.SinkInfo) bool { return s.Name == k.Name }); i >= 0 {
		l.LastError = orNull(info.Sinks[i].LastError)
	}
	return l, nil
}

// why says what a sink is on or off by.
func why(c config.Config, k sink.Consumer, said choices.Choice) string {
	if !said.On(k.Mode) {
		switch {
		case said.Enabled != nil:
			return "disabled"
		case k.Mode == sink.ModeProject:
			return `off until "sink enable ` + k.Name + ` --workspace DIR"`
		}
		return `off until "sink enable ` + k.Name + `"`
	}
	if k.Mode == sink.ModeAlways {
		return "always on"
	}
	if reason := noPlace(c, k, said); reason != "" {
		return "nothing to do: " + reason
	}
	switch {
	case said.Enabled == nil:
		return "where its folder is there"
	case len(said.Workspaces) > 0:
		return "enabled in " + joined(said.Workspaces)
	}
	return "enabled"
}

// noPlace says why a sink that is on has nothing to write to; empty if it has,
// or if that can't be told.
func noPlace(c config.Config, k sink.Consumer, said choices.Choice) string {
	s, err := choices.Open(k, c, said.Choice)
	if cl, ok := s.(interface{ Close() error }); ok && err == nil {
		_ = cl.Close() // nothing was written
	}
	if !errors.Is(err, sink.ErrNoPlace) {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+sink.ErrNoPlace.Error()), k.Name+": ")
}

func printSinks(a *app, out sinksJSON) error {
	t := table{head: []string{"SINK", "MODE", "STATE", "FILES", "WHY"}, right: []bool{false, false, false, true}, paint: map[string]colour{"on": green}}
	for _, l := range out.Sinks {
		state := "off"
		if l.Enabled {
			state = "on"
		}
		t.add(l.Name, l.Mode, state, number(l.Files), clean(l.Why, false))
	}
	if err := t.print(a, a.out); err != nil {
		return err
	}
	for _, l := range out.Sinks {
		for _, p := range l.Problems {
			a.warn("%s: %s", l.Name, p)
		}
		if l.LastError != nil {
			a.warn("%s: %s", l.Name, *l.LastError)
		}
		for _, f := range l.Edited {
			put(a.err, "%s: edited, left alone: %s\n", l.Name, clean(f, false))
		}
	}
	return nil
}
