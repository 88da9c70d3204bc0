package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// shown is what lists, headings and errors show of a session's title or
// folder: nobody expects a secret there.
func shown(s string) string { return pipeline.RedactText(s) }

// allShown is shown for each of a list that is never null.
func allShown(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = shown(s)
	}
	return out
}

// titleColumns keeps a title in an error to one line.
const titleColumns = 70

// listed names sessions in an error, a line each.
func listed(b *strings.Builder, id, title string) {
	fmt.Fprintf(b, "\n  %s  \"%s\"", id, clean(fit(shown(title), titleColumns), false))
}

// candidates says which sessions an abbreviation matches.
func candidates(e *store.AmbiguousError) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s matches %d sessions", quote(e.Arg), len(e.IDs))
	for i, id := range e.IDs {
		listed(&b, id, e.Titles[i])
	}
	return fmt.Errorf("%s%w", b.String(), silent{e})
}

// silent keeps an error's identity without its words.
type silent struct{ err error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.err }

// without takes a file's path out of the reason it could not be read for: who
// prints both names it once.
func without(path, reason string) string { return strings.ReplaceAll(reason, " "+path, "") }

// maxReasons keeps a file with thousands of odd lines from hiding the others.
const maxReasons = 5

// fewReasons gives the first reasons, and how many more there are. more are
// those that the cache counted without keeping them.
func fewReasons(reasons []string, more int) []string {
	if n := len(reasons) - maxReasons; n > 0 {
		reasons, more = reasons[:maxReasons], more+n
	}
	if more > 0 {
		reasons = append(slices.Clip(reasons), number(more)+" more")
	}
	return reasons
}
