package connect

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/install/edit"
	"github.com/session-migrator/session-migrator/install/plan"
)

// Undoing gives what Disconnect would do, as a plan to be shown.
func (c *Connector) Undoing(name string) (plan.Plan, error) {
	cl, err := find(name)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Name: cl.journal()}
	rec, err := c.journal.Load(p.Name)
	if err != nil {
		return p, err
	}
	back, err := c.journal.Undoing(p.Name)
	if err != nil {
		return p, &Error{name, err, "see that you may read what it names"}
	}
	p.Steps = back.Steps
	all, err := c.Look(name)
	if err != nil {
		return p, err
	}
	for _, st := range all {
		if at := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.File != nil && s.File.Path == st.File }); at >= 0 {
			if still := c.after(cl, st, p.Steps[at].File.After); still.State != Connected && still.State != Stale {
				continue // the old bytes come back, and our entry is not in them
			}
			p.Steps = slices.Delete(p.Steps, at, at+1)
		}
		step, err := c.takeOut(cl, st, rec)
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, step...)
	}
	for _, s := range p.Steps {
		if s.File != nil {
			if err := mayWrite(cl, s.File.Path); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// after says how it would stand with a file of other content.
func (c *Connector) after(cl client, st Status, content []byte) Status {
	out := Status{Client: st.Client, File: st.File, State: Absent}
	if content == nil {
		return out
	}
	if all, err := cl.file(st.File).Tree(content, cl.at()); err == nil {
		c.judge(cl, &out, all)
	}
	return out
}

// takeOut is the step that takes our key alone out of a file, and with it tables
// that we made for it.
func (c *Connector) takeOut(cl client, st Status, rec plan.Receipt) ([]plan.Step, error) {
	if st.State == Unread {
		return nil, st.Problem
	}
	if st.State != Connected && st.State != Stale {
		return nil, nil
	}
	before, err := plan.Read(st.File)
	if err != nil {
		return nil, &Error{cl.name, err, nextFor(err, st.File)}
	}
	f := cl.file(st.File)
	after, err := f.Remove(before, cl.at())
	if err != nil {
		return nil, &Error{cl.name, err, nextFor(err, st.File)}
	}
	at := slices.IndexFunc(rec.Steps, func(d plan.Done) bool { return d.File != nil && d.File.Path == st.File })
	for n := len(cl.table); at >= 0 && n > 0 && madeEmpty(f, rec.Steps[at].File.Before, after, cl.table[:n]); n-- {
		if after, err = f.Remove(after, cl.table[:n]); err != nil {
			return nil, &Error{cl.name, err, nextFor(err, st.File)}
		}
	}
	return []plan.Step{{Why: "takes our entry out", File: &plan.File{Path: st.File, Before: before, After: after}}}, nil
}

// madeEmpty tells whether a table is empty now and was not there before.
func madeEmpty(f edit.File, before, now []byte, table []string) bool {
	was, err := f.Get(before, table)
	if err != nil || was != nil {
		return false
	}
	is, err := f.Get(now, table)
	m, ok := is.(map[string]any)
	return err == nil && ok && len(m) == 0
}

// Disconnect takes our entry out of a client's settings. A file that nobody
// changed since gets the bytes back that it had before.
func (c *Connector) Disconnect(ctx context.Context, name string) (Result, error) {
	res := Result{Client: name}
	if _, err := c.Undoing(name); err != nil { // nothing is begun that can't be done
		return res, err
	}
	cl, err := find(name)
	if err != nil {
		return res, err
	}
	rec, err := c.journal.Load(cl.journal())
	if err != nil {
		return res, err
	}
	const next = "see that you may write there, and try again"
	back, err := c.journal.Undo(ctx, cl.journal(), c.run)
	res.Steps = back.Done
	if err != nil {
		return res, &Error{name, err, next}
	}
	for _, d := range rec.Steps {
		if d.File != nil && d.File.Backup != "" {
			_ = os.Remove(filepath.Dir(d.File.Backup)) // a copy in it is still wanted
		}
	}
	all, err := c.Look(name)
	if err != nil {
		return res, err
	}
	out := plan.Plan{Name: "dis" + cl.journal()} // a way back that is not to be taken back
	for _, st := range all {
		step, err := c.takeOut(cl, st, rec)
		if err != nil {
			return res, err
		}
		out.Steps = append(out.Steps, step...)
		back.Left = slices.DeleteFunc(back.Left, func(s string) bool { return strings.HasPrefix(s, st.File+" ") })
		if st.State == Foreign {
			became := "stays as it is"
			if len(back.Done) > 0 {
				became = "is there again, as it was before"
			}
			res.Notes = append(res.Notes, "the entry in "+st.File+" that starts another program "+became)
		}
	}
	res.Notes = append(res.Notes, back.Left...)
	if len(out.Steps) == 0 {
		return res, nil
	}
	done, err := c.journal.Apply(ctx, out, c.run)
	res.Steps = append(res.Steps, done.Done...)
	if err != nil {
		return res, &Error{name, err, next}
	}
	return res, c.journal.Forget(out.Name)
}
