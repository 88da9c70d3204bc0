package main

import (
	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/store"
)

// completeSession offers session ids to the shell. It only looks at what is
// there: a completion must be quick and silent.
func (a *app) completeSession(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 && cmd.Name() != "rebuild" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.sessionIDs(cmd)
}

func (a *app) sessionIDs(cmd *cobra.Command) ([]string, cobra.ShellCompDirective) {
	const most = 50
	c, err := a.config()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r, err := openReader(cmd.Context(), c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer r.close()
	threads, _, err := r.db.Threads(cmd.Context(), store.Filter{Limit: most})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out := []string{"latest\tthe newest session"}
	for _, t := range threads {
		out = append(out, t.ID+"\t"+clean(shown(t.Title), false))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeModels offers the models that decisions are kept ready for. Any other
// may be typed.
func (a *app) completeModels(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	c, err := a.config()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return targetsOf(c), cobra.ShellCompDirectiveNoFileComp
}

// targetsOf are the models of the settings, or those in use today.
func targetsOf(c config.Config) []string {
	if c.Targets != nil {
		return c.Targets
	}
	return capacity.DefaultTargets()
}

// completes lets the shell offer values of a flag.
func completes(cmd *cobra.Command, flag string, offer cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("bug: " + err.Error()) // no such flag, or told twice
	}
}

// choice lets the shell offer the only values that a flag takes.
func choice(cmd *cobra.Command, flag string, values ...string) {
	completes(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
