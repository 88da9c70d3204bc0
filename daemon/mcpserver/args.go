package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// param is one argument of a tool.
type param struct {
	name     string
	required bool     // named as missing if it is
	other    []string // names that models give it
}

var (
	sessionParam = param{name: "session", required: true, other: []string{"session_id", "thread_id", "id", "thread"}}
	targetParam  = param{name: "target_model", other: []string{"model", "target"}}
	nextParam    = param{name: "next_prompt", other: []string{"prompt", "next_request", "next_message"}}
	cursorParam  = param{name: "cursor", other: []string{"next_cursor", "page_token"}}
	limitParam   = param{name: "limit", other: []string{"per_page", "page_size", "max_results"}}
	bytesParam   = param{name: "max_bytes"}
	reserveParam = param{name: "reserve_tokens", other: []string{"reserve"}}
)

// args are the arguments under their own names, none of them null.
type args struct {
	tool   *tool
	values map[string]json.RawMessage
}

// parseArgs reads what a model wrote: an object, or the same as a string.
func parseArgs(t *tool, raw json.RawMessage) (args, error) {
	a := args{tool: t, values: map[string]json.RawMessage{}}
	raw = bytes.TrimSpace(raw)
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		raw = bytes.TrimSpace([]byte(text))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return a, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return a, advise("%s: the arguments must be a JSON object. %s", t.name, t.usage())
	}
	for name, v := range given {
		p, ok := t.param(name)
		if !ok {
			return a, advise("%s: unknown argument %q. %s", t.name, echoed(name, 40), t.usage())
		}
		if string(v) == "null" {
			continue
		}
		if _, twice := a.values[p.name]; !twice || name == p.name {
			a.values[p.name] = v
		}
	}
	return a, nil
}

// param finds an argument by its name or one that models give it.
func (t *tool) param(name string) (param, bool) {
	for _, p := range t.params {
		if p.name == name {
			return p, true
		}
	}
	for _, p := range t.params {
		for _, o := range p.other {
			if o == name {
				return p, true
			}
		}
	}
	return param{}, false
}

// usage names the arguments.
func (t *tool) usage() string {
	if len(t.params) == 0 {
		return "It takes no arguments."
	}
	var names []string
	for _, p := range t.params {
		if p.required {
			names = append(names, p.name)
		} else {
			names = append(names, p.name+" (optional)")
		}
	}
	return "Arguments: " + strings.Join(names, ", ") + "."
}

func (a args) missing(name string) error {
	return advise("%s: %q is missing. %s", a.tool.name, name, a.tool.usage())
}

func (a args) has(name string) bool { return a.values[name] != nil }

// text gives a string; a number stands for its digits. Empty: not given.
func (a args) text(name string) (string, error) {
	v := a.values[name]
	if v == nil {
		return "", nil
	}
	var s string
	if v[0] == '"' {
		if err := json.Unmarshal(v, &s); err != nil {
			return "", advise("%s: %q is not a string.", a.tool.name, name)
		}
		return strings.TrimSpace(s), nil
	}
	if v[0] == '{' || v[0] == '[' {
		return "", advise("%s: %q must be a string.", a.tool.name, name)
	}
	return string(v), nil
}

// number gives an integer, also one in a string; none if it isn't given.
func (a args) number(name string, none int) (int, error) {
	s, err := a.text(name)
	if err != nil || s == "" {
		return none, err
	}
	s = strings.NewReplacer(",", "", "_", "").Replace(s)
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == float64(int(f)) {
		return int(f), nil
	}
	return 0, advise("%s: %q must be a whole number, not %q.", a.tool.name, name, echoed(s, 40))
}

// within gives a number kept between least and most.
func (a args) within(name string, none, least, most int) (int, error) {
	n, err := a.number(name, none)
	return min(max(n, least), most), err
}

// caller is what a client tells of who is calling.
type caller struct {
	thread    string // Codex thread that the call comes from
	model     string // the model it runs on, on Codex
	client    string // the program it is, if it says
	workspace string // the one folder it works in, if Codex names just one
	whole     bool   // it reads a resource: one long page instead of several
}

// callerOf reads what Codex sends with every call.
func callerOf(meta map[string]any) caller {
	var c caller
	c.thread, _ = meta["threadId"].(string)
	turn, _ := meta["x-codex-turn-metadata"].(map[string]any)
	if text, ok := meta["x-codex-turn-metadata"].(string); ok {
		_ = json.Unmarshal([]byte(text), &turn) // what can't be read tells nothing
	}
	if id, ok := turn["thread_id"].(string); ok && c.thread == "" {
		c.thread = id
	}
	c.model, _ = turn["model"].(string)
	if client, ok := meta["io.modelcontextprotocol/clientInfo"].(map[string]any); ok {
		c.client, _ = client["name"].(string)
	}
	if folders, ok := turn["workspaces"].(map[string]any); ok && len(folders) == 1 {
		for folder := range folders {
			c.workspace = folder
		}
	}
	return c
}
