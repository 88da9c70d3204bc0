package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

func migratorStatus() *tool {
	return &tool{
		name: "migrator_status", title: "Session migrator status",
		description: "Tell the migrator's status: whether the daemon is running and up to date, how many sessions the cache has, what is not read yet or not readable.",
		search:      "is the session migrator daemon running, up to date, health, lag",
		input:       `{"type":"object","properties":{},"additionalProperties":false}`,
		output: `{"type":"object","properties":{"daemon":{"type":"string","enum":["running","stopped"]},"pid":{"type":"integer"},"daemon_version":{"type":"string"},"since":{"type":"string"},` +
			`"version":{"type":"string"},"workspace":{"type":"string"},"cache":{"type":"string"},"schema":{"type":"integer"},"sessions":{"type":"integer"},"files":{"type":"integer"},` +
			`"backlog_bytes":{"type":"integer"},"last_event":{"type":"string"},"lag_ms":{"type":"integer"},"problems_total":{"type":"integer"},` +
			`"problems":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"session_id":{"type":"string"},"reason":{"type":"string"}}}},` +
			`"note":{"type":"string"}},"required":["daemon","version","cache"]}`,
		run: runMigratorStatus,
	}
}

type problemRow struct {
	Path      string `json:"path"`
	SessionID string `json:"session_id,omitempty"`
	Reason    string `json:"reason"`
}

type statusAnswer struct {
	Daemon        string       `json:"daemon"`
	PID           int          `json:"pid,omitempty"`
	DaemonVersion string       `json:"daemon_version,omitempty"`
	Since         string       `json:"since,omitempty"`
	Version       string       `json:"version"`
	Workspace     string       `json:"workspace,omitempty"` // the only one answered from
	Cache         string       `json:"cache"`               // ready, or what is wrong with it
	Schema        int          `json:"schema,omitempty"`
	Sessions      *int         `json:"sessions,omitempty"`
	Files         *int         `json:"files,omitempty"`
	Backlog       *int64       `json:"backlog_bytes,omitempty"`
	LastEvent     string       `json:"last_event,omitempty"`
	Lag           *int64       `json:"lag_ms,omitempty"` // of the newest session, 0 if all of it is read
	ProblemsTotal *int         `json:"problems_total,omitempty"`
	Problems      []problemRow `json:"problems,omitempty"`
	Note          string       `json:"note,omitempty"`
}

// maxProblems bounds how many files are named; the total is always told.
const maxProblems = 20

func runMigratorStatus(ctx context.Context, s *server, _ call) (result, error) {
	d := s.daemon(ctx)
	out := statusAnswer{Daemon: "stopped", Version: s.deps.Version, Cache: "ready"}
	if d.Running {
		out.Daemon, out.PID, out.DaemonVersion, out.Since = "running", d.PID, d.Version, stamp(d.Since)
		if d.Version != "" && d.Version != s.deps.Version {
			out.Note = fmt.Sprintf("The daemon is of version %s, this server of %s. If the daemon is the older one: `session-migrator service restart`; if this server is: restart it or the agent.", d.Version, s.deps.Version)
		}
	} else {
		out.Note = "The daemon is not running: `session-migrator run`. Answers stay right as long as little was added since it ran."
	}
	if s.workspace != "" {
		out.Workspace = homeAt(s.deps.Workspace).shown
	}
	h, release, err := s.cache.use(ctx)
	if errors.Is(err, store.ErrBusy) {
		return result{}, err // worth another try
	}
	if err != nil {
		out.Cache, _ = s.explain(ctx, err)
		return dataResult(out)
	}
	defer release()
	if err := s.fillStatus(ctx, h, &out); err != nil {
		return result{}, err
	}
	return dataResult(out)
}

func (s *server) fillStatus(ctx context.Context, h *handle, out *statusAnswer) error {
	out.Schema = h.schema
	if r := s.rebuilding(ctx, h); r != "" {
		out.Cache = "rebuilding: " + r
	}
	threads, total, err := h.db.Threads(ctx, store.Filter{Workspace: s.workspace, Archived: true, Subagents: true, Limit: 1})
	if err != nil {
		return err
	}
	out.Sessions = &total
	if len(threads) > 0 {
		out.LastEvent = stamp(threads[0].Updated)
		f, err := h.pipe.Freshness(ctx, &threads[0])
		if err != nil {
			return err
		}
		lag := int64(0)
		if f.Behind > 0 {
			lag = max(1, s.now().Sub(threads[0].Updated).Milliseconds())
		}
		out.Lag = &lag
	}
	problems, err := h.db.Problems(ctx)
	if err != nil {
		return err
	}
	if s.workspace != "" {
		return s.ownProblems(ctx, h, problems, out)
	}
	totals, err := h.db.Totals(ctx)
	if err != nil {
		return err
	}
	files, backlog := 0, int64(0)
	for _, t := range totals {
		files += t.Files
		backlog += t.Behind
	}
	out.Files, out.Backlog = &files, &backlog
	out.report(problems)
	return nil
}

// ownProblems keeps what happened to files of the only workspace there is.
func (s *server) ownProblems(ctx context.Context, h *handle, all []store.Problem, out *statusAnswer) error {
	var own []store.Problem
	for _, p := range all {
		_, err := h.db.Resolve(ctx, p.ThreadID, s.workspace, "")
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		own = append(own, p)
	}
	out.report(own)
	return nil
}

func (out *statusAnswer) report(problems []store.Problem) {
	total := len(problems)
	out.ProblemsTotal = &total
	for _, p := range problems[:min(total, maxProblems)] {
		reason := p.Reason
		if reason == "" && p.TornBytes > 0 {
			reason = fmt.Sprintf("last line torn at byte %d", p.TornOffset)
		}
		if reason == "" {
			unknown := 0
			for _, u := range p.Unknown {
				unknown += u.Count
			}
			reason = fmt.Sprintf("%d damaged lines, %d lines of unknown kinds", len(p.Damage), unknown)
		}
		out.Problems = append(out.Problems, problemRow{Path: pipeline.RedactText(p.Path), SessionID: p.ThreadID, Reason: titleOf(reason)})
	}
}
