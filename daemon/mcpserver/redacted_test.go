package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// A folder's name may hold a secret: no answer that names a path shows it.
func TestPathsAreRedacted(t *testing.T) {
	folder := "/srv/deploy-" + secret
	damaged := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: otherID, Cwd: folder, Model: "m-" + secret, Start: at(5)}).
		User("x").Raw(`{"broken`).Call("run-"+secret, `{}`, "y").Assistant("z").End()
	w := newWorld(t, damaged)
	d := w.deps()
	d.Cwd = "/nowhere/" + secret
	c := legacy(t, d)
	isolated := w.deps()
	isolated.Workspace = folder
	only := legacy(t, isolated)
	for name, r := range map[string]toolResult{
		"list":              c.tool("list_sessions", `{"workspace":"all"}`),
		"list of nothing":   c.tool("list_sessions", `{}`),
		"list of another":   only.tool("list_sessions", `{"workspace":"/x"}`),
		"latest":            c.tool("get_migration_decision", `{"session":"latest","target_model":"gpt-5.5"}`),
		"no such session":   c.tool("get_migration_decision", `{"session":"nosuchthing","target_model":"gpt-5.5"}`),
		"decision":          c.tool("get_migration_decision", `{"session":"`+otherID+`","target_model":"gpt-5.5"}`),
		"memory":            c.tool("get_session_context", `{"session":"`+otherID+`"}`),
		"messages":          c.tool("get_session_context", `{"session":"`+otherID+`","format":"messages"}`),
		"original":          c.tool("get_omitted_original", `{"session":"`+otherID+`","ref":"t1"}`),
		"status":            c.tool("migrator_status", `{}`),
		"isolated status":   only.tool("migrator_status", `{}`),
		"isolated listing":  only.tool("list_sessions", `{}`),
		"isolated a latest": only.tool("get_migration_decision", `{"session":"nosuchthing","target_model":"gpt-5.5"}`),
	} {
		if all := r.text() + string(r.Structured); strings.Contains(all, secret) || strings.Contains(all, secret[len(secret)-12:]) {
			t.Errorf("%s: the secret left: %s", name, all)
		}
	}
	if text := c.good("list_sessions", `{"workspace":"all"}`).text(); !strings.Contains(text, "/srv/deploy-[redacted:") {
		t.Errorf("list: %s", text)
	}
	fault := legacy(t, mcpserver.Deps{OpenStore: func(context.Context) (*store.DB, error) {
		return nil, fmt.Errorf("open %s: %w", folder, errors.New("odd"))
	}})
	if r := fault.tool("list_sessions", `{}`); strings.Contains(r.text(), secret) || !strings.Contains(r.text(), "odd") {
		t.Errorf("fault: %s", r.text())
	}
}

// People paste into any argument: no refusal says a secret back, not even the
// first part of one that is cut.
func TestArgumentsAreRedacted(t *testing.T) {
	c := legacy(t, projects(t).deps())
	for tool, args := range map[string][]string{
		"get_session_context":    {`{"session":"` + secret + `"}`, `{"session":"` + projID + `","format":"` + secret + `"}`, `{"` + secret + `":1}`, `{"session":"` + projID + `","max_bytes":"` + secret + `"}`},
		"get_migration_decision": {`{"session":"` + secret + `","target_model":"gpt-5.5"}`, `{"session":"` + projID + `","target_model":"` + secret + `"}`},
		"list_sessions":          {`{"since":"` + secret + `"}`},
		"get_omitted_original":   {`{"ref":"` + secret + `"}`},
		"migrate_session":        {`{"messages_json":"[{\"role\":\"` + secret + `\",\"content\":\"x\"}]","target_model":"gpt-5.5"}`},
	} {
		for _, a := range args {
			if r := c.tool(tool, a); !r.IsError || strings.Contains(r.text(), secret[:20]) || !strings.Contains(r.text(), "[redacted") {
				t.Errorf("%s %s: %s", tool, a, r.text())
			}
		}
	}
	if a := c.request("resources/read", map[string]any{"uri": "migrator://" + secret}); a.Error == nil || strings.Contains(a.Error.Message, secret[:20]) {
		t.Errorf("resource: %+v", a.Error)
	}
}

// A ref to bytes counts them in the redacted text and gives just these, once.
func TestPartsOfAnOriginal(t *testing.T) {
	c := legacy(t, projects(t).deps())
	_, quoted, _ := pageOf(t, c.good("get_omitted_original", `{"ref":"t1","session":"`+projID+`"}`).text())
	ref := regexp.MustCompile(`om_[0-9a-f]{8}\.\d+`).FindAllString(quoted, -1)[2] // the output with the secret
	text := func(ref string) string {
		t.Helper()
		_, quoted, _ := pageOf(t, c.good("get_omitted_original", `{"ref":"`+ref+`"}`).text())
		_, rest, _ := strings.Cut(quoted, "\n")           // the heading
		fence, rest, _ := strings.Cut(rest, "\n")         // opens
		body, _, ok := strings.Cut(rest, "\n"+fence+"\n") // closes
		if !ok {
			t.Fatalf("%s: no fence: %s", ref, quoted)
		}
		return body
	}
	whole := text(ref)
	mark := strings.Index(whole, "[redacted:")
	if mark < 20 || strings.Contains(whole, secret) {
		t.Fatalf("whole: %q", whole)
	}
	for _, p := range []struct{ from, size int }{{0, 5}, {7, 9}, {mark - 4, 12}, {mark, 10}, {mark + 3, 8}, {len(whole) - 6, 6}} {
		if got, want := text(fmt.Sprintf("%s@%d+%d", ref, p.from, p.size)), whole[p.from:p.from+p.size]; strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	c.refused("get_omitted_original", fmt.Sprintf(`{"ref":"%s@%d+500"}`, ref, len(whole)-3), "only", "bytes")
}

// What stands behind a name and is no window is said to be none.
func TestWindowThatIsNone(t *testing.T) {
	c := modern(t, mcpserver.Deps{})
	for _, name := range []string{"gpt-4o@0", "gpt-4o@", "gpt-4o@abc", "gpt-4o@-5"} {
		c.refused("model_context_window", `{"model":"`+name+`"}`, `"`+name[len("gpt-4o"):]+`" is no window`, "256 to 100000000 tokens", "gpt-4o@400000")
	}
	var m struct {
		Window int `json:"context_window"`
	}
	if c.data("model_context_window", `{"model":"gpt-4o@4000"}`, &m); m.Window != 4000 {
		t.Errorf("window %d", m.Window)
	}
}

// A window that holds no message at all is the caller's choice, not a fault.
func TestTargetTooSmallForAnyMessage(t *testing.T) {
	c := modern(t, mcpserver.Deps{})
	args := `{"messages_json":[{"role":"user","content":"` + strings.Repeat("many words ", 400) + `"}],"target_model":"gpt-4o@256","reserve_tokens":240}`
	c.refused("migrate_session", args, "Not even the newest message fits", "larger window")
	if r := c.tool("migrate_session", args); strings.Contains(r.text(), "fault") {
		t.Error(r.text())
	}
}
