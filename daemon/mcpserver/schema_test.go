package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type listedTool struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	Annotations              map[string]any
	Meta                     map[string]any `json:"_meta"`
}

// saving offers all tools there are.
func saving(t *testing.T) mcpserver.Deps { return mcpserver.Deps{Spool: t.TempDir()} }

func listed(t *testing.T, d mcpserver.Deps) ([]listedTool, []json.RawMessage) {
	t.Helper()
	a := legacy(t, d).request("tools/list", map[string]any{})
	var raw struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(a.Result, &raw); err != nil {
		t.Fatal(err)
	}
	var out []listedTool
	for _, r := range raw.Tools {
		var l listedTool
		if err := json.Unmarshal(r, &l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out, raw.Tools
}

func TestToolsAreWhatClientsWereShown(t *testing.T) {
	tools, raw := listed(t, saving(t))
	var names []string
	for i, tool := range tools {
		names = append(names, tool.Name)
		var got bytes.Buffer
		if err := json.Indent(&got, raw[i], "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		file := filepath.Join("testdata", "tools", tool.Name+".json")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s changed (%v): review and run with -update\n%s", tool.Name, err, got.String())
		}
	}
	want := []string{"list_sessions", "search_sessions", "get_migration_decision", "get_session_context", "get_omitted_original",
		"model_context_window", "list_known_models", "migrate_session", "migrator_status", "save_session_summary"}
	if !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v in this order", names, want)
	}
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) != len(tools) {
		t.Errorf("%d golden files for %d tools (%v)", len(files), len(tools), err)
	}
}

// By default agents are offered nothing that writes; the other tools are the same.
func TestNothingIsSavedByDefault(t *testing.T) {
	_, all := listed(t, saving(t))
	tools, some := listed(t, mcpserver.Deps{})
	if len(some) != 9 || len(all) != 10 || slices.ContainsFunc(tools, func(l listedTool) bool { return l.Name == "save_session_summary" }) {
		t.Errorf("%d and %d tools", len(some), len(all))
	}
	for i := range some {
		if !bytes.Equal(some[i], all[i]) {
			t.Errorf("%s differs", tools[i].Name)
		}
	}
	a := legacy(t, mcpserver.Deps{}).request("tools/call", map[string]any{"name": "save_session_summary", "arguments": map[string]any{"session": "latest", "summary": "x", "through_event": 1}})
	if a.Error == nil {
		t.Errorf("it answers: %s", a.Result)
	}
}

func TestToolsFitEveryClient(t *testing.T) {
	tools, _ := listed(t, saving(t))
	counter, err := tokens.New(tokens.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, tool := range tools {
		sum += counter.CountString(tool.Name + "\n" + tool.Title + "\n" + tool.Description + "\n" + string(tool.InputSchema))
		if len(tool.Name) > 22 {
			t.Errorf("%s: name longer than 22 characters", tool.Name)
		}
		shown := strings.ToLower(tool.Title + " " + tool.Description)
		for _, word := range strings.Split(tool.Name, "_") {
			if !strings.Contains(shown, strings.TrimSuffix(word, "s")) {
				t.Errorf("%s: %q is in neither title nor description, so searches miss it", tool.Name, word)
			}
		}
		for hint, want := range map[string]bool{"readOnlyHint": tool.Name != "save_session_summary", "idempotentHint": true, "destructiveHint": false, "openWorldHint": false} {
			if got, ok := tool.Annotations[hint].(bool); !ok || got != want {
				t.Errorf("%s: %s is %v, want %v", tool.Name, hint, tool.Annotations[hint], want)
			}
		}
		checkFlat(t, tool.Name, tool.InputSchema, false)
		if tool.OutputSchema != nil {
			checkFlat(t, tool.Name, tool.OutputSchema, true)
		}
		paged := strings.Contains(string(tool.InputSchema), `"max_bytes"`)
		if _, ok := tool.Meta["anthropic/maxResultSizeChars"]; ok != paged {
			t.Errorf("%s: maxResultSizeChars set: %v, paged: %v", tool.Name, ok, paged)
		}
		if paged && tool.OutputSchema != nil {
			t.Errorf("%s: pages must be text alone", tool.Name)
		}
	}
	if sum > 2000 {
		t.Errorf("the tools take %d tokens, more than 2000", sum)
	}
	t.Logf("the tools take %d tokens", sum)
}

// checkFlat refuses what some client chokes on.
func checkFlat(t *testing.T, name string, schema json.RawMessage, output bool) {
	t.Helper()
	for _, bad := range []string{`"$ref"`, `"anyOf"`, `"oneOf"`, `"allOf"`, `"null"`} {
		if bytes.Contains(schema, []byte(bad)) {
			t.Errorf("%s: schema has %s", name, bad)
		}
	}
	var s struct {
		Type       string
		Properties map[string]struct{ Type any }
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" {
		t.Fatalf("%s: schema of type %q (%v)", name, s.Type, err)
	}
	if !output && (s.Additional == nil || *s.Additional) {
		t.Errorf("%s: additionalProperties must be false", name)
	}
	for p, v := range s.Properties {
		if _, ok := v.Type.(string); !ok {
			t.Errorf("%s: %s has no single type", name, p)
		}
	}
	for _, r := range s.Required {
		if _, ok := s.Properties[r]; !ok {
			t.Errorf("%s: requires %s, which it doesn't have", name, r)
		}
	}
}
