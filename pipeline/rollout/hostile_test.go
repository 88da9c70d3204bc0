package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
)

func metaLine(t *testing.T, payload map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"timestamp": "2026-09-01T10:00:00.000Z", "type": "session_meta", "payload": payload})
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// Ids that could leave their place in a path or on a line are none.
func TestHostileIds(t *testing.T) {
	tests := []struct{ id, want string }{
		{"019a0000-0000-7000-8000-00000000a001", "019a0000-0000-7000-8000-00000000a001"},
		{"Thread_7", "Thread_7"},
		{strings.Repeat("a", 64), strings.Repeat("a", 64)},
		{strings.Repeat("a", 65), ""},
		{"..", ""}, {"../../etc/passwd", ""}, {"a/b", ""}, {`a\b`, ""}, {"a.b", ""}, {"a b", ""}, {"a\nb", ""}, {"a\n", ""}, {"a\x00", ""},
		{"\x1b[31ma", ""}, {"a\u202eb", ""}, {"ä", ""},
	}
	for _, tt := range tests {
		f := parse(t, metaLine(t, map[string]any{
			"id": tt.id, "session_id": tt.id, "forked_from_id": tt.id, "parent_thread_id": tt.id,
			"history_base": map[string]any{"thread_id": tt.id, "end_ordinal_exclusive": 3},
		}), reading{}).state.Facts
		base := ""
		if f.Base != nil {
			base = f.Base.RolloutID
		}
		if got := [5]string{f.ThreadID, f.Session, f.ForkedFrom, f.Parent, base}; got != [5]string{tt.want, tt.want, tt.want, tt.want, tt.want} {
			t.Errorf("%q: thread, session, fork, parent, base are %q", tt.id, got)
		}
		f = parse(t, metaLine(t, map[string]any{"id": "own", "source": map[string]any{"subagent": map[string]any{"thread_spawn": map[string]any{"parent_thread_id": tt.id}}}}), reading{}).state.Facts
		if f.Parent != tt.want {
			t.Errorf("%q: spawned by %q", tt.id, f.Parent)
		}
		f = parse(t, append(metaLine(t, map[string]any{"id": "own"}), metaLine(t, map[string]any{"id": tt.id})...), reading{}).state.Facts
		if f.CopyOf != tt.want {
			t.Errorf("%q: copy of %q", tt.id, f.CopyOf)
		}
		line, _ := json.Marshal(map[string]string{"id": tt.id, "thread_name": "n"})
		if n, ok := rollout.ParseIndexLine(line); n.ThreadID != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: index names %q, %v", tt.id, n.ThreadID, ok)
		}
	}
}

func TestHostileNames(t *testing.T) {
	long := strings.Repeat("ä", 150)
	for in, want := range map[string]string{
		"gpt-5.5": "gpt-5.5", "a\x1b[31mb\nc\x00\td\x7f": "abcd", "日本 x": "日本 x", long: strings.Repeat("ä", 100), "x" + long: "x" + strings.Repeat("ä", 99),
	} {
		b := metaLine(t, map[string]any{"id": "own", "originator": in, "cli_version": in, "model_provider": in, "source": in, "agent_nickname": in, "git": map[string]any{"branch": in}})
		turn, err := json.Marshal(map[string]any{"timestamp": "2026-09-01T10:00:01.000Z", "type": "turn_context", "payload": map[string]any{"model": in, "effort": in}})
		if err != nil {
			t.Fatal(err)
		}
		f := parse(t, append(append(b, turn...), '\n'), reading{}).state.Facts
		if got := [8]string{f.Originator, f.CLIVersion, f.Provider, f.Source, f.Nickname, f.GitBranch, f.Model, f.Effort}; got != [8]string{want, want, want, want, want, want, want, want} {
			t.Errorf("%q: %q", in, got)
		}
	}
}
