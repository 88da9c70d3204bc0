package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/choices"
)

func newPinCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pin [SESSION…]",
		Short: "Keep the memory files of sessions, however old; without SESSION list them",
		Long: `Keeps the memory files of the sessions named, in all sinks, however old they get and
however many there are. "unpin" lets them go again.

Exit codes: 0 done, 1 failed, 2 wrong usage, 10 no cache and no Codex home, 12 no such session.`,
		Example:           "  session-migrator pin latest",
		ValidArgsFunction: a.completeSession,
		RunE:              func(cmd *cobra.Command, given []string) error { return runPin(cmd.Context(), a, given, true) },
	}
}

func newUnpinCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unpin SESSION…",
		Short: "Let the memory files of sessions go when they are old",
		Long: `Takes back what "pin" said of the sessions named.

Exit codes: 0 done, 1 failed, 2 wrong usage, 10 no cache and no Codex home, 12 no such session.`,
		Example:           "  session-migrator unpin latest",
		Args:              args(1, -1, "at least one SESSION"),
		ValidArgsFunction: a.completeSession,
		RunE:              func(cmd *cobra.Command, given []string) error { return runPin(cmd.Context(), a, given, false) },
	}
}

type pinsJSON struct {
	Schema int      `json:"schema"`
	Pins   []string `json:"pins"`
}

func runPin(ctx context.Context, a *app, sessions []string, pin bool) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	ids, err := a.threadIDs(ctx, sessions)
	if err != nil {
		return err
	}
	all, err := loadChoices(c)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		err = choices.Change(c.Home, func(now *choices.Choices) error {
			now.Pins = slices.DeleteFunc(now.Pins, func(id string) bool { return slices.Contains(ids, id) })
			if pin {
				now.Pins = append(now.Pins, ids...)
			}
			slices.Sort(now.Pins)
			now.Pins = slices.Compact(now.Pins)
			all = *now
			return nil
		})
		if err != nil {
			return err
		}
	}
	if a.flags.json {
		return a.printJSON(pinsJSON{1, list(all.Pins)})
	}
	if len(ids) == 0 {
		for _, id := range all.Pins {
			put(a.out, "%s\n", clean(id, false))
		}
	}
	for _, id := range ids {
		put(a.out, "%s %s\n", map[bool]string{true: "pinned", false: "no longer pinned"}[pin], id)
	}
	return nil
}
