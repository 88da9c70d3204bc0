package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/install/plan"
)

type setupFlags struct {
	yes, dryRun, undo, noService bool
	clients, sinks               []string
	program, manager             string // as service install takes them
}

func newSetupCommand(a *app) *cobra.Command {
	var f setupFlags
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Find what is here, show one plan, and do it: service, agents, first read",
		Long: `Looks for Codex homes, the agents installed here and the programs that take memory
files, and shows one plan. On yes it writes the settings that are needed, reads all
sessions for the first time, installs the service of this user and connects the
agents over MCP. What is so already is left alone: a second run has nothing to do.
--dry-run shows every change to the letter; --undo takes back what was done, and
leaves the data. A part that fails does not keep the others from being done.

Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, or no terminal to ask on
and no --yes, 3 some of it was not done, 130 interrupted.`,
		Example: "  session-migrator setup\n  session-migrator setup --yes --clients codex,claude\n  session-migrator setup --undo",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.undo {
				for _, other := range []string{"clients", "sinks", "no-service"} {
					if cmd.Flags().Changed(other) {
						return hinted(usagef("--undo takes all back: it can't be given with --%s", other), `"session-migrator disconnect", "service uninstall" and "sink disable" take single things back`)
					}
				}
				return runSetupUndo(cmd.Context(), a, f)
			}
			if !cmd.Flags().Changed("clients") {
				f.clients = nil
			} else if len(f.clients) == 0 {
				return hinted(usagef("--clients is empty"), "--clients none connects no agent")
			}
			return runSetup(cmd.Context(), a, f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.yes, "yes", "y", false, "don't ask")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show every change to the letter, and make none")
	fl.BoolVar(&f.undo, "undo", false, "take back what was done; the data stays")
	fl.BoolVar(&f.noService, "no-service", false, "install no service")
	fl.StringSliceVar(&f.clients, "clients", nil, "agents to connect, by name; none for no one (default all found)")
	fl.StringSliceVar(&f.sinks, "sinks", nil, "programs to write memory files for, beside those that get them by themselves")
	fl.StringVar(&f.program, "program", "", "the program that service and agents start (default this one)")
	fl.StringVar(&f.manager, "manager", "", "service manager (default what is there)")
	_ = fl.MarkHidden("manager") // it is there
	return cmd
}

// installs are the flags by which the service is installed.
func (f setupFlags) installs() *installFlags {
	return &installFlags{serviceFlags: &serviceFlags{manager: f.manager}, program: f.program}
}

// part is one thing that setup sees to: what is there, and what is to be done.
// Parts don't depend on each other: if one fails the next is done all the same.
type part struct {
	name  string
	state string          // what is there
	todo  []string        // what is going to be done; empty: nothing
	next  []string        // what people do themselves
	moot  map[string]bool // of next, what has no sense any more since it was not done
	steps plan.Plan

	// do does it, and gives what was left out, each with its reason.
	do func(context.Context) (left []string, err error)
}

// setup is one run: what was found, and in the end what became of it.
type setup struct {
	a      *app
	flags  setupFlags
	config config.Config
	parts  []part
	failed []failure

	homesSaid bool // the settings are going to name the Codex homes
}

// failure is what was not done of a part, and why.
type failure struct {
	part string
	why  string
}

func (f failure) String() string { return f.part + ": " + f.why }

// failures says what was not done.
func (s *setup) failures() (out []string) {
	for _, f := range s.failed {
		out = append(out, f.String())
	}
	return out
}

func runSetup(ctx context.Context, a *app, f setupFlags) error {
	s := &setup{a: a, flags: f}
	if err := s.look(ctx); err != nil {
		return err
	}
	if f.dryRun {
		return s.print(true)
	}
	if !s.pending() {
		if !a.flags.json {
			if err := s.print(false); err != nil {
				return err
			}
		}
		return s.finish(ctx, "nothing to do: all of this is set up")
	}
	if !a.flags.json || !f.yes {
		if err := s.print(false); err != nil {
			return err
		}
	}
	if err := s.a.consent(ctx, f.yes, "Do this?"); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := s.apply(ctx, p); err != nil {
			return err
		}
	}
	return s.finish(ctx, "done")
}

func (s *setup) pending() bool {
	for _, p := range s.parts {
		if len(p.todo) > 0 {
			return true
		}
	}
	return false
}

// apply does one part. Only the end of the whole run keeps the next from being
// done.
func (s *setup) apply(ctx context.Context, p part) error {
	if len(p.todo) == 0 {
		return nil
	}
	left, err := p.do(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		why := err.Error()
		if h, ok := errors.AsType[*hintError](err); ok {
			why += ": " + h.hint
		}
		s.failed = append(s.failed, failure{p.name, why})
	}
	for _, l := range left {
		s.failed = append(s.failed, failure{p.name, l})
	}
	word, hue := "ok", green
	switch {
	case err != nil:
		word, hue = "not done", red
	case len(left) > 0:
		word, hue = "partly", yellow
	}
	put(s.a.err, "%s %s\n", s.a.paint(s.a.err, hue, fmt.Sprintf("%-8s", word)), p.name)
	return nil
}

var errDeclined = errors.New("nothing was changed")

// consent asks whether to go on, where there is somebody to ask.
func (a *app) consent(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if f, ok := a.in.(*os.File); !ok || a.flags.json || !term.IsTerminal(int(f.Fd())) {
		return hinted(usagef("there is no terminal to ask on; nothing was changed"), "give --yes to do it, --dry-run to see every change")
	}
	put(a.err, "%s [Y/n] ", question)
	answer, err := line(ctx, a.in)
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "y", "yes":
		return nil
	}
	return hinted(errDeclined, "--dry-run shows every change; --no-service, --clients and --sinks say what to leave out")
}

// line reads what is typed until ctx ends.
func line(ctx context.Context, in io.Reader) (string, error) {
	type typed struct {
		text string
		err  error
	}
	got := make(chan typed, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		got <- typed{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case t := <-got:
		if errors.Is(t.err, io.EOF) && t.text == "" {
			return "", errDeclined
		}
		return t.text, nil
	}
}
