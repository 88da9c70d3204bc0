package connect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/install/edit"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/plugin"
)

// Options say how far Plan and Connect may go.
type Options struct {
	Force bool // change an entry that is somebody else's; connect what isn't found
}

// Plan gives what would be changed to connect a client; no steps if it is as it
// should be.
func (c *Connector) Plan(name string, o Options) (plan.Plan, error) {
	cl, err := find(name)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Name: cl.journal()}
	all, err := c.Look(name)
	if err != nil {
		return p, err
	}
	if len(all[0].Found) == 0 && !o.Force {
		return p, &Error{name, ErrNotFound, c.Describe(name) + "; --force connects it all the same"}
	}
	for _, st := range all {
		step, err := c.step(cl, st, o)
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, step...)
		if st.Off != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("the entry in %s is switched off, and stays so: %s", st.File, st.Off))
		}
	}
	if cl.skill != nil {
		step, note, err := c.skill(cl)
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, step...)
		if note != "" {
			p.Notes = append(p.Notes, note)
		}
	}
	if len(p.Steps) > 0 && cl.note != "" {
		p.Notes = append(p.Notes, cl.note)
	}
	return p, nil
}

// step is what one file needs.
func (c *Connector) step(cl client, st Status, o Options) ([]plan.Step, error) {
	switch st.State {
	case Unread:
		return nil, st.Problem
	case Connected:
		return nil, nil
	case Foreign:
		if !o.Force {
			what := "no command"
			if len(st.Command) > 0 {
				what = plan.Quote(st.Command)
			}
			return nil, &Error{cl.name, fmt.Errorf("%w: %s, in %s", ErrForeign, what, st.File), "session-migrator connect " + cl.name + " --force puts ours in its place; or give that entry another name"}
		}
	case Absent:
		for _, key := range st.Doubles { // not those of single projects
			if strings.HasPrefix(key, strings.Join(cl.table, ".")+".") && !o.Force {
				return nil, &Error{cl.name, fmt.Errorf("%w: %s, in %s", ErrDouble, key, st.File), "nothing to do if that one works; else take it out, or add ours beside it with --force"}
			}
		}
		if argv := c.own(cl, st.File); argv != nil {
			if err := mayWrite(cl, st.File); err != nil {
				return nil, err
			}
			return []plan.Step{{Why: "adds our entry to " + st.File, Command: &plan.Command{Argv: argv}}}, nil
		}
	case Stale:
	}
	step, err := c.merge(cl, st)
	return []plan.Step{step}, err
}

// own is the client's own command that adds our entry to a file; nil if it has
// none here.
func (c *Connector) own(cl client, file string) []string {
	if cl.add == nil || c.m.Find == nil {
		return nil
	}
	if cl.addsTo != nil {
		if abs, err := filepath.Abs(cl.addsTo(c.m)); err != nil || abs != file {
			return nil
		}
	}
	for _, p := range cl.programs {
		if path, err := c.m.Find(p); err == nil {
			return append([]string{path}, cl.add(c.server)...)
		}
	}
	return nil
}

// merge changes one key of a file.
func (c *Connector) merge(cl client, st Status) (plan.Step, error) {
	if err := mayWrite(cl, st.File); err != nil {
		return plan.Step{}, err
	}
	why := "adds our entry"
	before, err := plan.Read(st.File)
	after := before
	if err == nil && st.State == Stale {
		why = "renews our entry"
		after, err = renewed(cl.file(st.File), cl, before, st.entry, c.wanted(st.Command))
	} else if err == nil {
		after, err = cl.file(st.File).Set(before, cl.at(), cl.entry(c.server))
	}
	if err != nil {
		return plan.Step{}, &Error{cl.name, err, nextFor(err, st.File)}
	}
	return plan.Step{Why: why, File: &plan.File{Path: st.File, Before: before, After: after, Backup: c.backup(cl, st.File)}}, nil
}

// renewed changes an entry's command, and nothing else that the user gave it.
func renewed(f edit.File, cl client, content []byte, entry map[string]any, command []string) ([]byte, error) {
	key := func(name string) []string { return append(cl.at(), name) }
	if _, joined := entry["command"].([]any); joined {
		return f.Set(content, key("command"), command)
	}
	content, err := f.Set(content, key("command"), command[0])
	if err != nil {
		return nil, err
	}
	return f.Set(content, key("args"), command[1:])
}

// backup is where the first copy of a file of others goes.
func (c *Connector) backup(cl client, file string) string {
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(c.backups, cl.name+"-"+hex.EncodeToString(sum[:4]), filepath.Base(file))
}

// mayWrite refuses a file that its user made read-only: replacing it would need
// no more than its folder.
func mayWrite(cl client, file string) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		real = file
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
			continue
		}
		if err != nil {
			return &Error{cl.name, err, "see that you may write " + real}
		}
		if info.IsDir() && runtime.GOOS == "windows" {
			return nil // the mark means nothing on folders there
		}
		if info.Mode().Perm()&0o200 == 0 {
			return &Error{cl.name, fmt.Errorf("change %s: %w: %s", file, ErrReadOnly, at), "chmod u+w " + at + ", or change it by hand where another program makes it"}
		}
		if info.IsDir() {
			return nil
		}
	}
}

// skill is what the skill needs; somebody else's text there stays.
func (c *Connector) skill(cl client) ([]plan.Step, string, error) {
	path, err := filepath.Abs(cl.skill(c.m))
	if err != nil {
		return nil, "", err
	}
	step, err := plan.Write(path, plugin.Handoff(), 0, "adds the skill codex-handoff")
	if err != nil {
		return nil, "", &Error{cl.name, err, nextFor(err, path)}
	}
	if bytes.Equal(step.File.Before, step.File.After) {
		return nil, "", nil
	}
	if step.File.Before != nil {
		rec, err := c.journal.Load(cl.journal())
		if err != nil {
			return nil, "", err
		}
		ours := slices.ContainsFunc(rec.Steps, func(d plan.Done) bool {
			return d.File != nil && d.File.Path == path && bytes.Equal(d.File.After, step.File.Before)
		})
		if !ours {
			return nil, path + " was changed by somebody, and stays as it is", nil
		}
	}
	if err := mayWrite(cl, path); err != nil {
		return nil, "", err
	}
	return []plan.Step{step}, "", nil
}

// Result is what became of a client.
type Result struct {
	Client string
	Steps  []plan.Step // that were done
	Notes  []string    // what people should know or do
}

// Connect puts our entry into a client's settings. What is right already stays
// as it is.
func (c *Connector) Connect(ctx context.Context, name string, o Options) (Result, error) {
	p, err := c.Plan(name, o)
	res := Result{Client: name, Notes: p.Notes}
	if err != nil || len(p.Steps) == 0 {
		return res, err
	}
	cl, err := find(name)
	if err != nil {
		return res, err
	}
	var merges []plan.Step
	for _, s := range p.Steps {
		if s.Command == nil {
			merges = append(merges, s)
			continue
		}
		done, note, err := c.byCommand(ctx, cl, s)
		if err != nil {
			return res, err
		}
		res.Steps = append(res.Steps, done...)
		if note != "" {
			res.Notes = append([]string{note}, res.Notes...)
		}
		more, err := c.Plan(name, o) // what the command left to be done
		if err != nil {
			return res, err
		}
		for _, m := range more.Steps {
			if m.Command != nil { // it did nothing
				all, err := c.Look(name)
				if err != nil {
					return res, err
				}
				if m, err = c.merge(cl, all[0]); err != nil {
					return res, err
				}
			}
			merges = append(merges, m)
		}
		break // what comes after is in there, too
	}
	if len(merges) == 0 {
		return res, nil
	}
	out, err := c.journal.Apply(ctx, plan.Plan{Name: cl.journal(), Steps: merges}, c.run)
	res.Steps = append(res.Steps, out.Done...)
	if err != nil {
		return res, &Error{name, err, "see that you may write there, and try again"}
	}
	return res, nil
}

// byCommand lets the client change its file, and keeps what it held before. That
// the command fails is not the end: the file can be changed without it.
func (c *Connector) byCommand(ctx context.Context, cl client, s plan.Step) (done []plan.Step, note string, err error) {
	all, err := c.Look(cl.name)
	if err != nil {
		return nil, "", err
	}
	file := all[0].File
	for _, st := range all {
		if slices.Equal(c.own(cl, st.File), s.Command.Argv) && st.State == Absent {
			file = st.File
			break
		}
	}
	before, err := plan.Read(file)
	if err != nil {
		return nil, "", err
	}
	if _, err := c.run.Run(ctx, s.Command.Argv); err != nil {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		note = fmt.Sprintf("%v; the entry was written to %s instead", err, file)
	}
	after, err := plan.Read(file)
	if err != nil || bytes.Equal(before, after) {
		return nil, note, err
	}
	f := plan.File{Path: file, Before: before, After: after, Backup: c.backup(cl, file)}
	return []plan.Step{s}, note, c.journal.Record(cl.journal(), f, s.Why)
}
