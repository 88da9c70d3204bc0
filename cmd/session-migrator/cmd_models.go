package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

func newModelsCommand(a *app) *cobra.Command {
	var limit, minWindow int
	cmd := &cobra.Command{
		Use:   "models [QUERY]",
		Short: "Show what models take in, and whose word it is",
		Long: `Shows windows, answer lengths and encodings, with where each figure is from and
since when. What sessions reported and the settings say goes before the table
that ships with the program. A name that nothing knows is answered with a
default that says so.

Exit codes: 0 answered, 2 wrong usage.`,
		Example: "  session-migrator models claude-opus\n  session-migrator models openrouter/glm-5 --json",
		Args:    args(0, -1, "words of a name"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if limit < 0 || minWindow < 0 {
				return usagef("--limit and --min-window are numbers from 0 on")
			}
			t, err := a.capacityTable(cmd)
			if err != nil {
				return err
			}
			shelf, err := a.vocabularies()
			if err != nil {
				return err
			}
			query := strings.Join(words, " ")
			if !cmd.Flags().Changed("limit") && query != "" {
				limit = usualModels
			}
			return printModels(a, withImported(findModels(t, query, minWindow), t, shelf), limit, query)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "at most so many; 0 for all (default 20 for a query, all without)")
	cmd.Flags().IntVar(&minWindow, "min-window", 0, "only models that take in so many tokens")
	return cmd
}

// capacityTable is the table as the daemon uses it: with what sessions
// reported, if there is a cache, and the user's figures.
func (a *app) capacityTable(cmd *cobra.Command) (*capacity.Table, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	if exists(c.DB()) {
		r, err := openReader(cmd.Context(), c)
		if err == nil {
			defer r.close()
			return r.pipe.Table(), nil
		}
		a.warn("what sessions reported is left out: %v", err)
	}
	return capacity.Default().With(daemon.PipelineOptions(c).Models...), nil
}

const (
	usualModels = 20
	allRows     = 10_000
)

// findModels answers a query, the best match first. A name is always answered.
func findModels(t *capacity.Table, query string, minWindow int) []capacity.Model {
	found := t.Search(query, minWindow, allRows)
	if len(found) > 0 || query == "" {
		return found
	}
	m, err := t.Lookup(query)
	if errors.Is(err, capacity.ErrUnknown) || m.Window >= minWindow {
		return []capacity.Model{m}
	}
	return nil
}

type modelsJSON struct {
	Schema int         `json:"schema"`
	Models []modelJSON `json:"models"`
	Total  int         `json:"total"` // without the limit
}

type modelJSON struct {
	capacity.Model
	// Imported is the vocabulary that the user imported for it: its tokens are
	// counted in that, exactly.
	Imported string `json:"imported,omitempty"`
}

func withImported(models []capacity.Model, t *capacity.Table, shelf *vocabs.Shelf) []modelJSON {
	out := make([]modelJSON, len(models))
	for i, m := range models {
		e, _ := shelf.For(t.Canonical(m.ID))
		out[i] = modelJSON{m, e.Name}
	}
	return out
}

func printModels(a *app, models []modelJSON, limit int, query string) error {
	total := len(models)
	if limit > 0 {
		models = models[:min(limit, total)]
	}
	if a.flags.json {
		return a.printJSON(modelsJSON{Schema: 1, Models: list(models), Total: total})
	}
	t := table{head: []string{"MODEL", "SURFACE", "HOST", "WINDOW", "INPUT", "OUTPUT", "ENCODING", "SOURCE", "SINCE", "MATCH", "TRUST"},
		right: []bool{false, false, false, true, true, true}, paint: map[string]colour{"none": red, "low": yellow}}
	for _, m := range models {
		encoding := m.Encoding.String()
		switch {
		case m.Imported != "":
			encoding = m.Imported
		case !m.CountExact:
			encoding = "~" + encoding
		}
		t.add(clean(m.ID, false), orDash(m.Surface), orDash(m.Host), number(m.Window), dashZero(m.Input), dashZero(m.MaxOutput), encoding,
			m.Source.String(), orDash(m.Date), m.MatchedBy.String(), m.Confidence.String())
	}
	if err := t.print(a, a.out); err != nil {
		return err
	}
	if left := total - len(models); left > 0 {
		put(a.err, "%s more; --limit 0 lists all\n", number(left))
	}
	if len(models) == 1 && !models[0].Known() {
		a.warn("nothing is known of %s: these are defaults", query)
	}
	return nil
}

func dashZero(n int) string {
	if n == 0 {
		return "-"
	}
	return number(n)
}
