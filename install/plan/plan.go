// Package plan changes things outside our data folder so that they can be
// looked at before, survive a kill in the middle, and be taken back.
//
// The way of the data:
//
//	[1] whoever knows the place (a service manager, an MCP client) reads what
//	    is there and gives a Plan: files with their bytes before and after,
//	    and commands with what takes them back
//	[2] Pending leaves out what is so already; an empty plan is nothing to do
//	[3] Print shows it to people, with the lines that change
//	[4] Apply does it step by step. Before and after each step the Journal is
//	    written, so that whatever was begun is known after a kill
//	[5] Undo takes back what the journal holds, the last step first. A file
//	    gets its old bytes back only if ours still stand there; else it is
//	    left, and that is said
//
// Applying a plan of the same name again (an upgrade) adds to the journal:
// what was there before the first time is what comes back.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Plan is what is going to be done, in order.
type Plan struct {
	Name  string   // of the journal: "service", "connect"
	Steps []Step   // each with either File or Command
	Notes []string // what people should know, or do themselves
}

// Step is one change.
type Step struct {
	Why     string   `json:"why"` // for people, a bare verb phrase: "start at login"
	File    *File    `json:"file,omitempty"`
	Command *Command `json:"command,omitempty"`
}

// File is a file that gets other bytes. Folders on the way are made, and
// taken back if they are empty then. A symbolic link is followed: what it
// points to is changed, the link stays.
type File struct {
	Path   string      `json:"path"`   // absolute
	Before []byte      `json:"before"` // nil: there is none
	After  []byte      `json:"after"`  // nil: it is removed
	Mode   fs.FileMode `json:"mode"`   // 0: as it is, 0600 for a new one
	Backup string      `json:"backup"` // where a plain copy of Before goes; empty: it is in the journal alone
}

// Command is a program that is run.
type Command struct {
	Argv  []string `json:"argv"`            // empty: only Undo counts
	Undo  []string `json:"undo"`            // empty: nothing takes it back, or nothing needs to
	Check []string `json:"check,omitempty"` // succeeds where the command has nothing to do

	// Follows: it is run only if a step before it had something to do, such as
	// a reload of what was written.
	Follows bool `json:"follows,omitempty"`
	// Renews: after a step that had something to do it is run whatever Check
	// says, such as a restart after a change.
	Renews bool `json:"renews,omitempty"`
	// Tolerated: that it fails is said and does not end the plan.
	Tolerated bool `json:"tolerated,omitempty"`
	// Quiet: that a tolerated command fails is not even said.
	Quiet bool `json:"quiet,omitempty"`
	// Tries is how often it is tried, half a second apart; 0: once.
	Tries int `json:"tries,omitempty"`
	// UndoTolerated: the same of Undo.
	UndoTolerated bool `json:"undo_tolerated,omitempty"`
}

// ErrChanged says that a file no longer holds what the plan was made for.
var ErrChanged = errors.New("it was changed meanwhile")

// Write gives the step that lets the file at path hold after. It reads what is
// there now.
func Write(path string, after []byte, mode fs.FileMode, why string) (Step, error) {
	if after == nil {
		after = []byte{}
	}
	before, err := Read(path)
	if err != nil {
		return Step{}, err
	}
	return Step{Why: why, File: &File{Path: path, Before: before, After: after, Mode: mode}}, nil
}

// Remove gives the step that removes the file at path.
func Remove(path, why string) (Step, error) {
	before, err := Read(path)
	if err != nil {
		return Step{}, err
	}
	return Step{Why: why, File: &File{Path: path, Before: before}}, nil
}

// Run gives the step that runs a command and takes it back with undo.
func Run(why string, argv, undo []string) Step {
	return Step{Why: why, Command: &Command{Argv: argv, Undo: undo}}
}

// Validate finds what the maker of a plan got wrong.
func (p Plan) Validate() error {
	if p.Name == "" || filepath.Base(p.Name) != p.Name {
		return fmt.Errorf("bug: plan name %q", p.Name)
	}
	for i, s := range p.Steps {
		switch {
		case (s.File == nil) == (s.Command == nil):
			return fmt.Errorf("bug: step %d of plan %s is neither a file nor a command, or both", i+1, p.Name)
		case s.File != nil && !filepath.IsAbs(s.File.Path):
			return fmt.Errorf("bug: step %d of plan %s: path %q is not absolute", i+1, p.Name, s.File.Path)
		case s.Command != nil && len(s.Command.Argv) == 0 && len(s.Command.Undo) == 0:
			return fmt.Errorf("bug: step %d of plan %s runs nothing", i+1, p.Name)
		}
	}
	return nil
}

// Pending leaves out the steps that have nothing to do. interrupted says that
// an earlier Apply of this plan did not come to its end: commands that follow
// others are then run in any case.
func (p Plan) Pending(ctx context.Context, r Runner, interrupted bool) (Plan, error) {
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	out := Plan{Name: p.Name, Notes: p.Notes}
	changes := interrupted
	var silent []Step // commands with an undo alone: they count with what comes after
	for _, s := range p.Steps {
		pending, err := s.pending(ctx, r, changes)
		if err != nil {
			return Plan{}, err
		}
		if s.Command != nil && len(s.Command.Argv) == 0 {
			silent = append(silent, s)
			continue
		}
		if pending {
			out.Steps = append(append(out.Steps, silent...), s)
			changes, silent = true, nil
		}
	}
	return out, ctx.Err()
}

func (s Step) pending(ctx context.Context, r Runner, changes bool) (bool, error) {
	if s.File != nil {
		done, err := s.File.done()
		return !done, err
	}
	c := s.Command
	if c.Follows && !changes {
		return false, nil
	}
	if len(c.Check) > 0 && !(c.Renews && changes) {
		_, err := r.Run(ctx, c.Check)
		return err != nil, nil
	}
	return true, nil
}

// Runner runs a command and gives what it printed.
type Runner interface {
	Run(ctx context.Context, argv []string) (output string, err error)
}
