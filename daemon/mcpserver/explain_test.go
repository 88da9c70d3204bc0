package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/store"
)

// What goes wrong is told whole: what, where, and what to do next.
func TestErrorTexts(t *testing.T) {
	w := projects(t)
	c := legacy(t, w.deps())
	broken := func(err error) *client {
		return legacy(t, mcpserver.Deps{Version: "1.7", OpenStore: func(context.Context) (*store.DB, error) { return nil, fmt.Errorf("open cache /x: %w", err) }})
	}
	decision := func(session, model string) string {
		return fmt.Sprintf(`{"session":%q,"target_model":%q}`, session, model)
	}
	tests := []struct {
		name       string
		c          *client
		tool, args string
		want       string
	}{
		{"unknown session", c, "get_migration_decision", decision("nosuchthing", "gpt-5.5"),
			`No session matches "nosuchthing". The newest here is ` + otherID + ` ("Plan the takeover", /srv/secret-project); call list_sessions for more, or use 'latest'.`},
		{"prefix too short", c, "get_migration_decision", decision("019a", "gpt-5.5"),
			`No session matches "019a" (give at least 8 characters of the id). The newest here is ` + otherID + ` ("Plan the takeover", /srv/secret-project); call list_sessions for more, or use 'latest'.`},
		{"ambiguous prefix", c, "get_migration_decision", decision("019a0000", "gpt-5.5"),
			`"019a0000" matches 2 sessions: ` + projID + ` "Fix the flaky upload test please", ` + twinID + ` "Rename the package". Give more characters.`},
		{"current unknown", c, "get_migration_decision", decision("current", "gpt-5.5"),
			"This client does not tell which thread is calling. Give a session id, or 'latest'."},
		{"unknown model", c, "get_migration_decision", decision("latest", "gtp-5.5"),
			`Unknown model "gtp-5.5". Closest: gpt-5.5`},
		{"unknown model, window", c, "get_migration_decision", decision("latest", "gtp-5.5"),
			`list_known_models finds names. Or give the context window with the name: "gtp-5.5@400000".`},
		{"missing argument", c, "get_migration_decision", `{"target_model":"gpt-5.5"}`,
			`get_migration_decision: "session" is missing. Arguments: session, target_model, reserve_tokens (optional).`},
		{"unknown argument", c, "get_migration_decision", `{"sesion":"latest"}`,
			`get_migration_decision: unknown argument "sesion". Arguments: session, target_model, reserve_tokens (optional).`},
		{"no cache yet", broken(store.ErrNone), "list_sessions", `{}`,
			"No session cache yet: the daemon has never run for this user. Start it with `session-migrator run` (or bring the cache up to date once with `session-migrator run --once`). " +
				"model_context_window, list_known_models and migrate_session work without it."},
		{"schema newer", broken(&store.NewerError{Schema: 12, Known: 11}), "list_sessions", `{}`,
			"The cache was written by a newer session-migrator (schema 12); this server is 1.7 (reads up to 11). Reconnect this MCP server or restart the agent: the binary on disk is already newer."},
		{"busy", broken(store.ErrBusy), "list_sessions", `{}`, "The cache is busy (3 tries in 1 s). Try again."},
		{"damaged", broken(store.ErrDamaged), "list_sessions", `{}`,
			"The cache is damaged. `session-migrator rebuild` sets it aside and makes it anew from the rollouts; a running daemon does so by itself."},
		{"too large", c, "migrate_session", `{"messages_json":"` + strings.Repeat("x", 9_100_000) + `","target_model":"gpt-5.5"}`,
			"messages_json has 9.1 MB, the limit is 8 MB. For a session on this machine pass its id to get_session_context."},
	}
	for _, tt := range tests {
		r := tt.c.tool(tt.tool, tt.args)
		if got := r.text(); !r.IsError || got != tt.want && !strings.HasPrefix(tt.name, "unknown model") || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// Models call arguments by other names, and write numbers and objects as strings.
func TestArgumentsByOtherNames(t *testing.T) {
	c := legacy(t, projects(t).deps())
	for _, session := range []string{"session", "session_id", "thread_id", "id", "thread"} {
		for _, model := range []string{"target_model", "model", "target"} {
			var d struct {
				ID     string `json:"session_id"`
				Target string `json:"target_model"`
			}
			c.data("get_migration_decision", fmt.Sprintf(`{%q:%q,%q:"gpt-5.5","reserve_tokens":"2_000"}`, session, twinID, model), &d)
			if d.ID != twinID || d.Target != "gpt-5.5" {
				t.Errorf("%s, %s: %+v", session, model, d)
			}
		}
	}
	c.good("get_omitted_original", `{"uri":"migrator://omitted/t1","session":"migrator://session/`+projID+`/memory.md"}`)
	c.good("get_session_context", `"{\"session\":\"latest\",\"max_bytes\":\"4000\"}"`)
}

// What is not named is what the client is in.
func TestWorkspaceOfTheCaller(t *testing.T) {
	w := projects(t)
	d := w.deps()
	d.Cwd = "/nowhere"
	list := func(c *client, want ...string) {
		t.Helper()
		var got sessions
		if c.data("list_sessions", `{}`, &got); fmt.Sprint(got.ids()) != fmt.Sprint(want) {
			t.Errorf("listed %v, want %v", got.ids(), want)
		}
	}
	c := legacy(t, d)
	list(c)
	c.meta = map[string]any{"threadId": twinID}
	list(c, projID, twinID) // the folder of the thread that calls
	c.meta = map[string]any{"x-codex-turn-metadata": map[string]any{"workspaces": map[string]any{"/srv/secret-project": map[string]any{}}}}
	list(c, otherID)
	c.meta = map[string]any{"x-codex-turn-metadata": map[string]any{"workspaces": map[string]any{"/a": map[string]any{}, "/b": map[string]any{}}}}
	list(c)
	d.Env = func(k string) string { return map[string]string{"CLAUDE_PROJECT_DIR": "/srv/secret-project"}[k] }
	list(legacy(t, d), otherID)
	d.Workspace = "/home/dana/proj"
	c = legacy(t, d)
	c.meta = map[string]any{"threadId": otherID}
	list(c, projID, twinID) // but never beyond the only one
}
