package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

// sinkState is what the cache knows of what a sink wrote.
type sinkState struct {
	held     []string // files that hold something of ours
	edited   []string // of those, what somebody edited: left alone
	docs     int      // documents
	lines    int      // files of others, or of a workspace, with lines of ours
	logs     int      // daily logs with entries of ours
	problems []sinkProblem
}

// sinkProblem is why our part of a shared file isn't current.
type sinkProblem struct{ path, what string }

func (p sinkProblem) String() string { return p.path + ": " + p.what }

func problemTexts(problems []sinkProblem) []string {
	out := []string{}
	for _, p := range problems {
		out = append(out, shown(p.String()))
	}
	return out
}

// stateOf gives what stands in the cache of a sink. A file that was never
// written doesn't count, though it may have a problem.
func stateOf(ctx context.Context, c config.Config, db *store.DB, name string, said choices.Choice) (s sinkState, err error) {
	rows, err := db.Shared(ctx, name)
	if err != nil {
		return s, err
	}
	kept, edited, err := daemon.Options{Config: c}.Written(ctx, db, name, choices.Choice{Choice: sink.Choice{Dir: said.Dir}})
	if err != nil {
		return s, err
	}
	for _, path := range slices.Concat(kept, edited) {
		yours := slices.Contains(edited, path)
		var f sink.SharedFile
		switch body, is := rows[path]; {
		case !is:
			if !exists(path) {
				continue
			}
			s.docs++
		case json.Unmarshal([]byte(body), &f) != nil:
			continue // as if it wasn't known
		default:
			if what := problemOf(f); what != "" && !yours {
				s.problems = append(s.problems, sinkProblem{path, what})
			}
			switch {
			case !exists(path):
				continue
			case len(f.Entries) > 0:
				s.logs++
			case f.Hash != "":
				s.lines++
			default:
				continue
			}
		}
		s.held = append(s.held, path)
		if yours {
			s.edited = append(s.edited, path)
		}
	}
	return s, nil
}

// problemOf says why our part of a shared file isn't current; empty: it is. A
// folder that is a link out of the workspace is there, and nothing is written
// through it.
func problemOf(f sink.SharedFile) string {
	if !filepath.IsAbs(f.Workspace) {
		return f.Problem
	}
	for dir := filepath.Dir(f.Path); strings.HasPrefix(dir, f.Workspace+string(filepath.Separator)); dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		to, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return dir + " is a link to nothing"
		}
		if !within(f.Workspace, to) {
			return fmt.Sprintf("%s is a link to %s, which is outside of %s: nothing is written through it", dir, to, f.Workspace)
		}
	}
	return f.Problem
}

// fixOf says what to do about a problem of a shared file.
func fixOf(p sinkProblem, name string) string {
	left, leftAlone := strings.CutPrefix(p.what, "left alone: ")
	switch {
	case strings.Contains(p.what, "is a link to"):
		return "put a folder or file in the link's place, or have it lead to one inside"
	case leftAlone && (strings.Contains(left, "is yours now") || strings.Contains(left, "isn't ours")):
		return "move " + p.path + " away to have it written again"
	case leftAlone:
		return "in " + p.path + " put the two marker lines right, or delete both"
	case strings.HasPrefix(p.what, "no room: "):
		return "shorten " + p.path + "; it is tried again by itself"
	case strings.Contains(p.what, "read-only"):
		return "let " + p.path + " be written; it is tried again by itself"
	case strings.Contains(p.what, "has no folder"):
		return "make the folder; it is tried again by itself"
	case strings.Contains(p.what, "sink enable "+name):
		return "session-migrator sink enable " + name
	}
	return "see the message; it is tried again by itself"
}

// lookAtSinks adds what the cache knows. Without a daemon that is all there is.
func (s *statusJSON) lookAtSinks(ctx context.Context, c config.Config, db *store.DB) error {
	all, err := choices.Load(c.Home)
	if err != nil {
		all = choices.Choices{} // it is among the problems
	}
	alone := len(s.Sinks) == 0
	for _, k := range sink.Consumers() {
		said := all.Sinks[k.Name]
		i := slices.IndexFunc(s.Sinks, func(j sinkJSON) bool { return j.Name == k.Name })
		if alone && said.On(k.Mode) {
			i = len(s.Sinks)
			s.Sinks = append(s.Sinks, sinkJSON{Name: k.Name, Enabled: true, Absent: k.Mode != sink.ModeAlways && noPlace(c, k, said) != ""})
		}
		if i < 0 {
			continue
		}
		is, err := stateOf(ctx, c, db, k.Name, said)
		if err != nil {
			return err
		}
		j := &s.Sinks[i]
		j.Files, j.Shared, j.Logs, j.Edited = is.docs, is.lines, is.logs, allShown(is.edited)
		j.Problems = append(list(j.unwritten), problemTexts(is.problems)...)
	}
	return nil
}

// whyAbsent says of the sinks without a place what "sink list" says.
func (s *statusJSON) whyAbsent(c config.Config) {
	all, err := choices.Load(c.Home)
	if err != nil {
		return // it is among the problems
	}
	for i := range s.Sinks {
		k := &s.Sinks[i]
		if consumer, err := consumer(k.Name); err == nil && k.Absent {
			said := all.Sinks[k.Name]
			k.AbsentWhy, k.asked = noPlace(c, consumer, said), said.Enabled != nil && *said.Enabled
		}
	}
}

// more is what else is to be said of a sink.
func (k sinkJSON) more() string {
	out := ""
	if k.Shared > 0 {
		out += ", lines in " + plural(k.Shared, "file")
	}
	if k.Logs > 0 {
		out += ", entries in " + plural(k.Logs, "log")
	}
	if k.Absent {
		out += ", its place is gone"
		if k.AbsentWhy != "" {
			out += ": " + clean(k.AbsentWhy, false)
		}
	}
	return out
}

// sinks checks what the user chose, and what the sinks for other programs say.
func (d *doctor) sinks(c config.Config, info daemon.Info) {
	fine := true
	if _, err := loadChoices(c); err != nil {
		fine = false
		_, fix := classify(err)
		if h, ok := err.(*hintError); ok { //nolint:errorlint // made just above
			fix = h.hint
		}
		d.broken("choices", fix, "%v; what was chosen before stays in force", err)
	}
	for _, k := range info.Sinks {
		if k.Name != dropSink && k.LastError != "" {
			fine = false
			d.broken("sink "+k.Name, "see the message; it is tried again by itself", "%s waiting since %s: %s",
				plural(k.Waiting, "session"), k.Since.Local().Format("2006-01-02 15:04:05"), k.LastError)
		}
		for _, p := range k.Unwritten {
			fine = false
			d.warn("sink "+k.Name, "see the message; it is tried again by itself", "%s", p)
		}
	}
	for _, k := range d.kept {
		for _, p := range k.problems {
			fine = false
			d.warn("sink "+k.name, fixOf(p, k.name), "%s", p)
		}
	}
	if n := max(len(info.Sinks), len(d.kept)) - 1; fine && n > 0 {
		d.ok("sinks", "%s for other programs, nothing is wrong with them", plural(n, "sink"))
	}
}

// keptSink is what the cache knows of a sink that is on.
type keptSink struct {
	name string
	sinkState
}

// keptSinks looks at what stands in the cache of the sinks. Broken choices are
// told elsewhere.
func (d *doctor) keptSinks(ctx context.Context, c config.Config, db *store.DB) error {
	all, err := choices.Load(c.Home)
	if err != nil {
		all = choices.Choices{}
	}
	for _, k := range sink.Consumers() {
		said := all.Sinks[k.Name]
		if !said.On(k.Mode) {
			continue
		}
		is, err := stateOf(ctx, c, db, k.Name, said)
		if err != nil {
			return err
		}
		d.kept = append(d.kept, keptSink{k.Name, is})
	}
	return nil
}
