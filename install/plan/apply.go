package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// Outcome is what Apply or Undo did.
type Outcome struct {
	Done []Step   // in the order it was done
	Left []string // what was not, each with its reason: tolerated failures, files of others by now
}

// Apply does what is pending of a plan. It stops at the first step that fails
// and is not tolerated; what was done by then is in the journal, to be undone
// or gone on with.
func (j Journal) Apply(ctx context.Context, p Plan, run Runner) (Outcome, error) {
	var out Outcome
	rec, err := j.Load(p.Name)
	if err != nil {
		return out, err
	}
	rec.sweep(time.Now())
	p, err = p.Pending(ctx, run, !rec.Complete)
	if err != nil {
		return out, err
	}
	if len(p.Steps) == 0 && rec.Complete {
		return out, nil
	}
	rec.Complete = false
	for _, s := range p.Steps {
		left, err := j.step(ctx, &rec, s, run)
		if err != nil {
			return out, err
		}
		if left != "" {
			out.Left = append(out.Left, left)
			continue
		}
		out.Done = append(out.Done, s)
	}
	rec.Complete = true
	return out, j.save(rec)
}

// Do does all steps of a plan without a record, to be taken back by nobody.
func (p Plan) Do(ctx context.Context, run Runner) (Outcome, error) {
	var out Outcome
	p, err := p.Pending(ctx, run, false)
	if err != nil {
		return out, err
	}
	for _, s := range p.Steps {
		left, err := s.do(ctx, run)
		if err != nil {
			return out, err
		}
		if left != "" {
			out.Left = append(out.Left, left)
			continue
		}
		out.Done = append(out.Done, s)
	}
	return out, nil
}

// do does the step; left is a failure that is tolerated.
func (s Step) do(ctx context.Context, run Runner) (left string, err error) {
	switch {
	case s.File != nil:
		return "", apply(*s.File)
	case len(s.Command.Argv) == 0:
		return "", nil
	}
	err = s.Command.run(ctx, run)
	if err == nil || !s.Command.Tolerated || ctx.Err() != nil {
		return "", err
	}
	if s.Command.Quiet {
		return "", nil
	}
	return s.Why + ": " + err.Error(), nil
}

// step does one step between two writes of the journal.
func (j Journal) step(ctx context.Context, rec *Receipt, s Step, run Runner) (left string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	at := rec.begin(Done{Step: s})
	if s.File != nil {
		missing, err := missingFolders(filepath.Dir(s.File.Path))
		if err != nil {
			return "", err
		}
		rec.Steps[at].Folders = append(rec.Steps[at].Folders, missing...)
	}
	if err := j.save(*rec); err != nil {
		return "", err
	}
	if left, err = s.do(ctx, run); err != nil {
		return "", err
	}
	rec.Steps[at].Finished = true
	return left, j.save(*rec)
}

// tryEvery is how long is waited before a command is tried again.
const tryEvery = 500 * time.Millisecond

// run runs the command, more than once if it says so.
func (c *Command) run(ctx context.Context, r Runner) error {
	for n := 1; ; n++ {
		_, err := r.Run(ctx, c.Argv)
		if err == nil || n >= c.Tries {
			return err
		}
		t := time.NewTimer(tryEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return err
		case <-t.C:
		}
	}
}

// apply writes one file, its backup first.
func apply(f File) error {
	if f.After != nil {
		if err := makeFolders(filepath.Dir(f.Path)); err != nil {
			return err
		}
	}
	if f.Backup != "" && f.Before != nil {
		if err := keep(f.Backup, f.Before); err != nil {
			return fmt.Errorf("keep a copy of %s: %w", f.Path, err)
		}
	}
	now, err := Read(f.Path)
	if err != nil {
		return err
	}
	before := f.Before
	if same(now, f.After) {
		before = now // the mode alone is wrong
	}
	return change(f.Path, before, f.After, f.Mode)
}

// keep writes a copy where none is yet: the first is the one worth having.
func keep(path string, text []byte) error {
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return change(path, nil, text, atomicfile.FileMode)
}

// Undo takes back what was done under a name, the last step first. What can't
// be taken back because others changed it is left and told; what fails stays
// in the journal and is in the error.
func (j Journal) Undo(ctx context.Context, name string, run Runner) (Outcome, error) {
	var out Outcome
	rec, err := j.Load(name)
	if err != nil {
		return out, err
	}
	rec.sweep(time.Now())
	var errs []error
	var failed []Done
	for i := len(rec.Steps) - 1; i >= 0; i-- {
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		d := rec.Steps[i]
		left, err := d.undo(ctx, run)
		if err != nil {
			errs = append(errs, err)
			failed = append([]Done{d}, failed...)
		} else if left != "" {
			out.Left = append(out.Left, left)
		} else if d.undoes() {
			out.Done = append(out.Done, d.reverse())
		}
		rec.Steps, rec.Complete = rec.Steps[:i], false
		if err := j.save(Receipt{rec.Schema, rec.Name, false, append(rec.Steps[:i:i], failed...)}); err != nil {
			return out, errors.Join(append(errs, err)...)
		}
	}
	return out, errors.Join(errs...)
}

// Undoing gives as a plan what Undo would do.
func (j Journal) Undoing(name string) (Plan, error) {
	p := Plan{Name: name}
	rec, err := j.Load(name)
	if err != nil {
		return p, err
	}
	for i := len(rec.Steps) - 1; i >= 0; i-- {
		d := rec.Steps[i]
		if !d.undoes() {
			continue
		}
		if d.File != nil {
			left, stands, err := d.stands()
			if err != nil {
				return p, err
			}
			if left != "" {
				p.Notes = append(p.Notes, left)
			}
			if !stands {
				continue
			}
		}
		p.Steps = append(p.Steps, d.reverse())
	}
	return p, nil
}

// undoes tells whether taking the step back does anything.
func (d Done) undoes() bool { return d.File != nil || len(d.Command.Undo) > 0 }

// reverse gives the step that takes this one back.
func (d Done) reverse() Step {
	if f := d.File; f != nil {
		why := "what it held before comes back"
		if f.Before == nil {
			why = "it was made by us"
		}
		return Step{Why: why, File: &File{Path: f.Path, Before: f.After, After: f.Before}}
	}
	return Step{Why: "takes back: " + d.Why, Command: &Command{Argv: d.Command.Undo, Tolerated: d.Command.UndoTolerated}}
}

// stands tells whether our bytes are still there, to be taken back, and if
// something else is, says so.
func (d Done) stands() (left string, ours bool, err error) {
	now, err := Read(d.File.Path)
	switch {
	case err != nil:
		return "", false, err
	case same(now, d.File.After):
		return "", true, nil
	case same(now, d.File.Before), now == nil:
		return "", false, nil
	}
	return d.File.Path + " was changed after us and is left as it is", false, nil
}

func (d Done) undo(ctx context.Context, run Runner) (left string, err error) {
	if c := d.Command; c != nil {
		if len(c.Undo) == 0 {
			return "", nil
		}
		_, err := run.Run(ctx, c.Undo)
		if err != nil && c.UndoTolerated && ctx.Err() == nil {
			return "take back: " + d.Why + ": " + err.Error(), nil
		}
		return "", err
	}
	left, ours, err := d.stands()
	if err != nil {
		return "", err
	}
	if ours {
		if err := change(d.File.Path, d.File.After, d.File.Before, 0); err != nil {
			return "", err
		}
	}
	if left == "" && d.File.Backup != "" {
		// The copy is needed no longer. Another text there is not ours.
		if err := change(d.File.Backup, d.File.Before, nil, 0); err != nil && !errors.Is(err, ErrChanged) {
			return "", err
		}
	}
	for i := len(d.Folders) - 1; i >= 0; i-- {
		_ = os.Remove(d.Folders[i]) // not empty: others use it by now
	}
	return left, nil
}
