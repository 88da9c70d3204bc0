package main

import (
	"cmp"
	"context"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// threadJSON is a thread with its current branch. Fields are only ever added.
type threadJSON struct {
	Schema         int              `json:"schema"`
	ThreadID       string           `json:"thread_id"`
	Title          string           `json:"title"`
	Cwd            string           `json:"cwd"`
	Workspace      string           `json:"workspace"`
	Model          string           `json:"model"`
	CLIVersion     string           `json:"cli_version"`
	Originator     string           `json:"originator"`
	ParentThreadID *string          `json:"parent_thread_id"`
	ForkedFromID   *string          `json:"forked_from_id"`
	Archived       bool             `json:"archived"`
	State          transcript.State `json:"state"`
	CreatedAt      *time.Time       `json:"created_at"`
	UpdatedAt      *time.Time       `json:"updated_at"`

	Usage    transcript.Usage `json:"usage"`
	OwnUsage transcript.Usage `json:"own_usage"` // without what a parent already spent

	Window         int               `json:"window"`               // usable, 0 unknown
	WindowOrigin   string            `json:"window_origin"`        // whose word Window is
	ContextTokens  int64             `json:"context_tokens"`       // the next request starts from
	ContextInput   int64             `json:"context_input_tokens"` // the newest request was made of
	ContextPercent *float64          `json:"context_percent"`      // ContextInput of Window, null if either is unknown
	Counts         transcript.Counts `json:"counts"`
	Tokens         map[string]int64  `json:"tokens"`
	Messages       []messageJSON     `json:"messages"`

	Source             string           `json:"source"`
	Rollout            string           `json:"rollout"` // path of the newest file
	Gone               bool             `json:"gone"`    // Codex deleted it
	Turns              int              `json:"turns"`
	ModelCalls         int              `json:"model_calls"`
	AutoCompact        int              `json:"auto_compact_limit"` // 0 unknown
	Git                *gitJSON         `json:"git"`
	Subagents          int              `json:"subagents"`
	UsageWithSubagents transcript.Usage `json:"usage_with_subagents"`
	BaseMissing        *string          `json:"base_missing"` // rollout that the history begins in and that isn't here
	Problems           problemsJSON     `json:"problems"`
	// NoLongerInSource are messages that Codex removed by rewriting its file.
	NoLongerInSource []messageJSON      `json:"no_longer_in_source,omitempty"`
	Freshness        pipeline.Freshness `json:"freshness"`
}

type gitJSON struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	URL    string `json:"url"`
}

type problemsJSON struct {
	Damage  []transcript.Damage  `json:"damage"`
	Unknown []transcript.Unknown `json:"unknown"`
}

// messageJSON is one message. What a role doesn't have is left out.
type messageJSON struct {
	Seq       int64      `json:"seq"` // position in the thread, from 1
	Role      string     `json:"role"`
	Text      *string    `json:"text,omitempty"`
	Name      string     `json:"name,omitempty"`
	CallID    *string    `json:"call_id,omitempty"`
	Args      *string    `json:"args,omitempty"`
	ExitCode  *int       `json:"exit_code,omitempty"`
	Phase     string     `json:"phase,omitempty"`
	Images    int        `json:"images"`
	Turn      int        `json:"turn"`
	TS        *time.Time `json:"ts"`
	Tokens    int        `json:"tokens"` // o200k_base
	Ref       string     `json:"ref"`
	Inherited bool       `json:"inherited"`
}

func messageOf(m *transcript.Message) messageJSON {
	j := messageJSON{Seq: m.Position, Role: m.Role.String(), Phase: m.Phase.String(), Images: m.Images, Turn: m.ThreadTurn, TS: instant(m.Time),
		Tokens: m.Tokens, Ref: m.Ref, Inherited: m.Inherited}
	switch m.Role {
	case transcript.RoleToolCall:
		j.Name, j.CallID, j.Args = m.Name, &m.CallID, &m.Args
	case transcript.RoleToolResult:
		j.CallID, j.Text = &m.CallID, &m.Text
		if m.HasExit {
			j.ExitCode = &m.ExitCode
		}
	case transcript.RoleUser, transcript.RoleAssistant, transcript.RoleReasoning, transcript.RoleAgent, transcript.RoleCompaction:
		j.Text = &m.Text
	}
	return j
}

func messagesOf(ms []transcript.Message) []messageJSON {
	out := make([]messageJSON, len(ms))
	for i := range ms {
		out[i] = messageOf(&ms[i])
	}
	return out
}

// threadOf gives all that is known of a thread.
func (r *reader) threadOf(ctx context.Context, v pipeline.View) (threadJSON, error) {
	t := v.Thread
	j := threadJSON{
		Schema: 1, ThreadID: t.ID, Title: shown(t.Title), Cwd: shown(t.Cwd), Workspace: shown(t.Workspace), Model: t.Model, CLIVersion: t.CLIVersion,
		Originator: t.Originator, ParentThreadID: orNull(t.Parent), ForkedFromID: orNull(t.ForkedFrom), Archived: t.Archived, State: t.State,
		CreatedAt: instant(t.Created), UpdatedAt: instant(t.Updated), Usage: t.Usage, OwnUsage: t.OwnUsage,
		ContextTokens: t.ContextTokens, ContextInput: t.ContextInput, Counts: t.Counts, Tokens: t.Tokens, Messages: messagesOf(v.Messages),
		Source: t.Source, Rollout: t.Path, Gone: t.Gone, Turns: t.Turns, ModelCalls: t.ModelCalls, AutoCompact: t.AutoCompact,
		Subagents: t.Subagents, UsageWithSubagents: t.Usage.Plus(t.SubagentUsage), BaseMissing: orNull(t.BaseMissing), Freshness: v.Fresh,
		Problems: problemsJSON{Damage: []transcript.Damage{}, Unknown: []transcript.Unknown{}},
	}
	j.Window, j.WindowOrigin = r.window(t)
	if used := cmp.Or(t.ContextInput, t.ContextTokens); j.Window > 0 && used > 0 {
		percent := float64(int(float64(used)/float64(j.Window)*1000+0.5)) / 10
		j.ContextPercent = &percent
	}
	if t.GitBranch != "" || t.GitCommit != "" || t.GitURL != "" {
		j.Git = &gitJSON{t.GitBranch, t.GitCommit, shown(t.GitURL)}
	}
	cps, err := r.db.ThreadCheckpoints(ctx, t.ID)
	if err != nil {
		return j, err
	}
	for _, cp := range cps {
		odd, err := r.db.Oddities(ctx, cp.RolloutID)
		if err != nil {
			return j, err
		}
		j.Problems.Damage = append(j.Problems.Damage, odd.Damage...)
		j.Problems.Unknown = append(j.Problems.Unknown, odd.Unknown...)
	}
	gone, err := r.db.Rewritten(ctx, t.ID)
	if err != nil {
		return j, err
	}
	j.NoLongerInSource = messagesOf(gone)
	return j, nil
}

// window is what the thread's own model takes in: as its session reported, or
// as the table says.
func (r *reader) window(t transcript.Thread) (tokens int, origin string) {
	if t.Window > 0 {
		return t.Window, "reported by the session"
	}
	m, err := r.pipe.Table().Lookup(t.Model)
	if err != nil {
		return 0, "unknown"
	}
	if m.EffectivePercent > 0 {
		return m.Window * m.EffectivePercent / 100, m.Source.String()
	}
	return m.Window, m.Source.String()
}

// problems says in a line each what of the thread's files could not be read.
func (p problemsJSON) lines() []string {
	var out []string
	for _, d := range p.Damage {
		what := d.Cause
		if d.Detail != "" {
			what += ", " + d.Detail
		}
		line := "line " + number(d.Line) + ", byte " + number(d.Offset) + ", is damaged (" + what + "): " + size(d.Size) + " lost"
		if d.Salvaged > 0 {
			line += ", " + plural(d.Salvaged, "whole record") + " in it saved"
		}
		out = append(out, line)
	}
	for _, u := range p.Unknown {
		out = append(out, plural(u.Count, u.Kind)+" of a kind that this version doesn't know: "+quote(u.Name)+" (Codex "+u.Version+", first in line "+number(u.Line)+")")
	}
	return out
}

// problemsOf says the same of a file for status.
func problemsOf(p store.Problem) []string {
	var out []string
	if p.Reason != "" {
		out = append(out, without(p.Path, p.Reason))
	}
	if p.TornBytes > 0 {
		out = append(out, "the last line is torn: "+size(p.TornBytes)+" from byte "+number(p.TornOffset)+" on without a line end, unchanged since "+p.TornSince.Format(time.DateOnly)+"; read when it is complete")
	}
	return append(out, problemsJSON{Damage: p.Damage, Unknown: p.Unknown}.lines()...)
}

// readTo adds to the reason why a file can't be read how far it was.
func readTo(ctx context.Context, db *store.DB, p *store.Problem) error {
	if p.State != store.FileUnreadable || p.Reason == "" {
		return nil
	}
	cps, err := db.ThreadCheckpoints(ctx, p.ThreadID)
	if err != nil {
		return err
	}
	for _, cp := range cps {
		if cp.Path == p.Path {
			p.Reason += "; read up to byte " + number(cp.Cursor.Offset)
		}
	}
	return nil
}
