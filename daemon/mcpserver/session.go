package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// session finds the thread that the argument names. With an isolated server
// only threads of its workspace are found, whatever names them.
func (s *server) session(ctx context.Context, h *handle, c call) (string, error) {
	id, err := s.named(ctx, h, c)
	if err != nil {
		return "", err
	}
	err = h.pipe.Unread(ctx, id)
	if e, ok := errors.AsType[*pipeline.UnreadError](err); ok {
		return "", advise("Nothing of session %s could be read yet, so there is no saying what it holds: %s. Its user can give the permission, or see `session-migrator doctor`.", id, oneLine(pipeline.RedactText(e.Error())))
	}
	return id, err
}

func (s *server) named(ctx context.Context, h *handle, c call) (string, error) {
	arg, err := c.args.text("session")
	if err != nil {
		return "", err
	}
	if id, _, ok := splitSessionURI(arg); ok {
		arg = id
	}
	switch arg {
	case "":
		return "", c.args.missing("session")
	case "current":
		return s.currentSession(ctx, h, c.caller)
	case "latest":
		return s.latestSession(ctx, h, c.caller)
	}
	id, err := h.db.Resolve(ctx, arg, s.workspace, "")
	if e, ok := errors.AsType[*store.AmbiguousError](err); ok {
		return "", ambiguous(e)
	}
	if errors.Is(err, store.ErrNotFound) {
		return "", s.noSession(ctx, h, arg, c.caller)
	}
	return id, err
}

func (s *server) currentSession(ctx context.Context, h *handle, who caller) (string, error) {
	if who.thread == "" {
		if s.env("CLAUDE_CODE_SESSION_ID") != "" {
			return "", advise("The calling session is Claude Code's, not a Codex thread: it is not in the cache. Give a session id, or 'latest'.")
		}
		return "", advise("This client does not tell which thread is calling. Give a session id, or 'latest'.")
	}
	id, err := h.db.Resolve(ctx, who.thread, s.workspace, "")
	if errors.Is(err, store.ErrNotFound) {
		next := "Try again in a second"
		if !s.daemon(ctx).Running {
			next = "The daemon is not running: `session-migrator run`"
		}
		return "", s.notYet(ctx, h, fmt.Sprintf("The calling thread %s is not in the cache yet. %s, or give a session id or 'latest'.", echoed(who.thread, 40), next))
	}
	return id, err
}

// latestSession is the newest of the workspace that isn't the caller itself.
func (s *server) latestSession(ctx context.Context, h *handle, who caller) (string, error) {
	in := s.home(ctx, h, who)
	id, err := h.db.Resolve(ctx, "latest", in.key, who.thread)
	if !errors.Is(err, store.ErrNotFound) {
		return id, err
	}
	text := fmt.Sprintf("No session of workspace %q", in.shown)
	if s.workspace == "" {
		newest, err := s.newest(ctx, h, who)
		if err != nil {
			return "", err
		}
		if newest != "" {
			text += " is in the cache. The newest elsewhere is " + newest + "; give its id, or call list_sessions with workspace \"all\""
		} else {
			text += " or any other is in the cache"
		}
	} else {
		text += " is in the cache"
	}
	return "", s.notYet(ctx, h, text+".")
}

// home is the workspace that is meant when none is named.
type home struct {
	key   string
	shown string // as it may be shown
}

// home gives the only workspace there is, or that of the calling thread, or
// what the client says it is in, or the folder it started the server in.
func (s *server) home(ctx context.Context, h *handle, who caller) home {
	switch {
	case s.workspace != "":
		return homeAt(s.deps.Workspace)
	case who.thread != "":
		// A server may serve threads of several folders: the app has one for all.
		if t, err := h.db.Thread(ctx, who.thread); err == nil && t.Workspace != "" {
			return home{t.Workspace, pipeline.RedactText(t.Cwd)}
		}
	}
	if who.workspace != "" {
		return homeAt(who.workspace)
	}
	if dir := s.env("CLAUDE_PROJECT_DIR"); dir != "" {
		return homeAt(dir)
	}
	return homeAt(s.deps.Cwd)
}

func homeAt(folder string) home {
	return home{transcript.WorkspaceKey(folder), pipeline.RedactText(transcript.ShownPath(folder))}
}

// newest names the newest thread that may be seen; empty if there is none.
func (s *server) newest(ctx context.Context, h *handle, who caller) (string, error) {
	id, err := h.db.Resolve(ctx, "latest", s.workspace, who.thread)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	t, err := h.db.Thread(ctx, id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%q, %s)", t.ID, titleOf(t.Title), oneLine(pipeline.RedactText(t.Cwd))), nil
}

func (s *server) noSession(ctx context.Context, h *handle, arg string, who caller) error {
	newest, err := s.newest(ctx, h, who)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("No session matches %q", echoed(arg, 80))
	if len(arg) < 8 {
		text += " (give at least 8 characters of the id)"
	}
	if newest == "" {
		return s.notYet(ctx, h, text+": none is in the cache here.")
	}
	return s.notYet(ctx, h, text+". The newest here is "+newest+"; call list_sessions for more, or use 'latest'.")
}

func ambiguous(e *store.AmbiguousError) error {
	const most = 6
	var each []string
	for i, id := range e.IDs[:min(len(e.IDs), most)] {
		each = append(each, fmt.Sprintf("%s %q", id, titleOf(e.Titles[i])))
	}
	if len(e.IDs) > most {
		each = append(each, "…")
	}
	return advise("%q matches %d sessions: %s. Give more characters.", echoed(e.Arg, 80), len(e.IDs), strings.Join(each, ", "))
}

// titleOf is a title as it may be shown: redacted, one line, short.
func titleOf(s string) string { return echoed(s, 80) }

// target gives the model that is meant: the one named, or on Codex the
// caller's own. What no table knows is refused with what it may have been.
func (s *server) target(p *pipeline.Pipeline, c call, required bool) (string, error) {
	name, err := c.args.text("target_model")
	if err != nil {
		return "", err
	}
	if name != "" {
		_, err := lookUp(p, name)
		return name, err
	}
	if c.caller.model != "" {
		own := capacity.SurfaceCodex + "/" + c.caller.model
		if _, err := p.Table().Lookup(own); err == nil {
			return own, nil
		}
	}
	if required {
		return "", c.args.missing("target_model")
	}
	return "", nil
}

func lookUp(p *pipeline.Pipeline, name string) (capacity.Model, error) {
	m, err := p.Table().Lookup(name)
	if errors.Is(err, capacity.ErrUnknown) {
		shown := echoed(name, 80)
		bare := shown
		text := fmt.Sprintf("Unknown model %q.", shown)
		if errors.Is(err, capacity.ErrWindow) {
			bare, _, _ = strings.Cut(shown, "@")
			text = fmt.Sprintf("Unknown model %q: %s.", shown, echoed(m.Note, 160))
		}
		if near := p.Table().Closest(name, 3); len(near) > 0 {
			text += " Closest: " + strings.Join(near, ", ") + "."
		}
		return m, &advice{text + fmt.Sprintf(" list_known_models finds names. Or give the context window with the name: \"%s@400000\".", bare)}
	}
	return m, err
}

// freshness says how new an answer is.
type freshness struct {
	Fresh  bool   `json:"fresh"`
	Read   int64  `json:"read_bytes"` // of the rollout, that the answer rests on
	Behind int64  `json:"behind_bytes,omitempty"`
	AsOf   string `json:"as_of,omitempty"` // of the newest line known
	Age    string `json:"age,omitempty"`   // of that line: 40s, 3m, 5h, 12d
	Note   string `json:"note,omitempty"`  // what to do if it is behind
}

func (s *server) freshness(ctx context.Context, f pipeline.Freshness) freshness {
	out := freshness{Fresh: f.Behind == 0, Read: f.Read, Behind: f.Behind, AsOf: stamp(f.LastItem), Age: s.age(f.LastItem)}
	if f.Rederived && out.Fresh {
		out.Note = "The cache disagreed with itself about this session: this was read from its rollout. The daemon repairs the cache."
		return out
	}
	if out.Fresh {
		return out
	}
	out.Note = bytesText(f.Behind) + " behind: "
	if out.AsOf != "" {
		out.Note += "this is the state of " + out.AsOf + ", "
	}
	if s.daemon(ctx).Running {
		out.Note += "the daemon is still reading."
	} else {
		out.Note += "the daemon is not running. `session-migrator run`"
	}
	return out
}

// text is the word for a header.
func (f freshness) text() string {
	facts := bytesText(f.Read) + " read"
	if f.AsOf != "" {
		facts += ", newest line " + f.AsOf + ", " + f.Age + " old"
	}
	if !f.Fresh {
		return f.Note + " (" + facts + ")"
	}
	if f.Note != "" {
		facts += ". " + f.Note
	}
	return "fresh: " + facts
}

// age is how long ago t was, in the largest unit that fits; empty if t isn't
// known.
func (s *server) age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := max(0, s.now().Sub(t))
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

func (s *server) daemon(ctx context.Context) DaemonStatus {
	if s.deps.Status == nil {
		return DaemonStatus{}
	}
	st, err := s.deps.Status(ctx)
	if err != nil {
		s.log.Warn("ask for the daemon", "err", err)
	}
	return st
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func bytesText(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// grouped writes 7904 as 7,904.
func grouped[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ago reads an age as 7d, 24h or 2w, or a time.
func ago(s string, now time.Time) (time.Time, error) {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if n := len(s); n > 1 {
		if unit, ok := units[s[n-1]]; ok {
			if f, err := strconv.ParseFloat(s[:n-1], 64); err == nil && f >= 0 && f < 1e5 {
				return now.Add(-time.Duration(f * float64(unit))), nil
			}
		}
	}
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, advise("Can't read %q as a time: use an age such as 7d or 12h, or 2026-09-01T08:00:00Z.", echoed(s, 40))
}
