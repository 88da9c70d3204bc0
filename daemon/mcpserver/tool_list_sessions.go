package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func listSessions() *tool {
	return &tool{
		name: "list_sessions", title: "List Codex sessions",
		description: "List Codex sessions (threads, conversations) of a project folder or of all, newest first: the history of what was worked on, with id, title, workspace, age, tokens, turns, state; with target_model also whether that model can take each over.",
		search:      "list show recent codex sessions threads conversations chats, history of a project folder, what was worked on yesterday",
		params: []param{{name: "workspace", other: []string{"cwd", "project"}}, {name: "since"}, targetParam,
			limitParam, cursorParam},
		input: `{"type":"object","properties":{` +
			`"workspace":{"type":"string","description":"Folder, or all; default: where this server runs"},` +
			`"since":{"type":"string","description":"Age such as 7d, or RFC 3339"},` +
			`"target_model":{"type":"string"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":100,"default":20},` +
			`"cursor":{"type":"string"}},"additionalProperties":false}`,
		output: `{"type":"object","properties":{` +
			`"sessions":{"type":"array","items":{"type":"object","properties":{"session_id":{"type":"string"},"title":{"type":"string"},"workspace":{"type":"string"},` +
			`"updated":{"type":"string"},"age":{"type":"string"},"behind_bytes":{"type":"integer"},"tokens":{"type":"integer"},"turns":{"type":"integer"},"model":{"type":"string"},` +
			`"state":{"type":"string","enum":["live","idle","archived"]},"decision":{"type":"string"}},"required":["session_id","title","workspace","updated","tokens","turns","model","state"]}},` +
			`"total":{"type":"integer"},"next_cursor":{"type":"string"},"note":{"type":"string"}},"required":["sessions","total"]}`,
		run: runListSessions,
	}
}

type sessionRow struct {
	SessionID string `json:"session_id"`
	Title     string `json:"title"`
	Workspace string `json:"workspace"`
	Updated   string `json:"updated"`
	Age       string `json:"age,omitempty"`
	Behind    int64  `json:"behind_bytes,omitempty"` // of the rollout, not in the row
	Tokens    int64  `json:"tokens"`                 // o200k_base
	Turns     int    `json:"turns"`
	Model     string `json:"model"`
	State     string `json:"state"`
	Decision  string `json:"decision,omitempty"`
}

type sessionList struct {
	Sessions []sessionRow `json:"sessions"`
	Total    int          `json:"total"`
	Next     string       `json:"next_cursor,omitempty"`
	Note     string       `json:"note,omitempty"`
}

// listCursor is where the next page of sessions starts. Times may be shared by
// several sessions, so it also counts those of its instant that were given.
type listCursor struct {
	Tool      string `json:"t"`
	Before    int64  `json:"b"` // ns
	Given     int    `json:"n"`
	Workspace string `json:"w,omitempty"`
	Since     int64  `json:"s,omitempty"`
	Target    string `json:"m,omitempty"`
}

// liveFor is how long a session with an open turn counts as live after its last
// line.
const liveFor = 10 * time.Minute

func runListSessions(ctx context.Context, s *server, c call) (result, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	cur, err := s.listCursor(ctx, h, c)
	if err != nil {
		return result{}, err
	}
	limit, err := c.args.within("limit", 20, 1, 100)
	if err != nil {
		return result{}, err
	}
	if cur.Target != "" {
		if _, err := lookUp(h.pipe, cur.Target); err != nil {
			return result{}, err
		}
	}
	f := store.Filter{Workspace: cur.Workspace, Archived: true, Limit: limit + cur.Given + 1}
	if cur.Since != 0 {
		f.Since = time.Unix(0, cur.Since)
	}
	if cur.Before != 0 {
		f.Before = cur.Before + 1
	}
	threads, total, err := h.db.Threads(ctx, f)
	if err != nil {
		return result{}, err
	}
	threads = threads[s.given(threads, cur):]
	out := sessionList{Sessions: []sessionRow{}, Total: total}
	if len(threads) > limit {
		threads = threads[:limit]
		next := cur
		next.Tool, next.Before = c.tool.name, threads[limit-1].Updated.UnixNano()
		next.Given = sameInstant(threads, next.Before)
		if next.Before == cur.Before {
			next.Given += cur.Given
		}
		out.Next = encodeCursor(next)
	}
	behind := false
	for i := range threads {
		row, err := s.sessionRow(ctx, h, &threads[i], cur.Target)
		if err != nil {
			return result{}, err
		}
		out.Sessions = append(out.Sessions, row)
		behind = behind || row.Behind > 0
	}
	if behind && !s.daemon(ctx).Running {
		out.Note = "Rows with behind_bytes are older than their session: the daemon is not running. `session-migrator run`. Other tools read what is missing."
	}
	if total == 0 {
		out.Note, err = s.elsewhere(ctx, h, cur.Workspace)
		if err != nil {
			return result{}, err
		}
	}
	if r := s.rebuilding(ctx, h); r != "" {
		out.Note = strings.TrimSpace(out.Note + " Not all sessions are here yet: " + r + ".")
	}
	return dataResult(out)
}

// given is how many of the first threads the pages before already had.
func (s *server) given(threads []transcript.Thread, cur listCursor) int {
	n := 0
	for n < cur.Given && n < len(threads) && threads[n].Updated.UnixNano() == cur.Before {
		n++
	}
	return n
}

func sameInstant(threads []transcript.Thread, ns int64) (n int) {
	for i := range threads {
		if threads[i].Updated.UnixNano() == ns {
			n++
		}
	}
	return n
}

// listCursor reads what to list: from the cursor if there is one.
func (s *server) listCursor(ctx context.Context, h *handle, c call) (listCursor, error) {
	cur := listCursor{}
	text, err := c.args.text("cursor")
	if err != nil {
		return cur, err
	}
	if text != "" {
		if err := decodeCursor(text, &cur); err != nil {
			return cur, err
		}
		if cur.Tool != c.tool.name || cur.Given < 0 || cur.Given > 10_000 {
			return cur, errCursor
		}
		if s.workspace != "" {
			cur.Workspace = s.workspace
		}
		return cur, nil
	}
	if cur.Workspace, err = s.workspaceArg(ctx, h, c); err != nil {
		return cur, err
	}
	if cur.Since, err = s.sinceArg(c); err != nil {
		return cur, err
	}
	cur.Target, err = c.args.text("target_model")
	return cur, err
}

// workspaceArg gives the key of the workspace asked for; empty: all.
func (s *server) workspaceArg(ctx context.Context, h *handle, c call) (string, error) {
	w, err := c.args.text("workspace")
	if err != nil {
		return "", err
	}
	if s.workspace != "" {
		if w != "" && w != "all" && transcript.WorkspaceKey(w) != s.workspace {
			return "", advise("This server answers from workspace %q only.", homeAt(s.deps.Workspace).shown)
		}
		return s.workspace, nil
	}
	switch w {
	case "":
		return s.home(ctx, h, c.caller).key, nil
	case "all":
		return "", nil
	}
	return transcript.WorkspaceKey(w), nil
}

func (s *server) sessionRow(ctx context.Context, h *handle, t *transcript.Thread, target string) (sessionRow, error) {
	row := sessionRow{SessionID: t.ID, Title: titleOf(t.Title), Workspace: pipeline.RedactText(t.Cwd), Updated: stamp(t.Updated), Age: s.age(t.Updated),
		Tokens: t.Tokens["o200k_base"], Turns: t.Turns, Model: pipeline.RedactText(t.Model), State: "idle"}
	switch {
	case t.Archived:
		row.State = "archived"
	case (t.State == transcript.StateRunning || t.State == transcript.StateUnanswered) && s.now().Sub(t.Updated) < liveFor:
		row.State = "live"
	}
	fresh, err := h.pipe.Freshness(ctx, t)
	if err != nil {
		return row, err
	}
	row.Behind = fresh.Behind
	if target == "" {
		return row, nil
	}
	if err := h.pipe.Recall(ctx, t); err != nil {
		return row, err
	}
	d, err := s.stored(ctx, h, t, target)
	row.Decision = d.Verdict.String()
	return row, err
}

// elsewhere says that a workspace has no sessions but others do.
func (s *server) elsewhere(ctx context.Context, h *handle, workspace string) (string, error) {
	if workspace == "" || s.workspace != "" {
		return "No sessions match.", nil
	}
	_, total, err := h.db.Threads(ctx, store.Filter{Archived: true, Limit: 1})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("No sessions match in workspace %q. All workspaces together have %d: workspace \"all\" lists them.", pipeline.RedactText(workspace), total), nil
}
