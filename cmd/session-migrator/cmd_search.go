package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/embedding"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/search"
)

const (
	// searchIndexing bounds what a search spends on the index first. What the
	// index lacks after that is looked through without it.
	searchIndexing = 5 * time.Second
	maxHits        = 300 // more than that are not ranked of a question with words
)

type searchFlags struct {
	session   string
	workspace string
	since     string
	limit     int
}

func newSearchCommand(a *app) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search QUERY…",
		Short: "Find what was said in any session",
		Long: `Finds what was said, called or put out in any session, best match first: words in
any order, parts of identifiers, and scripts without spaces. Each hit has a
reference, for "original", and stands under its session, for "show" and
"migrate". Secrets are taken out of what is shown, and can't be searched for.

QUERY may also have "words as they stand" (quoted for your shell), begin*,
-without, role:user, tool:exec_command, path:report.py, workspace:NAME,
model:NAME, session:ID and since:7d. Words that begin with a dash, as -without,
go behind "--", and the flags before it. role: is user, assistant, tool, call,
output, agent or compaction (reasoning isn't searched); path: leaves the sessions
in which the path is named. Filters alone give all that they leave, newest first.

Exit codes: 0 answered, also if nothing was found, 2 wrong usage, 10 no cache and
no Codex home, 12 no such session.`,
		Example: "  session-migrator search flaky upload test\n  session-migrator search --since 7d --workspace . -- --no-verify\n  session-migrator search -- upload role:user -deploy\n  session-migrator search '\"database is locked\" role:user'",
		Args:    args(1, -1, "at least one word"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return runSearch(cmd.Context(), a, strings.Join(words, " "), f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := `run "` + cmd.CommandPath() + ` --help" for the flags`
		if strings.HasPrefix(err.Error(), "unknown") {
			hint = `put "--" before words that begin with a dash, and flags before it: ` + cmd.CommandPath() + " -- upload -deploy"
		}
		return hinted(usageError{plainFlagError(err)}, hint)
	})
	fl := cmd.Flags()
	fl.StringVar(&f.session, "session", "", "only in this session")
	fl.StringVar(&f.workspace, "workspace", "all", "only in sessions of this folder; all for every one")
	fl.StringVar(&f.since, "since", "", "only what was said since: 7d, 12h, 2w, 2026-11-01")
	fl.IntVar(&f.limit, "limit", 10, "at most so many hits, up to 300")
	completes(cmd, "session", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.sessionIDs(cmd)
	})
	return cmd
}

type searchJSON struct {
	Schema int       `json:"schema"`
	Hits   []hitJSON `json:"hits"`
	More   bool      `json:"more"`   // hits follow after these
	Behind int64     `json:"behind"` // messages that could not be looked through yet
	Notes  []string  `json:"notes"`  // what of the question was read otherwise than typed
}

type hitJSON struct {
	SessionID string          `json:"session_id"`
	ThreadID  string          `json:"thread_id"` // the same, as other commands name it
	Title     string          `json:"title"`
	Workspace string          `json:"workspace"`
	Cwd       string          `json:"cwd"`
	Ref       string          `json:"ref"`
	Role      transcript.Role `json:"role"`
	Tool      string          `json:"tool,omitempty"` // calls only
	Time      *time.Time      `json:"time"`
	Turn      int             `json:"turn"` // 0: before the first request
	Snippet   string          `json:"snippet"`
	Dead      bool            `json:"dead"` // rolled back, or rewritten away
}

func runSearch(ctx context.Context, a *app, query string, f searchFlags) error {
	if strings.TrimSpace(query) == "" {
		return hinted(usageError{errors.New("there is nothing to search for")}, "give the words to look for")
	}
	if f.limit < 1 || f.limit > maxHits {
		return usagef("--limit is %d; give a number of hits from 1 to %d", f.limit, maxHits)
	}
	r := search.Request{Query: query, Limit: f.limit, Now: a.now()}
	var err error
	if r.Workspace, err = workspaceKey(f.workspace); err != nil {
		return err
	}
	if r.Since, err = parseSince(f.since, a.now()); err != nil {
		return err
	}
	c, err := a.openIndexed(ctx, searchIndexing)
	if err != nil {
		return err
	}
	defer c.close()
	if f.session != "" {
		if r.Thread, err = c.thread(ctx, f.session); err != nil {
			return err
		}
	}
	found, err := c.search(ctx, r)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(foundJSON(found))
	}
	return a.printHits(found, f.limit)
}

// search asks the index, or the cache alone where there is none that can be read.
func (r *reader) search(ctx context.Context, q search.Request) (pipeline.SearchResult, error) {
	x, err := search.OpenReader(ctx, r.config.Search())
	if err != nil {
		found, err := r.pipe.Search(ctx, nil, q)
		if exists(r.config.Search()) {
			found.Notes = append(found.Notes, `the search index can't be asked; "session-migrator doctor" says why`)
		}
		return found, err
	}
	defer func() { _ = x.Close() }() // only read
	a := embedding.NewAsker(r.config)
	defer func() { _ = a.Close() }() // only read
	note := a.Fill(ctx, r.db, &q)
	found, err := r.pipe.Search(ctx, x, q)
	if note != "" {
		found.Notes = append(found.Notes, pipeline.RedactText(note))
	}
	return found, err
}

func foundJSON(found pipeline.SearchResult) searchJSON {
	out := searchJSON{Schema: 1, Hits: []hitJSON{}, More: found.Next > 0, Behind: found.Behind, Notes: list(found.Notes)}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, hitJSON{
			SessionID: h.ThreadID, ThreadID: h.ThreadID, Title: h.Title, Workspace: h.Workspace, Cwd: h.Cwd, Ref: h.Ref,
			Role: h.Role, Tool: h.Tool, Time: instant(h.Time), Turn: h.Turn, Snippet: h.Snippet, Dead: h.Dead,
		})
	}
	return out
}

// printHits prints each hit on a line, those of a session that follow each other
// under its name.
func (a *app) printHits(found pipeline.SearchResult, limit int) error {
	now := a.now()
	var b bytes.Buffer
	for i, h := range found.Hits {
		if i == 0 || h.ThreadID != found.Hits[i-1].ThreadID {
			title := fit(clean(h.Title, false), titleColumns)
			fmt.Fprintf(&b, "%s  %s  %s\n", h.ThreadID, a.paint(a.out, dim, clean(orDash(h.Cwd), false)), title)
		}
		facts := []string{h.Ref, h.Role.String()}
		if h.Tool != "" {
			facts = append(facts, clean(h.Tool, false))
		}
		facts = append(facts, age(now, h.Time))
		if h.Dead {
			facts = append(facts, "taken back")
		}
		fmt.Fprintf(&b, "  %s\n    %s\n", a.paint(a.out, dim, strings.Join(facts, "  ")), a.marked(clean(h.Snippet, false), h.Words))
	}
	if len(found.Hits) == 0 {
		b.WriteString("nothing found\n")
	}
	_, err := a.out.Write(b.Bytes())
	for _, n := range found.Notes {
		put(a.err, "%s %s\n", a.paint(a.err, yellow, "note:"), clean(n, false))
	}
	if found.Behind > 0 {
		a.warn("%s could not be looked through yet", plural(found.Behind, "message"))
	}
	switch {
	case found.Next > 0 && limit < maxHits:
		put(a.err, "there is more; a greater --limit shows it\n")
	case found.Next > 0:
		put(a.err, "there is more; --session, --workspace, --since or more words narrow it down\n")
	}
	return err
}

// marked makes the words that matched bold in a text.
func (a *app) marked(text string, words []string) string {
	if a.paint(a.out, bold, "x") == "x" {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range matches(text, words) {
		b.WriteString(text[at:m.from] + a.paint(a.out, bold, text[m.from:m.to]))
		at = m.to
	}
	return b.String() + text[at:]
}

// span is a run of bytes.
type span struct{ from, to int }

// matches gives where words stand in a text, in any case: in order, and joined
// where they touch.
func matches(text string, words []string) (out []span) {
	for _, w := range words {
		for at := 0; w != "" && at < len(text); {
			if n := folded(text[at:], w); n > 0 {
				out = append(out, span{at, at + n})
				at += n
				continue
			}
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
		}
	}
	slices.SortFunc(out, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	joined := out[:0]
	for _, s := range out {
		if n := len(joined); n > 0 && s.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// folded gives how many bytes of text's beginning are word, in any case; 0 for
// another beginning.
func folded(text, word string) int {
	at := 0
	for _, w := range word {
		t, n := utf8.DecodeRuneInString(text[at:])
		if n == 0 || t != w && unicode.ToLower(t) != unicode.ToLower(w) {
			return 0
		}
		at += n
	}
	return at
}
