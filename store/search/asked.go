package search

import (
	"strings"
	"time"
)

// Asked is what a question is about, for who turns it into a vector.
type Asked struct {
	Text       string   // what is looked for, without filters and what must not be there
	Workspaces []string // that its filters name, as typed
	Sessions   []string
	Paths      []string
}

// Read tells what a question is about. What looks like a filter is never in the
// text, also where Find searches for it as text. It is pure.
func Read(query string, now time.Time) Asked {
	q := parse(query, now)
	a := Asked{Workspaces: q.filter.workspaces, Sessions: q.filter.sessions, Paths: q.filter.paths}
	terms := q.terms
	if q.pasted {
		terms = nil
		for _, w := range strings.Fields(clean(query)) {
			terms = append(terms, term{termText, w})
		}
	}
	var words []string
	for _, t := range terms {
		key, value, found := filterKey(t.text)
		if !found || t.kind == termPhrase {
			words = append(words, t.text)
			continue
		}
		v, _, _ := cutValue(value)
		switch key {
		case "workspace":
			a.Workspaces = append(a.Workspaces, v)
		case "session":
			a.Sessions = append(a.Sessions, v)
		case "path":
			a.Paths = append(a.Paths, v)
		}
	}
	a.Text = strings.Join(words, " ")
	return a
}
