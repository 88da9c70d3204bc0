package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

type listedResource struct{ URI, Name, Title, Description, MIMEType, URITemplate string }

// resources lists what can be read, and what is said of how long that holds.
func (c *client) resources(method string) (list []listedResource, ttl int) {
	c.t.Helper()
	a := c.request(method, map[string]any{})
	var r struct {
		Resources, ResourceTemplates []listedResource
		TTLMs                        int
		CacheScope                   string
	}
	if err := json.Unmarshal(a.Result, &r); err != nil || a.Error != nil || r.CacheScope != "private" {
		c.t.Fatalf("%s: %s %+v", method, a.Result, a.Error)
	}
	return append(r.Resources, r.ResourceTemplates...), r.TTLMs
}

// read gives the text of a resource, and its kind.
func (c *client) read(uri string) (mime, text string) {
	c.t.Helper()
	a := c.request("resources/read", map[string]any{"uri": uri})
	var r struct {
		Contents   []struct{ URI, MIMEType, Text string }
		TTLMs      int
		CacheScope string
	}
	if a.Error != nil {
		c.t.Fatalf("%s: %+v", uri, a.Error)
	}
	if err := json.Unmarshal(a.Result, &r); err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri || r.TTLMs != 2000 || r.CacheScope != "private" {
		c.t.Fatalf("%s: %s", uri, a.Result)
	}
	return r.Contents[0].MIMEType, r.Contents[0].Text
}

// missing reads what must not be there.
func (c *client) missing(uri string, code int, words ...string) {
	c.t.Helper()
	a := c.request("resources/read", map[string]any{"uri": uri})
	if a.Error == nil || a.Error.Code != code || a.Error.Data["uri"] != uri {
		c.t.Errorf("%s: %s %+v, want code %d", uri, a.Result, a.Error, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(a.Error.Message, w) {
			c.t.Errorf("%s: %q lacks %q", uri, a.Error.Message, w)
		}
	}
}

func TestResourcesSayWhatToolsSay(t *testing.T) {
	w := projects(t)
	for era, c := range map[string]*client{"legacy": legacy(t, w.deps()), "modern": modern(t, w.deps())} {
		list, ttl := c.resources("resources/list")
		if len(list) != 6 || ttl != 30_000 || list[0].URI != "migrator://status" || list[1].URI != "migrator://sessions" || list[2].URI != "migrator://models" {
			t.Fatalf("%s: listed %+v for %d ms", era, list, ttl)
		}
		if r := list[4]; r.URI != "migrator://session/"+projID+"/memory.md" || r.Name != "019a0000 Fix the flaky upload test please" || r.MIMEType != "text/markdown" || !strings.HasSuffix(r.Description, "/home/dana/proj") {
			t.Errorf("%s: %+v", era, r)
		}
		if list, ttl = c.resources("resources/templates/list"); len(list) != 4 || ttl != 3_600_000 || list[0].URITemplate != "migrator://session/{id}/memory.md" || list[3].URITemplate != "migrator://omitted/{+ref}" {
			t.Errorf("%s: templates %+v for %d ms", era, list, ttl)
		}
		for _, tt := range []struct{ uri, mime, tool, args string }{
			{"migrator://status", "application/json", "migrator_status", `{}`},
			{"migrator://sessions", "application/json", "list_sessions", `{"workspace":"all","limit":100}`},
			{"migrator://models", "application/json", "list_known_models", `{"limit":200}`},
			{"migrator://session/" + projID + "/memory.md", "text/markdown", "get_session_context", `{"session":"` + projID + `"}`},
			{"migrator://session/" + projID + "/messages.jsonl", "text/plain", "get_session_context", `{"session":"` + projID + `","format":"messages"}`},
			{"migrator://session/0000a001/summary.md", "text/markdown", "get_session_context", `{"session":"` + projID + `","format":"summary"}`},
			{"migrator://session/latest/memory.md", "text/markdown", "get_session_context", `{"session":"` + projID + `"}`},
			{"migrator://omitted/om_0000a001.2", "text/markdown", "get_omitted_original", `{"ref":"om_0000a001.2"}`},
			{"migrator://omitted/om_0000a001.2@0+4", "text/markdown", "get_omitted_original", `{"ref":"om_0000a001.2@0+4"}`},
			{"migrator://omitted/om_0000a001.2%400%2B4", "text/markdown", "get_omitted_original", `{"ref":"om_0000a001.2@0+4"}`},
		} {
			mime, text := c.read(tt.uri)
			want := c.good(tt.tool, tt.args).text()
			if mime != tt.mime || withoutCursors(text) != withoutCursors(want) {
				t.Errorf("%s %s: %s\n%s\nwant %s\n%s", era, tt.uri, mime, text, tt.mime, want)
			}
		}
	}
}

// withoutCursors leaves out what holds the size of a page.
func withoutCursors(s string) string { return newPart.ReplaceAllString(s, "new=") }

// A resource is whole if it isn't very long; the rest is a tool's.
func TestLongResourceIsGoneOnWithByATool(t *testing.T) {
	w := newWorld(t, long(200))
	c := legacy(t, w.deps())
	_, text := c.read("migrator://session/latest/messages.jsonl")
	if len(text) > 200_000 || len(text) < 150_000 {
		t.Errorf("%d bytes", len(text))
	}
	head, quoted, next := pageOf(t, text)
	if next == "" || !strings.HasSuffix(text, "go on: get_session_context with next_cursor above as cursor\n") {
		t.Fatalf("no word of the rest: %s", head)
	}
	seen := strings.Count(quoted, `{"seq":`)
	for n := 0; next != "" && n < 100; n++ {
		c = legacy(t, w.deps()) // with nothing at hand but the cursor
		text = c.good("get_session_context", `{"cursor":"`+next+`"}`).text()
		if len(text) > 32_000 {
			t.Errorf("a page of %d bytes after the resource", len(text))
		}
		_, quoted, next = pageOf(t, text)
		seen += strings.Count(quoted, `{"seq":`)
	}
	if seen != 800 {
		t.Errorf("%d messages, want 800", seen)
	}
}

func TestNoSuchResource(t *testing.T) {
	w := projects(t)
	for code, c := range map[int]*client{-32002: legacy(t, w.deps()), -32602: modern(t, w.deps())} {
		c.missing("migrator://nothing", code, "No such resource", "migrator://sessions")
		c.missing("file:///etc/passwd", code, "No such resource")
		c.missing("migrator://session/"+projID, code, "No such resource")
		c.missing("migrator://session/"+projID+"/memory.txt", code)
		c.missing("migrator://session/"+projID+"/../memory.md", code)
		c.missing("migrator://session//memory.md", code)
		c.missing("migrator://session/%zz/memory.md", code)
		c.missing("migrator://session/nosuchthing/memory.md", code, `No session matches "nosuchthing"`, "list_sessions")
		c.missing("migrator://session/019a0000/memory.md", code, "matches 2 sessions")
		c.missing("migrator://omitted/om_ffffffff.1", code, "Nothing in the cache")
		c.missing("migrator://omitted/", code)
		c.missing("", code)
	}
	// That we can't tell is no word on whether it is there.
	c := legacy(t, mcpserver.Deps{OpenStore: func(context.Context) (*store.DB, error) { return nil, store.ErrNone }})
	c.missing("migrator://session/"+projID+"/memory.md", -32603, "No session cache yet")
	if _, text := c.read("migrator://status"); !strings.Contains(text, "No session cache yet") {
		t.Errorf("status %s", text)
	}
	if list, _ := c.resources("resources/list"); len(list) != 3 {
		t.Errorf("listed %+v", list)
	}
}

// The list has the twenty newest, and none of another workspace.
func TestResourcesAreBoundedAndIsolated(t *testing.T) {
	var rollouts []*rollouttest.Rollout
	for i := range 25 {
		cwd := []string{"", "/srv/secret-project"}[i%2]
		rollouts = append(rollouts, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-0000000%05d", i), Cwd: cwd, Start: at(1 + i)}).
			User("takeover in "+cwd).Assistant("y"))
	}
	w := newWorld(t, rollouts...)
	if list, _ := legacy(t, w.deps()).resources("resources/list"); len(list) != 23 || !strings.Contains(list[3].URI, "00000024") || !strings.Contains(list[22].URI, "00000005") {
		t.Errorf("listed %d: %+v", len(list), list)
	}
	d := w.deps()
	d.Workspace = "/home/dana/proj"
	c := legacy(t, d)
	list, _ := c.resources("resources/list")
	if len(list) != 16 {
		t.Errorf("an isolated server listed %d", len(list))
	}
	for _, r := range list[3:] {
		if strings.Contains(r.Description, "secret") {
			t.Errorf("listed %+v", r)
		}
		c.read(r.URI)
	}
	foreign := fmt.Sprintf("019a0000-0000-7000-8000-0000000%05d", 1)
	for _, uri := range []string{"migrator://session/" + foreign + "/memory.md", "migrator://session/" + foreign + "/messages.jsonl", "migrator://session/" + foreign + "/summary.md",
		"migrator://session/00000001/memory.md", "migrator://omitted/om_00000001.1"} {
		legacy(t, w.deps()).read(uri)
		c.missing(uri, -32002)
		if a := c.request("resources/subscribe", map[string]any{"uri": uri}); a.Error == nil && !strings.Contains(uri, "omitted") {
			t.Errorf("subscribed to %s", uri)
		}
	}
	if _, text := c.read("migrator://sessions"); strings.Contains(text, "secret") || !strings.Contains(text, `"total":13`) {
		t.Errorf("sessions: %s", text)
	}
	if got := c.complete(map[string]any{"type": "ref/resource", "uri": "migrator://session/{id}/memory.md"}, "id", "secret"); len(got) != 0 {
		t.Errorf("completed %v", got)
	}
	if got := c.complete(map[string]any{"type": "ref/prompt", "name": "resume"}, "session", "takeover"); len(got) != 13 {
		t.Errorf("completed %v", got)
	}
	if got := c.complete(map[string]any{"type": "ref/prompt", "name": "catch_up"}, "workspace", ""); fmt.Sprint(got) != "[/home/dana/proj]" {
		t.Errorf("completed %v", got)
	}
	if a := c.request("prompts/get", map[string]any{"name": "resume", "arguments": map[string]any{"session": foreign}}); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("resumed: %s", a.Result)
	}
	if a := c.request("prompts/get", map[string]any{"name": "catch_up", "arguments": map[string]any{"workspace": "/srv/secret-project"}}); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("caught up: %s", a.Result)
	}
}

// complete gives the values that an argument may have.
func (c *client) complete(ref map[string]any, argument, value string) []string {
	c.t.Helper()
	a := c.request("completion/complete", map[string]any{"ref": ref, "argument": map[string]any{"name": argument, "value": value}})
	var r struct {
		Completion struct {
			Values  []string
			Total   int
			HasMore bool
		}
	}
	if a.Error != nil {
		c.t.Fatalf("complete %v: %+v", ref, a.Error)
	}
	if err := json.Unmarshal(a.Result, &r); err != nil || r.Completion.Values == nil || r.Completion.HasMore != (r.Completion.Total > len(r.Completion.Values)) {
		c.t.Fatalf("complete %v: %s", ref, a.Result)
	}
	return r.Completion.Values
}

func TestCompletion(t *testing.T) {
	c := legacy(t, projects(t).deps())
	memory := map[string]any{"type": "ref/resource", "uri": "migrator://session/{id}/memory.md"}
	resume := map[string]any{"type": "ref/prompt", "name": "resume"}
	for _, tt := range []struct {
		ref             map[string]any
		argument, value string
		want            []string
	}{
		{memory, "id", "", []string{otherID, projID, twinID}},
		{memory, "id", "019A", []string{projID, twinID}},
		{resume, "session", "upload fix", []string{projID}},
		{resume, "session", "nothing like it", []string{}},
		{resume, "other", "", []string{}},
		{map[string]any{"type": "ref/resource", "uri": "migrator://omitted/{+ref}"}, "ref", "om_", []string{}},
		{map[string]any{"type": "ref/prompt", "name": "catch_up"}, "workspace", "PROJ", []string{"/home/dana/proj", "/srv/secret-project"}},
	} {
		if got := c.complete(tt.ref, tt.argument, tt.value); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%v %s %q: %v, want %v", tt.ref, tt.argument, tt.value, got, tt.want)
		}
	}
	handoff := map[string]any{"type": "ref/prompt", "name": "handoff"}
	if got := c.complete(handoff, "target_model", "gpt-5.5"); len(got) == 0 || got[0] != "gpt-5.5" {
		t.Errorf("models %v", got)
	}
	if got := c.complete(handoff, "target_model", ""); len(got) != 100 {
		t.Errorf("%d models", len(got))
	}
	for _, ref := range []map[string]any{{"type": "ref/prompt", "name": "nope"}, {"type": "ref/resource", "uri": "migrator://nope/{id}"}, {"type": "ref/nope"}} {
		if a := c.request("completion/complete", map[string]any{"ref": ref, "argument": map[string]any{"name": "x", "value": ""}}); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("%v: %s %+v", ref, a.Result, a.Error)
		}
	}
	c = legacy(t, mcpserver.Deps{OpenStore: func(context.Context) (*store.DB, error) { return nil, store.ErrNone }})
	if got := c.complete(resume, "session", ""); len(got) != 0 {
		t.Errorf("without a cache %v", got)
	}
}
