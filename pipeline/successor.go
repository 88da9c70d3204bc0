package pipeline

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Successor names the model that should take a thread over: the first of the
// targets that takes it whole, else the one that is given most of it. It is one
// that the capacity table knows, and not the model that the thread runs on. With
// account it is none that Codex runs either: they share what is running out.
// Where no target is left it is one of the built-in list.
func (p *Pipeline) Successor(t transcript.Thread, account bool) string {
	table := p.Table()
	own, _ := table.Lookup(t.Model) // an unknown one has its own name
	for _, targets := range [...][]string{p.opt.Targets, capacity.DefaultTargets()} {
		best, name := decide.Decision{}, ""
		for _, id := range targets {
			m, err := table.Lookup(id)
			if err != nil || bareID(m) == bareID(own) || account && m.Surface == capacity.SurfaceCodex {
				continue
			}
			d := decideFor(table, p.window(table, id, m), t, p.opt.Decide)
			if d.Verdict == decide.Direct {
				return id
			}
			if name == "" || keepsMore(d, best) {
				best, name = d, id
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

// bareID is a model's id without the program that runs it.
func bareID(m capacity.Model) string { return strings.TrimPrefix(m.ID, m.Surface+"/") }

// keepsMore tells whether a is given more of a thread than b, neither whole;
// where that is the same, whether it has more room for what comes.
func keepsMore(a, b decide.Decision) bool {
	if budgetOf(a) != budgetOf(b) {
		return budgetOf(a) > budgetOf(b)
	}
	return a.Room > b.Room
}
