package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/handoff"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

type sessionsFlags struct {
	model     string
	workspace string
	since     string
	limit     int
	subagents bool
	archived  bool
}

func newSessionsCommand(a *app) *cobra.Command {
	var f sessionsFlags
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List sessions, newest first",
		Long: `Lists sessions, newest first. With --model each line says whether that model
can take the session over as it is. One that runs out of context or quota is
marked with how much of it is in use.

Exit codes: 0 listed, 2 wrong usage, 10 no cache and no Codex home.`,
		Example: "  session-migrator sessions --workspace . --since 7d --model claude-opus-4-8",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := named(cmd, "model"); err != nil {
				return err
			}
			return runSessions(cmd.Context(), a, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "say for each session whether this model can take it")
	fl.StringVar(&f.workspace, "workspace", "all", "only sessions of this folder; all for every one")
	fl.StringVar(&f.since, "since", "", "only sessions with news since: 7d, 12h, 2w, 2026-11-01")
	fl.IntVar(&f.limit, "limit", 50, "at most so many; 0 for all")
	fl.BoolVar(&f.subagents, "subagents", false, "also sessions that another one spawned")
	fl.BoolVar(&f.archived, "archived", false, "also archived sessions")
	completes(cmd, "model", a.completeModels)
	return cmd
}

type sessionsJSON struct {
	Schema   int           `json:"schema"`
	Sessions []sessionJSON `json:"sessions"`
	Total    int           `json:"total"` // without the limit

	Rebuild *pipeline.Rebuild `json:"rebuild"` // null: all is there
}

type sessionJSON struct {
	ThreadID  string           `json:"thread_id"`
	Title     string           `json:"title"`
	Workspace string           `json:"workspace"`
	Cwd       string           `json:"cwd"`
	UpdatedAt *time.Time       `json:"updated_at"`
	Turns     int              `json:"turns"`
	Tokens    int64            `json:"tokens"` // o200k_base
	Model     string           `json:"model"`
	State     transcript.State `json:"state"`
	Archived  bool             `json:"archived"`
	Subagents int              `json:"subagents"`
	Untouched bool             `json:"untouched"` // a fork that adds nothing to what it inherits
	Pinned    bool             `json:"pinned"`    // its memory files stay, however old
	Decision  *decide.Decision `json:"decision"`  // null without --model

	Handoff *handoffJSON `json:"handoff"` // null: nothing runs out
}

// handoffJSON says what a session runs out of: the fuller of the two.
type handoffJSON struct {
	Why      handoff.Why `json:"why"`
	Percent  int         `json:"percent"`
	ResetsAt *time.Time  `json:"resets_at"`
	Command  string      `json:"command"`
}

// runningOut gives what sessions run out of.
func (r *reader) runningOut(ctx context.Context, now time.Time) (map[string]*handoffJSON, error) {
	all, err := handoff.List(ctx, r.db, r.pipe, r.config.Handoff.Threshold, now)
	if err != nil {
		return nil, err
	}
	out := map[string]*handoffJSON{}
	for _, h := range all {
		if other := out[h.ThreadID]; other == nil || other.Percent < h.Percent {
			out[h.ThreadID] = &handoffJSON{h.Why, h.Percent, h.ResetsAt, h.Command}
		}
	}
	return out, nil
}

func runSessions(ctx context.Context, a *app, f sessionsFlags) error {
	filter, err := f.filter(a.now())
	if err != nil {
		return err
	}
	r, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.windows(f.model); err != nil {
		return err
	}
	threads, total, err := r.db.Threads(ctx, filter)
	if err != nil {
		return err
	}
	due, err := r.runningOut(ctx, a.now())
	if err != nil {
		return err
	}
	said, err := choices.Load(r.config.Home)
	if err != nil {
		a.warn("pins aren't known: %v", err)
	}
	out := sessionsJSON{Schema: 1, Sessions: []sessionJSON{}, Total: total, Rebuild: r.rebuild}
	for _, t := range threads {
		s := sessionJSON{ThreadID: t.ID, Title: shown(t.Title), Workspace: shown(t.Workspace), Cwd: shown(t.Cwd), UpdatedAt: instant(t.Updated), Turns: t.Turns,
			Tokens: t.Tokens["o200k_base"], Model: t.Model, State: t.State, Archived: t.Archived, Subagents: t.Subagents, Untouched: t.Untouched, Handoff: due[t.ID], Pinned: slices.Contains(said.Pins, t.ID)}
		if f.model != "" {
			if err := r.pipe.Recall(ctx, &t); err != nil {
				return err
			}
			d := r.pipe.Decide(t, f.model, decide.Options{})
			d.ComputedAt = a.now().UTC()
			s.Decision = &d
		}
		out.Sessions = append(out.Sessions, s)
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	return printSessions(a, out, f.model)
}

func (f sessionsFlags) filter(now time.Time) (store.Filter, error) {
	key, err := workspaceKey(f.workspace)
	if err != nil {
		return store.Filter{}, err
	}
	since, err := parseSince(f.since, now)
	if err != nil {
		return store.Filter{}, err
	}
	if f.limit < 0 {
		return store.Filter{}, usagef("--limit is %d; give a number of sessions, 0 for all", f.limit)
	}
	return store.Filter{Workspace: key, Since: since, Limit: f.limit, Subagents: f.subagents, Archived: f.archived}, nil
}

var sinceAge = pattern.Lazy(`^(\d{1,6})(m|h|d|w)$`)

// parseSince reads an age such as 7d, or a date. Empty is the zero time.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if m := sinceAge().FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return time.Time{}, usagef("--since %q: %w", s, err)
		}
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		return now.Add(-time.Duration(n) * unit), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--since %q is no age and no date; give 30m, 12h, 7d, 2w or 2026-11-01", s)
}

func printSessions(a *app, out sessionsJSON, model string) error {
	if len(out.Sessions) == 0 {
		_, err := fmt.Fprintln(a.out, "no sessions")
		return err
	}
	if err := printSessionTable(a, out, model); err != nil {
		return err
	}
	if left := out.Total - len(out.Sessions); left > 0 {
		put(a.err, "%s more; --limit 0 lists all\n", number(left))
	}
	return nil
}

func printSessionTable(a *app, out sessionsJSON, model string) error {
	t := table{head: []string{"ID", "AGE", "TURNS", "TOKENS", "STATE", "WORKSPACE", "TITLE"}, right: []bool{false, true, true, true},
		paint: map[string]colour{"comfortable": green, "tight": yellow, "over": red, "interrupted": yellow, "failed": red}}
	if model != "" {
		t.head = []string{"ID", "AGE", "TURNS", "TOKENS", "FIT", "STATE", "WORKSPACE", "TITLE"}
	}
	now := a.now()
	for _, s := range out.Sessions {
		when := time.Time{}
		if s.UpdatedAt != nil {
			when = *s.UpdatedAt
		}
		row := []string{s.ThreadID, age(now, when), strconv.Itoa(s.Turns), number(s.Tokens)}
		if s.Decision != nil {
			row = append(row, s.Decision.Fit.String())
		}
		title := clean(s.Title, false)
		if s.Archived {
			title = "[archived] " + title
		}
		if s.Handoff != nil {
			title = fmt.Sprintf("[%s %d %%] %s", s.Handoff.Why, s.Handoff.Percent, title)
		}
		state := s.State.String()
		if s.Untouched {
			state = "untouched fork"
		}
		t.add(append(row, state, clean(orDash(s.Cwd), false), title)...)
	}
	return t.print(a, a.out)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
