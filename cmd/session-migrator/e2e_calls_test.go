//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// player is a model that calls tools in turn, by the end of their names, and
// searches for those that the client hides. It speaks what listener speaks, and
// keeps what came back.
type player struct {
	mu       sync.Mutex // guards the rest
	steps    []step
	n        int
	searched map[string]bool
	results  string // all that any request showed of results
}

// move is what the model does next.
type move struct {
	kind moveKind
	name string // of the tool as the client calls it
	args map[string]any
}

type moveKind uint8

const (
	moveSay moveKind = iota
	moveCall
	moveSearch
)

// next gives the next move: offered are the names of tools that can be called.
func (p *player) next(offered []string, search bool) move {
	p.n++
	for len(p.steps) > 0 {
		s := p.steps[0]
		for _, name := range offered {
			if strings.HasSuffix(name, "_"+s.tool) || name == s.tool {
				p.steps = p.steps[1:]
				return move{moveCall, name, s.args}
			}
		}
		if search && !p.searched[s.tool] {
			p.searched[s.tool] = true
			return move{kind: moveSearch, name: strings.ReplaceAll(s.tool, "_", " ")}
		}
		break // another request may offer it: clients ask for titles, too
	}
	return move{kind: moveSay}
}

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := r.URL.Path
	var body map[string]any
	if r.Method != http.MethodPost || decode(r, &body) != nil {
		new(listener).aside(w, path)
		return
	}
	stream := body["stream"] == true || strings.Contains(strings.ToLower(path), "stream")
	switch {
	case strings.HasSuffix(path, "/responses"):
		p.responses(w, body)
	case strings.HasSuffix(path, "/chat/completions"):
		p.chat(w, body, stream)
	case strings.HasSuffix(path, "/messages"):
		p.messages(w, body, stream)
	case strings.Contains(strings.ToLower(path), "generatecontent"):
		p.gemini(w, body, stream)
	default:
		new(listener).aside(w, path)
	}
}

// found collects the objects of a JSON value for which is holds.
func found(v any, is func(map[string]any) bool) (list []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = append(list, found(e, is)...)
		}
	case map[string]any:
		if is(v) {
			list = append(list, v)
		}
		for _, e := range v {
			list = append(list, found(e, is)...)
		}
	}
	return list
}

func ofType(name string) func(map[string]any) bool {
	return func(m map[string]any) bool { return m["type"] == name }
}

// keep remembers what results say.
func (p *player) keep(results []map[string]any) {
	p.results = ""
	for _, r := range results {
		p.results += strings.Join(stringsIn(nil, r), "\n") + "\n"
	}
}

func namesIn(list any) (names []string) {
	for _, m := range found(list, func(m map[string]any) bool { _, ok := m["name"].(string); return ok }) {
		names = append(names, m["name"].(string))
	}
	return names
}

func (p *player) responses(w http.ResponseWriter, body map[string]any) {
	input := body["input"]
	p.keep(found(input, func(m map[string]any) bool {
		kind, _ := m["type"].(string)
		return strings.HasSuffix(kind, "_call_output")
	}))
	where := map[string]map[string]any{} // how to call what is offered
	for _, list := range []any{body["tools"], found(input, ofType("tool_search_output"))} {
		raw, _ := json.Marshal(list)
		var all any
		_ = json.Unmarshal(raw, &all)
		for _, name := range namesIn(all) {
			where[name] = map[string]any{"name": name}
		}
		for _, ns := range found(all, ofType("namespace")) {
			for _, name := range namesIn(ns["tools"]) {
				where[name] = map[string]any{"name": name, "namespace": ns["name"]}
			}
		}
	}
	// In code mode tools are functions within one tool that runs JavaScript.
	code := map[string]any{}
	for _, more := range found(input, ofType("additional_tools")) {
		for _, ns := range found(more, ofType("namespace")) {
			if slices.Contains(namesIn(ns["tools"]), "exec") {
				code = map[string]any{"name": "exec", "namespace": ns["name"]}
			}
		}
	}
	offered := make([]string, 0, len(where))
	for name := range where {
		offered = append(offered, name)
	}
	if len(code) > 0 && len(p.steps) > 0 {
		offered = []string{p.steps[0].tool}
	}
	m := p.next(offered, len(found(body["tools"], ofType("tool_search"))) > 0)
	id := fmt.Sprintf("call_%d", p.n)
	args, _ := json.Marshal(m.args)
	var item map[string]any
	switch {
	case m.kind == moveSay:
		item = map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": said}}}
	case m.kind == moveSearch:
		item = map[string]any{"type": "tool_search_call", "call_id": id, "execution": "client", "arguments": map[string]any{"query": m.name, "limit": 8}}
	case len(code) > 0:
		item = map[string]any{"type": "custom_tool_call", "call_id": id, "name": code["name"], "namespace": code["namespace"],
			"input": fmt.Sprintf("const t = ALL_TOOLS.find(t => t.name.endsWith(%q)); const r = await tools[t.name](%s); text(r);", m.name, args)}
	default:
		item = map[string]any{"type": "function_call", "call_id": id, "arguments": string(args)}
		for k, v := range where[m.name] {
			item[k] = v
		}
	}
	item["id"] = "i_" + id
	(&script{n: p.n}).answer(w, item)
}

func (p *player) messages(w http.ResponseWriter, body map[string]any, stream bool) {
	results := found(body["messages"], ofType("tool_result"))
	p.keep(results)
	offered := namesIn(body["tools"])
	search := slices.Contains(offered, "ToolSearch")
	if search { // what is offered is hidden until it was found
		offered = slices.DeleteFunc(offered, func(n string) bool { return strings.HasPrefix(n, "mcp__") })
	}
	for _, r := range found(body["messages"], ofType("tool_reference")) {
		offered = append(offered, r["tool_name"].(string))
	}
	m := p.next(offered, search)
	block, stop := map[string]any{"type": "text", "text": said}, "end_turn"
	if m.kind != moveSay {
		block, stop = map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", p.n), "name": m.name, "input": m.args}, "tool_use"
	}
	if m.kind == moveSearch {
		block["name"], block["input"] = "ToolSearch", map[string]any{"query": m.name, "max_results": 5}
	}
	msg := map[string]any{"id": fmt.Sprintf("msg_%d", p.n), "type": "message", "role": "assistant", "model": "scripted", "stop_sequence": nil,
		"content": []any{block}, "stop_reason": stop, "usage": map[string]any{"input_tokens": 10, "output_tokens": 5}}
	if !stream {
		reply(w, msg)
		return
	}
	start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": said}
	if m.kind != moveSay {
		input, _ := json.Marshal(block["input"])
		start = map[string]any{"type": "tool_use", "id": block["id"], "name": block["name"], "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
	}
	msg["content"], msg["stop_reason"] = []any{}, nil
	events(w, map[string]any{"type": "message_start", "message": msg},
		map[string]any{"type": "content_block_start", "index": 0, "content_block": start},
		map[string]any{"type": "content_block_delta", "index": 0, "delta": delta},
		map[string]any{"type": "content_block_stop", "index": 0},
		map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 5}},
		map[string]any{"type": "message_stop"})
}

func (p *player) gemini(w http.ResponseWriter, body map[string]any, stream bool) {
	p.keep(found(body["contents"], func(m map[string]any) bool { return m["functionResponse"] != nil }))
	m := p.next(namesIn(body["tools"]), false)
	part := map[string]any{"text": said}
	if m.kind == moveCall {
		part = map[string]any{"functionCall": map[string]any{"name": m.name, "args": m.args}}
	}
	out := map[string]any{"candidates": []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "scripted"}
	if stream {
		events(w, out)
		return
	}
	reply(w, out)
}

func (p *player) chat(w http.ResponseWriter, body map[string]any, stream bool) {
	p.keep(found(body["messages"], func(m map[string]any) bool { return m["role"] == "tool" }))
	offered := namesIn(body["tools"])
	// CodeBuddy hides tools, and calls them through another.
	hidden := slices.Contains(offered, "DeferExecuteTool")
	if hidden && len(p.steps) > 0 && p.searched[p.steps[0].tool] {
		offered = []string{"mcp__" + mcpKey + "__" + p.steps[0].tool}
	}
	m := p.next(offered, hidden)
	switch {
	case m.kind == moveSearch:
		m.name, m.args = "ToolSearch", map[string]any{"tool_names": []string{"mcp__" + mcpKey + "__" + strings.ReplaceAll(m.name, " ", "_")}}
	case m.kind == moveCall && hidden:
		m.name, m.args = "DeferExecuteTool", map[string]any{"toolName": m.name, "params": m.args}
	}
	msg, end := map[string]any{"role": "assistant", "content": said}, "stop"
	if m.kind != moveSay {
		args, _ := json.Marshal(m.args)
		msg, end = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", p.n), "type": "function",
			"function": map[string]any{"name": m.name, "arguments": string(args)}}}}, "tool_calls"
	}
	one := func(object, key string, value any, finish any, usage bool) map[string]any {
		v := map[string]any{"id": fmt.Sprintf("c%d", p.n), "object": object, "created": 1, "model": "scripted", "choices": []any{map[string]any{"index": 0, key: value, "finish_reason": finish}}}
		if usage {
			v["usage"] = map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
		}
		return v
	}
	if !stream {
		reply(w, one("chat.completion", "message", msg, end, true))
		return
	}
	events(w, one("chat.completion.chunk", "delta", msg, nil, false), one("chat.completion.chunk", "delta", map[string]any{}, end, true))
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// mcpKey is the name of our server in clients' settings.
const mcpKey = "session-migrator"

var opencode = client{name: "opencode", env: "E2E_OPENCODE", setUp: func(p *place, path string) ([]string, []string) {
	p.writeJSON(".config/opencode/opencode.json", map[string]any{"autoupdate": false, "share": "disabled", "model": "scripted/m", "small_model": "scripted/m",
		"provider": map[string]any{"scripted": map[string]any{"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": map[string]any{"baseURL": p.model.url + "/v1", "apiKey": "none"},
			"models": map[string]any{"m": map[string]any{"name": "m", "limit": map[string]any{"context": 200000, "output": 8000}}}}},
		"mcp": map[string]any{mcpKey: map[string]any{"type": "local", "command": p.serve(), "enabled": true}}})
	return []string{path, "run", "--format", "json", question}, []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
}}

// serve is how a client starts our server.
func (p *place) serve() []string {
	return []string{os.Getenv("E2E_BINARY"), "mcp", "--home", filepath.Join(p.home, "data"), "--codex-home", filepath.Join(p.home, "sample")}
}

// TestCallsReachTheModel lets every client list our tools and call three: what
// they answer must reach the model. Codex has three ways to offer tools.
func TestCallsReachTheModel(t *testing.T) {
	codexAs := func(model string) client {
		c := codex
		c.name += " with " + model
		set := c.setUp
		c.setUp = func(p *place, path string) ([]string, []string) {
			argv, env := set(p, path)
			serve := p.serve()
			args, _ := json.Marshal(serve[1:])
			more := fmt.Sprintf("[mcp_servers.%s]\ncommand = %q\nargs = %s\n", mcpKey, serve[0], args)
			config, err := os.ReadFile(filepath.Join(p.home, ".codex", "config.toml"))
			if err != nil {
				p.t.Fatal(err)
			}
			p.write(".codex/config.toml", strings.Replace(string(config), "scripted-model", model, 1)+more)
			return argv, env
		}
		return c
	}
	servers := func(p *place) map[string]any {
		serve := p.serve()
		return map[string]any{mcpKey: map[string]any{"type": "stdio", "command": serve[0], "args": serve[1:]}}
	}
	with := func(c client, more func(p *place, argv []string) []string) client {
		set := c.setUp
		c.setUp = func(p *place, path string) ([]string, []string) {
			argv, env := set(p, path)
			return more(p, argv), env
		}
		return c
	}
	config := func(p *place, argv []string) []string {
		p.writeJSON("mcp.json", map[string]any{"mcpServers": servers(p)})
		return append(argv, "--mcp-config", filepath.Join(p.home, "mcp.json"), "--strict-mcp-config")
	}
	clients := []client{codexAs("scripted-model"), codexAs("gpt-5.5"), codexAs("gpt-6.2-sol"),
		with(claude, func(p *place, argv []string) []string {
			return append(config(p, argv), "--allowedTools", "mcp__"+mcpKey)
		}),
		with(gemini, func(p *place, argv []string) []string {
			file := filepath.Join(p.home, ".gemini", "settings.json")
			text, err := os.ReadFile(file)
			var all map[string]any
			if err != nil || json.Unmarshal(text, &all) != nil {
				p.t.Fatalf("%s: %v", file, err)
			}
			serve := p.serve()
			all["mcpServers"] = map[string]any{mcpKey: map[string]any{"command": serve[0], "args": serve[1:], "trust": true}}
			p.writeJSON(".gemini/settings.json", all)
			return append(argv, "--approval-mode", "yolo")
		}),
		opencode, with(codebuddy, config)}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			if (c.env == opencode.env || c.env == codebuddy.env) && os.Getenv("E2E_ALL") == "" {
				t.Skip("takes long: set E2E_ALL=1")
			}
			path := os.Getenv(c.env)
			if path == "" {
				t.Skipf("%s is not installed (%s)", c.name, c.env)
			}
			t.Parallel()
			callThree(t, c, path)
		})
	}
}

func callThree(t *testing.T, c client, path string) {
	t.Helper()
	p := newPlace(t)
	model := &player{searched: map[string]bool{}, steps: []step{
		{tool: "list_sessions", args: map[string]any{"workspace": "all"}},
		{tool: "get_migration_decision", args: map[string]any{"session": sampleSession, "target_model": "gpt-5.5"}},
		{tool: "get_session_context", args: map[string]any{"session": sampleSession}},
	}}
	srv := httptest.NewServer(model)
	defer srv.Close()
	p.model.url = srv.URL
	if err := os.CopyFS(filepath.Join(p.home, "sample"), os.DirFS("sample")); err != nil {
		t.Fatal(err)
	}
	argv, env := c.setUp(p, path)
	out := p.run(p.work, env, argv...)
	model.mu.Lock()
	defer model.mu.Unlock()
	if len(model.steps) > 0 {
		t.Errorf("%d tools were not called, first %s\n%s", len(model.steps), model.steps[0].tool, tailOf(out))
	}
	for _, want := range []string{`"sessions":[`, sampleSession, `"decision":"direct"`, "memory · page 1/1", "harbor-log"} {
		if !strings.Contains(strings.ReplaceAll(model.results, `\"`, `"`), want) {
			t.Errorf("the model did not get %q but\n%s", want, tailOf(model.results))
		}
	}
}

// sampleSession is one of the bundled sample.
const sampleSession = "01a27c3e-9b40-7f11-a6d8-5e20c47b91d3"
