package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

const (
	projID  = "019a0000-0000-7000-8000-00000000a001"
	otherID = "019b0000-0000-7000-8000-00000000b002"
	twinID  = "019a0000-1111-7000-8000-00000000c003"
	secret  = "sk-proj-Ab3dEfGh1jKlMn0pQrStUvWxYz0123456789AbCdEfGh1jKl"
)

func at(day int) time.Time { return time.Date(2026, 9, day, 9, 0, 0, 0, time.UTC) }

// projects are two sessions of one workspace and one of another.
func projects(t *testing.T) *world {
	t.Helper()
	return newWorld(t,
		rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).
			User("Fix the flaky upload test\nplease").
			Call("exec_command", `{"cmd":"go test ./upload"}`, "FAIL: TestUpload\n```\nexport OPENAI_API_KEY="+secret+"\n").
			Assistant("The test waits too short.").End(),
		rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: twinID, Start: at(2)}).
			User("Rename the package").Assistant("Renamed.").End(),
		rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: otherID, Start: at(4), Cwd: "/srv/secret-project"}).
			User("Plan the takeover").Assistant("Planned in the dark.").End(),
	)
}

// tool results that carry data carry it twice, alike.
func TestDataIsTheSameInBothForms(t *testing.T) {
	c := legacy(t, projects(t).deps())
	calls := map[string]string{
		"list_sessions":          `{"workspace":"all","target_model":"gpt-5.5"}`,
		"get_migration_decision": `{"session":"` + projID + `","target_model":"all"}`,
		"model_context_window":   `{"model":"codex/gpt-5.5"}`,
		"list_known_models":      `{"query":"claude","limit":5}`,
		"migrator_status":        `{}`,
	}
	for name, args := range calls {
		r := c.good(name, args)
		var text, data map[string]any
		if err := errors.Join(json.Unmarshal([]byte(r.text()), &text), json.Unmarshal(r.Structured, &data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(data) == 0 || !reflect.DeepEqual(text, data) {
			t.Errorf("%s: text %s\ndata %s", name, r.text(), r.Structured)
		}
	}
	for name, args := range map[string]string{
		"get_session_context":  `{"session":"` + projID + `"}`,
		"get_omitted_original": `{"ref":"t1","session":"` + projID + `"}`,
		"migrate_session":      `{"messages_json":"[{\"role\":\"user\",\"content\":\"hi\"}]","target_model":"gpt-5.5"}`,
	} {
		if r := c.good(name, args); r.Structured != nil {
			t.Errorf("%s: text tools have no data, some clients would show it alone: %s", name, r.Structured)
		}
	}
}

type sessions struct {
	Sessions []struct {
		SessionID, Title, Workspace, State, Decision string
		ID                                           string `json:"session_id"`
		Tokens, Turns                                int
	}
	Total int
	Next  string `json:"next_cursor"`
	Note  string
}

func (s sessions) ids() (ids []string) {
	for _, r := range s.Sessions {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestListSessions(t *testing.T) {
	w := projects(t)
	c := legacy(t, w.deps())
	tests := []struct {
		name, args string
		want       []string
	}{
		{"this folder", `{}`, []string{projID, twinID}},
		{"all", `{"workspace":"all"}`, []string{otherID, projID, twinID}},
		{"by another name", `{"cwd":"/srv/secret-project/"}`, []string{otherID}},
		{"since a time", `{"workspace":"all","since":"2026-09-03T00:00:00Z"}`, []string{otherID, projID}},
		{"limit as a string", `{"workspace":"all","limit":"1"}`, []string{otherID}},
		{"arguments as a string", `"{\"workspace\":\"all\",\"limit\":1}"`, []string{otherID}},
		{"nothing there", `{"workspace":"/nowhere"}`, nil},
	}
	for _, tt := range tests {
		var got sessions
		c.data("list_sessions", tt.args, &got)
		if !slices.Equal(got.ids(), tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got.ids(), tt.want)
		}
	}
	var got sessions
	c.data("list_sessions", `{"workspace":"/nowhere"}`, &got)
	if !strings.Contains(got.Note, "have 3") {
		t.Errorf("no word of sessions elsewhere: %q", got.Note)
	}
	c.data("list_sessions", `{"target_model":"codex/gpt-5.5","limit":1}`, &got)
	if r := got.Sessions[0]; r.Title != "Fix the flaky upload test please" || r.Decision != "direct" || r.State != "idle" || r.Turns != 1 || r.Tokens == 0 || got.Total != 2 {
		t.Errorf("row %+v of %d", r, got.Total)
	}
	c.refused("list_sessions", `{"since":"yesterday"}`, "7d")
	c.refused("list_sessions", `{"limit":"many"}`, "limit", "whole number")
	c.refused("list_sessions", `{"cursor":"xyz"}`, "Start again without cursor")
}

func TestListingPagesNameEachSessionOnce(t *testing.T) {
	var rollouts []*rollouttest.Rollout
	for i := range 11 {
		id := fmt.Sprintf("019a0000-0000-7000-8000-0000000%05d", i)
		// Five share an instant, across the borders of pages.
		rollouts = append(rollouts, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id, Start: at(1 + max(0, i-5))}).User("x").Assistant("y"))
	}
	c := legacy(t, newWorld(t, rollouts...).deps())
	seen := map[string]int{}
	cursor, pages := "", 0
	for {
		var got sessions
		c.data("list_sessions", `{"limit":2,"cursor":"`+cursor+`"}`, &got)
		for _, id := range got.ids() {
			seen[id]++
		}
		if got.Total != 11 {
			t.Errorf("total %d", got.Total)
		}
		pages++
		if cursor = got.Next; cursor == "" || pages > 20 {
			break
		}
	}
	if len(seen) != 11 || pages != 6 {
		t.Errorf("%d sessions on %d pages", len(seen), pages)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

func TestDecision(t *testing.T) {
	c := legacy(t, projects(t).deps())
	var d struct {
		ID      string `json:"session_id"`
		Target  string `json:"target_model"`
		Verdict string `json:"decision"`
		Tokens  int    `json:"session_tokens"`
		Window  int    `json:"context_window"`
		Kept    int    `json:"kept_messages"`
		Reserve int    `json:"reserve_tokens"`
		Count   string `json:"token_count"`
		Fresh   bool
		All     []map[string]any `json:"decisions"`
	}
	c.data("get_migration_decision", `{"session":"`+projID+`","target_model":"gpt-5.5"}`, &d)
	if d.ID != projID || d.Target != "gpt-5.5" || d.Verdict != "direct" || d.Tokens == 0 || d.Window == 0 || d.Kept != 4 || d.Count != "exact" || !d.Fresh {
		t.Errorf("decision %+v", d)
	}
	c.data("get_migration_decision", `{"thread_id":"0000A001","model":"gpt-9@20000","reserve":"1,000"}`, &d)
	if d.ID != projID || d.Window != 20000 || d.Reserve != 1000 {
		t.Errorf("other names, last eight characters, a window of its own: %+v", d)
	}
	c.data("get_migration_decision", `{"session":"`+projID+`","target_model":"all"}`, &d)
	if len(d.All) < 10 {
		t.Errorf("table of %d decisions", len(d.All))
	}
}

// TestDecisionHasBounds: of a model without a public vocabulary it says that it
// is an estimate and how far off it can be; of one with, the count.
func TestDecisionHasBounds(t *testing.T) {
	c := legacy(t, projects(t).deps())
	type figures struct {
		Tokens  int    `json:"session_tokens"`
		Count   string `json:"token_count"`
		Need    int    `json:"target_tokens"`
		Low     int    `json:"target_tokens_low"`
		High    int    `json:"target_tokens_high"`
		Framing int    `json:"message_overhead"`
	}
	var exact, guess figures
	c.data("get_migration_decision", `{"session":"`+projID+`","target_model":"gpt-5.5"}`, &exact)
	if exact.Count != "exact" || exact.Need != exact.Tokens+exact.Framing || exact.Low != exact.Tokens || exact.High != exact.Tokens || exact.Framing == 0 {
		t.Errorf("exact: %+v", exact)
	}
	c.data("get_migration_decision", `{"session":"`+projID+`","target_model":"claude-opus-4-8"}`, &guess)
	if guess.Count != "estimate" || guess.Tokens != exact.Tokens || guess.Low <= guess.Tokens || guess.High <= guess.Low || guess.Need != guess.High+guess.Framing || guess.Framing == 0 {
		t.Errorf("estimated: %+v", guess)
	}
}

// A decision must count what the daemon hasn't committed yet.
func TestDecisionReadsWhatIsNotCommittedYet(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID}).User("one").Assistant("two").End()
	w := newWorld(t, r)
	c := legacy(t, w.deps())
	type figures struct {
		Tokens int `json:"session_tokens"`
		Kept   int `json:"kept_messages"`
		Fresh  bool
	}
	var before, after figures
	c.data("get_migration_decision", `{"session":"latest","target_model":"gpt-5.5"}`, &before)
	w.write(r.User("three " + strings.Repeat("many words ", 500)).Assistant("four").End())
	c.data("get_migration_decision", `{"session":"latest","target_model":"gpt-5.5"}`, &after)
	if after.Tokens < before.Tokens+500 || after.Kept != before.Kept+2 || !after.Fresh {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestSessionArgument(t *testing.T) {
	w := projects(t)
	path := filepath.Join(w.home, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).Path())
	c := legacy(t, w.deps())
	ask := func(session string) string {
		return `{"target_model":"gpt-5.5","session":"` + session + `"}`
	}
	for name, session := range map[string]string{"full id": projID, "upper case": strings.ToUpper(projID), "prefix": "019a0000-0000", "last eight": "0000a001", "latest": "latest", "path": path} {
		var d struct {
			ID string `json:"session_id"`
		}
		if c.data("get_migration_decision", ask(session), &d); d.ID != projID {
			t.Errorf("%s: %s", name, d.ID)
		}
	}
	c.refused("get_migration_decision", ask("019a0000"), "matches 2 sessions", projID, "Rename the package", "Give more characters")
	c.refused("get_migration_decision", ask("nosuchthing"), `No session matches "nosuchthing"`, otherID, "list_sessions")
	c.refused("get_migration_decision", ask("019a"), "at least 8 characters")
	c.refused("get_migration_decision", ask("current"), "does not tell which thread is calling")
	c.refused("get_migration_decision", `{"target_model":"gpt-5.5"}`, `get_migration_decision: "session" is missing`, "reserve_tokens (optional)")
	c.refused("get_migration_decision", `{"session":"latest"}`, `"target_model" is missing`)
	c.refused("get_migration_decision", `{"session":"latest","target_model":"gtp-5.5"}`, `Unknown model "gtp-5.5"`, "Closest: gpt-5.5", "gtp-5.5@400000")
	c.refused("get_migration_decision", `{"session":"latest","target_model":"gpt-5.5","zzz":1}`, `unknown argument "zzz"`)
	c.refused("get_migration_decision", `{"session":["latest"],"target_model":"gpt-5.5"}`, "must be a string")

	d := w.deps()
	d.Cwd = "/nowhere"
	legacy(t, d).refused("get_migration_decision", ask("latest"), `No session of workspace "/nowhere"`, otherID)
	d.Env = func(k string) string { return map[string]string{"CLAUDE_CODE_SESSION_ID": "abc"}[k] }
	legacy(t, d).refused("get_migration_decision", ask("current"), "Claude Code's, not a Codex thread")
}

// Codex says with every call which thread it comes from, and on which model.
func TestCallerIsKnownOnCodex(t *testing.T) {
	w := projects(t)
	for name, meta := range map[string]map[string]any{
		"object": {"x-codex-turn-metadata": map[string]any{"thread_id": projID, "model": "gpt-5.5"}},
		"text":   {"x-codex-turn-metadata": `{"thread_id":"` + projID + `","model":"gpt-5.5"}`},
		"both":   {"threadId": projID, "x-codex-turn-metadata": map[string]any{"model": "gpt-5.5"}},
	} {
		c := legacy(t, w.deps())
		c.meta = meta
		var d struct {
			ID     string `json:"session_id"`
			Target string `json:"target_model"`
		}
		c.data("get_migration_decision", `{"session":"current"}`, &d)
		if d.ID != projID || d.Target != "codex/gpt-5.5" {
			t.Errorf("%s: current on the caller's model: %+v", name, d)
		}
		c.data("get_migration_decision", `{"session":"latest"}`, &d)
		if d.ID != twinID {
			t.Errorf("%s: latest is %s, want the newest that isn't the caller", name, d.ID)
		}
	}
	c := legacy(t, w.deps())
	c.meta = map[string]any{"threadId": "019f0000-0000-7000-8000-000000000000"}
	c.refused("get_migration_decision", `{"session":"current","target_model":"gpt-5.5"}`, "not in the cache yet")
}

func TestModels(t *testing.T) {
	c := modern(t, mcpserver.Deps{}) // without a cache
	var m struct {
		Model, Surface, Source string
		Window                 int `json:"context_window"`
	}
	c.data("model_context_window", `{"target_model":"codex/gpt-5.5"}`, &m)
	if m.Model != "gpt-5.5" || m.Surface != "codex" || m.Window == 0 || m.Source != "table" {
		t.Errorf("model %+v", m)
	}
	c.refused("model_context_window", `{"model":"gpt-nosuch"}`, `Unknown model "gpt-nosuch"`, "list_known_models")
	c.refused("model_context_window", `{}`, `"model" is missing`)
	type page struct {
		Models []struct {
			Model, Surface, Provider string
			Window                   int `json:"context_window"`
		}
		Next string `json:"next_cursor"`
	}
	var whole page
	c.data("list_known_models", `{"query":"claude","min_window":"200000","limit":200}`, &whole)
	var walked page
	for cursor, n := "", 0; n < 100; n++ {
		var p page
		c.data("list_known_models", `{"query":"claude","min_window":200000,"limit":7,"cursor":"`+cursor+`"}`, &p)
		walked.Models = append(walked.Models, p.Models...)
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if len(whole.Models) < 5 || len(walked.Models) < len(whole.Models) || !reflect.DeepEqual(walked.Models[:len(whole.Models)], whole.Models) {
		t.Errorf("%d models in one page, %d in pages of seven", len(whole.Models), len(walked.Models))
	}
	for _, m := range whole.Models {
		if m.Window < 200_000 {
			t.Errorf("%+v is too small", m)
		}
	}
}

func TestWithoutCache(t *testing.T) {
	none := func(err error) mcpserver.Deps {
		return mcpserver.Deps{Version: "1.7", OpenStore: func(context.Context) (*store.DB, error) { return nil, fmt.Errorf("open cache /x: %w", err) }}
	}
	tests := []struct {
		err   error
		words []string
	}{
		{store.ErrNone, []string{"No session cache yet", "session-migrator run", "migrate_session work without it"}},
		{store.ErrBusy, []string{"busy", "Try again"}},
		{store.ErrDamaged, []string{"damaged", "session-migrator rebuild"}},
		{store.ErrForeign, []string{"not a session-migrator cache"}},
		{&store.NewerError{Schema: 12, Known: 11}, []string{"schema 12", "1.7 (reads up to 11)", "restart the agent"}},
		{errors.New("odd\nthing"), []string{"fault of session-migrator", "odd thing"}},
	}
	for _, tt := range tests {
		c := legacy(t, none(tt.err))
		for _, tool := range []string{"list_sessions", "get_migration_decision", "get_session_context", "get_omitted_original"} {
			c.refused(tool, argsFor(tool), tt.words...)
		}
		c.good("model_context_window", `{"model":"gpt-5.5"}`)
		c.good("migrate_session", `{"messages":[{"role":"user","content":"hi"}],"target_model":"gpt-5.5"}`)
		if errors.Is(tt.err, store.ErrBusy) {
			continue // status tries again like the others
		}
		if r := c.good("migrator_status", `{}`); !strings.Contains(r.text(), tt.words[0]) {
			t.Errorf("status of %v: %s", tt.err, r.text())
		}
	}
}

func argsFor(tool string) string {
	switch tool {
	case "list_sessions":
		return `{}`
	case "get_omitted_original":
		return `{"ref":"t1","session":"latest"}`
	}
	return `{"session":"latest","target_model":"gpt-5.5"}`
}

func TestCacheThatIsReplacedIsOpenedAnew(t *testing.T) {
	w := projects(t)
	c := legacy(t, w.deps())
	var got sessions
	c.data("list_sessions", `{"workspace":"all"}`, &got)
	if got.Total != 3 {
		t.Fatalf("total %d", got.Total)
	}
	other := newWorld(t, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: twinID}).User("alone").Assistant("yes"))
	for _, end := range []string{"-wal", "-shm"} {
		_ = os.Remove(w.db + end) // there or not
	}
	if err := os.Rename(other.db, w.db); err != nil {
		t.Fatal(err)
	}
	c.data("list_sessions", `{"workspace":"all"}`, &got)
	if got.Total != 1 {
		t.Errorf("total %d after the file was replaced, want 1", got.Total)
	}
}

func TestStatus(t *testing.T) {
	d := projects(t).deps()
	d.Status = func(context.Context) (mcpserver.DaemonStatus, error) {
		return mcpserver.DaemonStatus{Running: true, PID: 4711, Version: "1.2.4", Since: at(5)}, nil
	}
	var s struct {
		Daemon, Version, Cache string
		DaemonVersion          string `json:"daemon_version"`
		PID, Sessions, Files   int
		Backlog                *int64 `json:"backlog_bytes"`
		LastEvent              string `json:"last_event"`
		Problems               *int   `json:"problems_total"`
	}
	legacy(t, d).data("migrator_status", `{}`, &s)
	if s.Daemon != "running" || s.PID != 4711 || s.DaemonVersion != "1.2.4" || s.Version != "1.2.3" || s.Cache != "ready" || s.Sessions != 3 || s.Files != 3 ||
		s.Backlog == nil || *s.Backlog != 0 || !strings.HasPrefix(s.LastEvent, "2026-09-04") || s.Problems == nil || *s.Problems != 0 {
		t.Errorf("status %+v", s)
	}
}

// Nothing of another workspace may be reached by any name.
func TestIsolation(t *testing.T) {
	w := projects(t)
	path := filepath.Join(w.home, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: otherID, Start: at(4)}).Path())
	open := legacy(t, w.deps())
	page := open.good("get_session_context", `{"session":"`+otherID+`","format":"messages","max_bytes":2000}`).text()
	if !strings.Contains(page, "Planned in the dark") {
		t.Fatalf("the secret isn't there to begin with: %s", page)
	}
	d := w.deps()
	d.Workspace, d.Cwd = "/home/dana/proj/", "/srv/secret-project"
	c := legacy(t, d)
	c.meta = map[string]any{"threadId": otherID}
	var got sessions
	c.data("list_sessions", `{"workspace":"all"}`, &got)
	if !slices.Equal(got.ids(), []string{projID, twinID}) {
		t.Errorf("listed %v", got.ids())
	}
	c.refused("list_sessions", `{"workspace":"/srv/secret-project"}`, "only")
	for _, session := range []string{otherID, "0000b002", otherID[:12], path, "current"} {
		for tool, args := range map[string]string{
			"get_migration_decision": `{"target_model":"gpt-5.5","session":"` + session + `"}`,
			"get_session_context":    `{"session":"` + session + `"}`,
			"get_omitted_original":   `{"ref":"t1","session":"` + session + `"}`,
		} {
			r := c.tool(tool, args)
			if !r.IsError || strings.Contains(r.text(), "takeover") || strings.Contains(r.text(), "secret-project") {
				t.Errorf("%s %s: %s", tool, args, r.text())
			}
		}
	}
	for n := range 9 {
		ref := fmt.Sprintf("om_0000b002.%d", n+1)
		c.refused("get_omitted_original", `{"ref":"`+ref+`"}`, "Nothing in the cache answers")
	}
	open.good("get_omitted_original", `{"ref":"om_0000b002.1"}`)
	if text := c.good("migrator_status", `{}`).text(); strings.Contains(text, "secret-project") || !strings.Contains(text, `"sessions":2`) {
		t.Errorf("status %s", text)
	}
	if text := c.good("get_session_context", `{"session":"latest"}`).text(); !strings.Contains(text, projID) {
		t.Errorf("latest: %s", text)
	}
}

// A cursor says what to list, but not past the server's own bounds.
func TestIsolationHoldsAgainstCursors(t *testing.T) {
	w := projects(t)
	var first, next sessions
	open := legacy(t, w.deps())
	open.data("list_sessions", `{"workspace":"all","limit":2}`, &first)
	open.data("list_sessions", `{"cursor":"`+first.Next+`"}`, &next)
	if first.Next == "" || next.Total != 3 {
		t.Fatalf("cursor %q lists %d sessions", first.Next, next.Total)
	}
	d := w.deps()
	d.Workspace = "/srv/secret-project"
	next = sessions{}
	legacy(t, d).data("list_sessions", `{"cursor":"`+first.Next+`"}`, &next)
	if len(next.Sessions) != 0 || next.Total != 1 {
		t.Errorf("a cursor of another server lists %v of %d", next.ids(), next.Total)
	}
}

// Files of another workspace aren't even named by what is wrong with them.
func TestIsolationOfProblems(t *testing.T) {
	damaged := func(id, cwd string) *rollouttest.Rollout {
		return rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id, Cwd: cwd, Start: at(5)}).User("x").Raw(`{"broken`).Assistant("y").End()
	}
	w := newWorld(t, damaged(projID, ""), damaged(otherID, "/srv/secret-project"))
	type status struct {
		Total    int `json:"problems_total"`
		Problems []struct {
			ID string `json:"session_id"`
		}
	}
	var all, own status
	legacy(t, w.deps()).data("migrator_status", `{}`, &all)
	if all.Total != 2 || len(all.Problems) != 2 {
		t.Fatalf("without isolation: %+v", all)
	}
	d := w.deps()
	d.Workspace = "/home/dana/proj"
	legacy(t, d).data("migrator_status", `{}`, &own)
	if own.Total != 1 || len(own.Problems) != 1 || own.Problems[0].ID != projID {
		t.Errorf("with isolation: %+v", own)
	}
}

func TestMigrateSession(t *testing.T) {
	c := modern(t, mcpserver.Deps{})
	messages := []map[string]any{
		{"role": "system", "content": "Be brief."},
		{"role": "user", "content": []map[string]any{{"type": "text", "text": "What is in a.txt? My key is " + secret}, {"type": "image_url", "image_url": map[string]any{"url": "data:x"}}}},
		{"role": "assistant", "content": nil, "tool_calls": []map[string]any{{"id": "c1", "type": "function", "function": map[string]any{"name": "read", "arguments": `{"path":"a.txt"}`}}}},
		{"role": "tool", "tool_call_id": "c1", "content": "forty-two"},
		{"role": "assistant", "content": []map[string]any{{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "It says forty-two."}, {"type": "tool_use", "id": "c2", "name": "write", "input": map[string]any{"path": "b.txt"}}}},
		{"role": "user", "content": []map[string]any{{"type": "tool_result", "tool_use_id": "c2", "content": []map[string]any{{"type": "text", "text": "written"}}}}},
	}
	list, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(string(list))
	if err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]string{"text": string(text), "list": string(list), "object": `{"messages":` + string(list) + `}`} {
		got := c.good("migrate_session", `{"messages_json":`+given+`,"target_model":"gpt-5.5"}`).text()
		for _, want := range []string{"Be brief.", "What is in a.txt?", "read", `{"path":"a.txt"}`, "forty-two", "It says forty-two.", "written", "· direct ·"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, got)
			}
		}
		if strings.Contains(got, secret) || strings.Contains(got, "hm\n") {
			t.Errorf("%s: has what must not leave:\n%s", name, got)
		}
	}
	c.refused("migrate_session", `{"messages_json":"[]","target_model":"gpt-5.5"}`, "no messages")
	c.refused("migrate_session", `{"messages_json":"{","target_model":"gpt-5.5"}`, "not a JSON list")
	c.refused("migrate_session", `{"messages_json":"[{\"role\":\"boss\",\"content\":\"x\"}]","target_model":"gpt-5.5"}`, "message 1", `unknown role "boss"`)
	c.refused("migrate_session", `{"messages_json":"[{\"role\":\"user\",\"content\":\"x\"}]"}`, `"target_model" is missing`)
	c.refused("migrate_session", `{"messages_json":"[`+strings.Repeat("x", 8_100_000)+`]","target_model":"gpt-5.5"}`, "8.1 MB", "the limit is 8 MB", "get_session_context")
}
