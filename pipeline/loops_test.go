package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// askedIn are requests in the languages that documents are written in.
var askedIn = map[string]string{
	"english":  "never touch the zebra4711 fonts, fix the renderer",
	"chinese":  "请修复渲染器，不要动 zebra4711 字体",
	"japanese": "レンダラーを直してください。zebra4711 のフォントは絶対に触らないで",
	"german":   "bitte den Renderer reparieren, die Schrift zebra4711 auf keinen Fall anfassen, und danke für die Mühe",
}

// first is the session that all begins with.
func first(ask string) []transcript.Message {
	var ms []transcript.Message
	add := func(it transcript.Item) { ms = append(ms, transcript.Message{Item: it}) }
	add(transcript.Item{Role: transcript.RoleUser, Text: ask})
	add(transcript.Item{Role: transcript.RoleToolCall, Name: "exec_command", CallID: "c", Args: `{"cmd":"go test ./zebra4711"}`})
	add(transcript.Item{Role: transcript.RoleToolResult, CallID: "c", Text: "--- FAIL: zebra4711\nexit 1", HasExit: true, ExitCode: 1})
	add(transcript.Item{Role: transcript.RoleAssistant, Text: "zebra4711 is the cause.\n\n# A heading\n---\n```\ncode\n"})
	return ms
}

// next is a session that was given what an earlier one handed on, in each way
// that there is.
func next(ask, memory, handoff string, round int) []transcript.Message {
	var ms []transcript.Message
	add := func(it transcript.Item) { ms = append(ms, transcript.Message{Item: it}) }
	call := func(name, args, output string) {
		id := fmt.Sprint("c", len(ms))
		add(transcript.Item{Role: transcript.RoleToolCall, Name: name, CallID: id, Args: args})
		add(transcript.Item{Role: transcript.RoleToolResult, CallID: id, Text: output, HasExit: true})
	}
	add(transcript.Item{Role: transcript.RoleUser, Text: handoff})
	add(transcript.Item{Role: transcript.RoleUser, Text: "<working_memory_content>\n" + memory + "</working_memory_content>\n\nround " + fmt.Sprint(round) + ": go on with the port of lion0815"})
	add(transcript.Item{Role: transcript.RoleUser, Text: "see this:\n" + memory + "\nand keep to it"})
	call("mcp__session-migrator__get_session_context", `{"session":"latest"}`, memory)
	call("session_migrator.list_sessions", `{}`, "zebra4711")
	call("exec_command", `{"cmd":"cat notes.md"}`, "Output:\n"+memory)
	call("exec_command", `{"cmd":"session-migrator migrate latest --to gpt-5.5"}`, handoff)
	call("exec_command", `{"cmd":"make lion0815"}`, "ok")
	add(transcript.Item{Role: transcript.RoleAssistant, Text: "lion0815 is ported. " + ask[:0]})
	return ms
}

// What one session hands on to the next is not handed on again, and nothing
// grows from round to round.
func TestHandoffsDontFeedOnThemselves(t *testing.T) {
	b := newBench(t)
	for language, ask := range askedIn {
		for _, format := range []string{"markdown", "messages"} {
			var sizes [][2]int
			ms := first(ask)
			for round := range 6 {
				v, err := b.pipe.ViewOf(t.Context(), ms)
				if err != nil {
					t.Fatal(err)
				}
				memory := map[string]string{}
				for name, q := range map[string]pipeline.MemoryRequest{
					"standard": {}, "brief": {Units: 1200}, "bare": {Bare: true}, "full": {Units: 20000}, "direct": {Target: "gpt-5.5"},
				} {
					text, err := b.pipe.Memory(t.Context(), v, q)
					if err != nil {
						t.Fatal(err)
					}
					memory[name] = string(text)
				}
				v.Thread.ID = id(fmt.Sprintf("%03d", round))
				h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Format: format})
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, [2]int{len(memory["direct"]), len(h.Text)})
				for name, text := range memory {
					if round > 0 && strings.Contains(text, "zebra4711") || !strings.Contains(text, []string{"zebra4711", "lion0815"}[min(round, 1)]) {
						t.Fatalf("%s, %s, round %d, %s:\n%s", language, format, round, name, text)
					}
				}
				if text := string(h.Text); round > 0 && (strings.Contains(text, "zebra4711") || strings.Count(text, "earlier agent session") > 1 || !strings.Contains(text, "of session-migrator itself")) || !strings.Contains(text, []string{"zebra4711", "lion0815"}[min(round, 1)]) {
					t.Fatalf("%s, round %d, %s:\n%s", language, round, format, text)
				}
				name := []string{"standard", "brief", "bare", "full", "direct", "standard"}[round]
				ms = next(ask, memory[name], string(h.Text), round)
			}
			for round := 2; round < len(sizes); round++ {
				if sizes[round][0] > sizes[1][0]+8 || sizes[round][1] > sizes[1][1]+8 { // the digits of a figure
					t.Errorf("%s, %s: sizes grow: %v", language, format, sizes)
					break
				}
			}
		}
	}
}

// Refs to a part of an output count the text that was handed on.
func TestRefsCountWhatWasHandedOn(t *testing.T) {
	b := newBench(t)
	v, err := b.pipe.ViewOf(t.Context(), first(askedIn["english"]))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := b.pipe.Memory(t.Context(), v, pipeline.MemoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	in := []transcript.Message{{Item: transcript.Item{Role: transcript.RoleToolResult, Text: "<|im_end|>\x1b[31m\n" + string(memory) + "tail"}}}
	out, left := pipeline.HandedOn(in)
	if want := "(|im_end|)\n[text of session-migrator, left out]\ntail"; left != 1 || out[0].Text != want {
		t.Errorf("%d: %q, want %q", left, out[0].Text, want)
	}
	if in[0].Text == out[0].Text {
		t.Error("what was given was written to")
	}
}
