package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/session-migrator/session-migrator/install/plan"
)

// taken is a plan of setup to be taken back.
type taken struct {
	name string
	plan plan.Plan
	err  error // why it can't be said
	undo func(context.Context) (plan.Outcome, error)
}

type undoJSON struct {
	Schema int      `json:"schema"`
	Done   []string `json:"done"` // with --dry-run: what would be
	Left   []string `json:"left"` // each with its reason
	Data   string   `json:"data"` // what stays
	Memory string   `json:"memory_dir"`
}

// runSetupUndo takes back what setup, service install and connect did, the last
// first, by what was written down then.
func runSetupUndo(ctx context.Context, a *app, f setupFlags) error {
	s := &setup{a: a, flags: f}
	var err error
	if s.config, err = a.config(); err != nil {
		return err
	}
	all, err := s.undoing()
	if err != nil {
		return err
	}
	out := undoJSON{Schema: 1, Done: []string{}, Left: []string{}, Data: s.config.Home, Memory: s.config.MemoryDir}
	some := false
	for _, t := range all {
		some = some || len(t.plan.Steps) > 0 || t.err != nil
		if t.err != nil && f.dryRun {
			out.Left = append(out.Left, t.name+": "+t.err.Error())
		}
		for _, st := range t.plan.Steps {
			if f.dryRun {
				out.Done = append(out.Done, told(st))
			}
		}
		if f.dryRun {
			out.Left = append(out.Left, t.plan.Notes...)
		}
	}
	if f.dryRun || !some {
		return s.printUndo(out, all)
	}
	if !f.yes {
		if !a.flags.json {
			if err := s.printUndo(out, all); err != nil {
				return err
			}
		}
		if err := a.consent(ctx, false, "Take this back?"); err != nil {
			return err
		}
	}
	for _, t := range all {
		did, err := t.undo(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, st := range did.Done {
			out.Done = append(out.Done, told(st))
		}
		out.Left = append(out.Left, did.Left...)
		if err != nil {
			s.failed = append(s.failed, failure{t.name, err.Error()})
		}
	}
	out.Left = append(out.Left, s.failures()...)
	if a.flags.json {
		err = a.printJSON(out)
	} else {
		s.printTaken(out)
	}
	if err == nil && len(s.failed) > 0 {
		return hinted(partlyError{"not all of it was taken back"}, `mend what is named and run "session-migrator setup --undo" again`)
	}
	return err
}

// told is a step in a line.
func told(st plan.Step) string {
	switch {
	case st.File != nil && st.File.After == nil:
		return "removed " + st.File.Path
	case st.File != nil:
		return "put back " + st.File.Path
	}
	return st.Why
}

func (s *setup) printUndo(out undoJSON, all []taken) error {
	if s.a.flags.json {
		return s.a.printJSON(out)
	}
	var b bytes.Buffer
	some := false
	for _, t := range all {
		some = some || t.err != nil
		if t.err != nil {
			s.a.warn("%s can't be taken back: %v", t.name, t.err)
		}
		if len(t.plan.Steps) == 0 {
			continue
		}
		some = true
		fmt.Fprintf(&b, "To be taken back of %s:\n", t.name)
		_ = t.plan.Print(&b, plan.PrintOptions{Mask: masked, Private: true}) // a buffer takes all
	}
	if !some {
		b.WriteString("nothing to take back: setup did nothing here that is still there\n")
	}
	fmt.Fprintf(&b, "%s\n", s.stays())
	_, err := s.a.out.Write(b.Bytes())
	return err
}

func (s *setup) printTaken(out undoJSON) {
	for _, d := range out.Done {
		put(s.a.out, "%s\n", clean(shown(d), false))
	}
	for _, l := range out.Left {
		s.a.warn("%s", shown(l))
	}
	put(s.a.out, "%s\n", s.stays())
}

// stays says what is left there, and how to be rid of it.
func (s *setup) stays() string {
	what := "the data stays: " + s.config.Home
	if !within(s.config.Home, s.config.MemoryDir) {
		what += " and the memory files in " + s.config.MemoryDir
	}
	return what + "; delete it when you don't need it"
}

// undoing gives what there is to be taken back, the last first.
func (s *setup) undoing() ([]taken, error) {
	agents, err := s.disconnecting()
	if err != nil {
		return nil, err
	}
	service, err := s.uninstalling()
	if err != nil {
		return nil, err
	}
	own, err := journals(s.config).Undoing(ownJournal)
	if err != nil {
		return nil, err
	}
	return append(append(agents, service...), taken{name: "the settings", plan: own, undo: func(ctx context.Context) (plan.Outcome, error) {
		return journals(s.config).Undo(ctx, ownJournal, ownRunner{s.a})
	}}), nil
}
