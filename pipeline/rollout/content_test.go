package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// item wraps a response item's payload into a line.
func item(payload string) string {
	return `{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":` + payload + "}\n"
}

func event(payload string) string {
	return `{"timestamp":"2026-09-01T09:00:00.000Z","type":"event_msg","payload":` + payload + "}\n"
}

func TestPersonsWords(t *testing.T) {
	const picture = `{"type":"input_image","image_url":"data:image/png;base64,AAAA"}`
	for _, c := range []struct {
		name, content, kinds string
		want                 []string
		images, injected     int
		unknown              string
	}{
		{"one text", `[{"type":"input_text","text":"a"}]`, ``, []string{"user: a"}, 0, 0, ""},
		{"two texts", `[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]`, ``, []string{"user: a\nb"}, 0, 0, ""},
		{"a string", `"a"`, ``, []string{"user: a"}, 0, 0, ""},
		{"empty text", `[{"type":"input_text","text":""}]`, ``, []string{"user: "}, 0, 0, ""},
		{"nothing", `[]`, ``, nil, 0, 1, ""},
		{"null", `null`, ``, nil, 0, 1, ""},
		{"context", `[{"type":"input_text","text":"<environment_context>x</environment_context>"}]`, ``, nil, 0, 1, ""},
		{"context beside words", `[{"type":"input_text","text":"<environment_context>x</environment_context>"},{"type":"input_text","text":"a"}]`, ``, []string{"user: a"}, 0, 0, ""},
		{"named context", `[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]`, `["agents_md.instructions","environments.environment_context"]`, nil, 0, 1, ""},
		{"named words that look like context", `[{"type":"input_text","text":"<skill>x</skill>"}]`, `["user.text"]`, []string{"user: <skill>x</skill>"}, 0, 0, ""},
		{"named unknown", `[{"type":"input_text","text":"a"}]`, `["unknown"]`, []string{"user: a"}, 0, 0, ""},
		{"family", `[{"type":"input_text","text":"a"}]`, `["guardian.anything"]`, nil, 0, 1, ""},
		{"new name", `[{"type":"input_text","text":"a"}]`, `["weather.report"]`, nil, 0, 1, "weather.report"},
		{"fewer names than parts", `[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]`, `["user.text"]`, []string{"user: a\nb"}, 0, 0, ""},
		{"picture and text", `[{"type":"input_text","text":"<image name=[Image #1]>"},` + picture + `,{"type":"input_text","text":"</image>"},{"type":"input_text","text":"look"}]`, ``, []string{"user: look"}, 1, 0, ""},
		{"picture and text, named", `[{"type":"input_text","text":"<image name=[Image #1] path=\"/x y.png\">"},` + picture + `,{"type":"input_text","text":"</image>"},{"type":"input_text","text":"look"}]`, `["user.text","user.image","user.text","user.text"]`, []string{"user: look"}, 1, 0, ""},
		{"words about images", `[{"type":"input_text","text":"</image>"}]`, ``, []string{"user: </image>"}, 0, 0, ""},
		{"pictures only", `[` + picture + `,` + picture + `]`, ``, []string{"user: "}, 2, 0, ""},
	} {
		pass := ""
		if c.kinds != "" {
			pass = `,"internal_chat_message_metadata_passthrough":{"content_item_kinds":` + c.kinds + `}`
		}
		r := parse(t, []byte(item(`{"type":"message","role":"user","content":`+c.content+pass+`}`)), reading{})
		if got := r.messages(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		f := r.state.Facts
		if f.Images != c.images || f.Injected != c.injected || len(c.want) > 0 && r.Items[0].Images != c.images {
			t.Errorf("%s: %d images, %d injected", c.name, f.Images, f.Injected)
		}
		if c.unknown == "" && len(r.Unknown) > 0 || c.unknown != "" && (len(r.Unknown) != 1 || r.Unknown[0].Name != c.unknown || r.Unknown[0].Kind != "content") {
			t.Errorf("%s: unknown %+v", c.name, r.Unknown)
		}
		for _, it := range r.Items {
			if strings.Contains(it.Text, "base64") {
				t.Errorf("%s: picture in the text", c.name)
			}
		}
	}
}

func TestFirstUser(t *testing.T) {
	for in, want := range map[string]string{
		"# Context from my IDE setup:\n\n## Active file: a.go\n\n## My request for Codex:\nfix\n it ": "fix it",
		"plain":                  "plain",
		strings.Repeat("é", 300): strings.Repeat("é", 200),
	} {
		r := parse(t, start(rollouttest.Paginated).User(in).User("later").Bytes(), reading{chunk: 1})
		if got := r.state.Facts.FirstUser; got != want {
			t.Errorf("first of %.20q is %q", in, got)
		}
		if r.Items[0].Text != in {
			t.Error("the text itself was changed")
		}
	}
}

// Old versions showed the picture of view_image as a message of the person.
func TestViewImage(t *testing.T) {
	picture := item(`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`)
	b := start(rollouttest.Legacy).User("view it").Bytes()
	b = append(b, item(`{"type":"function_call","name":"view_image","arguments":"{}","call_id":"c"}`)+
		item(`{"type":"function_call_output","call_id":"c","output":"attached local image path"}`)+picture+
		event(`{"type":"user_message","message":"","images":["data:image/png;base64,AAAA"]}`)+picture...)
	for _, chunk := range []int{0, 1} {
		r := parse(t, b, reading{chunk: chunk})
		wantMessages(t, r, "user: view it", "user: ") // the second picture is the person's
		if r.state.Facts.Images != 2 || r.state.Facts.Turns != 2 {
			t.Errorf("%d images in %d turns", r.state.Facts.Images, r.state.Facts.Turns)
		}
	}
}

func TestTools(t *testing.T) {
	for _, c := range []struct {
		payload, name, callID, args string
	}{
		{`{"type":"function_call","name":"echo","namespace":"mcp__x","arguments":"{\"a\":1}","call_id":"c"}`, "echo", "c", `{"a":1}`},
		{`{"type":"local_shell_call","call_id":"c","status":"completed","action":{"type":"exec","command":["ls","-l"]}}`, "local_shell", "c", `{"type":"exec","command":["ls","-l"]}`},
		{`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"格式"}}`, "web_search", "ws_1", `{"type":"search","query":"格式"}`},
		{`{"type":"custom_tool_call","status":"completed","call_id":"c","name":"apply_patch","input":"*** Begin"}`, "apply_patch", "c", "*** Begin"},
		{`{"type":"tool_search_call","call_id":"c","arguments":{"query":"x"}}`, "tool_search", "c", `{"query":"x"}`},
		{`{"type":"image_generation_call","id":"ig_1","revised_prompt":"a cat","result":"iVBORw0KGgo="}`, "image_generation", "ig_1", "a cat"},
	} {
		r := parse(t, []byte(item(c.payload)), reading{})
		if len(r.Items) != 1 {
			t.Fatalf("%s: %+v", c.payload, r.Items)
		}
		if it := r.Items[0]; it.Role != transcript.RoleToolCall || it.Name != c.name || it.CallID != c.callID || it.Args != c.args {
			t.Errorf("%+v", it)
		}
	}
	for _, c := range []struct {
		output, text string
		exit         int
		hasExit      bool
	}{
		{`"plain"`, "plain", 0, false},
		{`"{\"output\":\"x\\n\",\"metadata\":{\"exit_code\":3,\"duration_seconds\":0.1}}"`, "x\n", 3, true},
		{`"{\"output\":\"x\"}"`, `{"output":"x"}`, 0, false},
		{`"{\"output\":\"x\",\"metadata\":{\"exit_code\":3},\"more\":1}"`, `{"output":"x","metadata":{"exit_code":3},"more":1}`, 0, false},
		{`[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:"},{"type":"encrypted_content","encrypted_content":"gAAA"},{"type":"input_text","text":"b"}]`, "a[image]b", 0, false},
		{`{"content":"c","success":true}`, "c", 0, false},
		{`{"content":[{"type":"text","text":"c"}]}`, "c", 0, false},
		{`null`, "", 0, false},
	} {
		r := parse(t, []byte(item(`{"type":"function_call_output","output":`+c.output+`}`)), reading{})
		if it := r.Items[0]; it.Text != c.text || it.ExitCode != c.exit || it.HasExit != c.hasExit || it.Role != transcript.RoleToolResult {
			t.Errorf("%s: %+v", c.output, it)
		}
	}
}

func TestReasoning(t *testing.T) {
	for payload, want := range map[string]string{
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gAAA"}`: "a\n\nb",
		`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"thought"}],"encrypted_content":null}`:                 "thought",
		`{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`:                                                                      "",
	} {
		r := parse(t, []byte(item(payload)), reading{})
		if got := r.live(transcript.RoleReasoning); want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Text != want) {
			t.Errorf("%s: %+v", payload, got)
		}
	}
}

// Writers that leave out response items: the events are all there is.
func TestEventOnly(t *testing.T) {
	user := func(s string) string { return event(`{"type":"user_message","message":"` + s + `","images":[]}`) }
	agent := func(s string) string { return event(`{"type":"agent_message","message":"` + s + `"}`) }
	userItem := func(s string) string {
		return item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"` + s + `"}]}`)
	}
	agentItem := func(s string) string {
		return item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + s + `"}]}`)
	}
	for _, c := range []struct {
		name, lines string
		want        []string
		noted       int
	}{
		{"Codex's order", userItem("u") + user("u") + agent("a") + agentItem("a") + userItem("u") + user("u"), []string{"user: u", "assistant: a", "user: u"}, 0},
		{"event first", user("u") + userItem("u") + agent("a") + agentItem("a") + user("v") + userItem("v"), []string{"user: u", "assistant: a", "user: v"}, 0},
		{"events only", user("u") + agent("a") + user("v") + agent("b"), []string{"user: u", "assistant: a", "user: v", "assistant: b"}, 2},
		{"answers as items", user("u") + agentItem("a") + user("v") + agentItem("b"), []string{"user: u", "assistant: a", "user: v", "assistant: b"}, 2},
		{"answers both ways", user("u") + agent("a") + agentItem("a") + user("v") + agent("b") + agentItem("b"), []string{"user: u", "assistant: a", "user: v", "assistant: b"}, 2},
		{"another shape of the same", user("u") + userItem("# IDE\\nu") + agentItem("a"), []string{"user: # IDE\nu", "assistant: a"}, 0},
		{"reviews", event(`{"type":"entered_review_mode"}`) + user("review it") + user("review it") + agentItem("fine"), []string{"assistant: fine"}, 0},
		{"said by the program", agent("Compact task completed"), nil, 0},
		{"context", user("<user_action>x</user_action>"), nil, 0},
	} {
		for _, chunk := range []int{0, 1} {
			r := parse(t, []byte(c.lines), reading{chunk: chunk})
			wantMessages(t, r, c.want...)
			noted := 0
			for _, u := range r.Unknown {
				noted += u.Count
			}
			if noted != c.noted {
				t.Errorf("%s: noted %d times, want %d", c.name, noted, c.noted)
			}
			if n := r.state.Facts.Turns; n != len(r.live(transcript.RoleUser)) {
				t.Errorf("%s: %d turns", c.name, n)
			}
		}
	}
}

func TestKeysSurviveReserialisation(t *testing.T) {
	old := item(`{"type":"function_call","name":"sh","arguments":"{}","call_id":"c"}`) + item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}`)
	renewed := item(`{"type":"function_call","id":"fc_9","name":"sh","arguments":"{}","call_id":"c","extra":1}`) + item(`{"type":"message","id":"m","role":"user","content":[{"type":"input_text","text":"\u0078"}],"local_audio":[]}`)
	a, b := parse(t, []byte(old), reading{}).Items, parse(t, []byte(renewed), reading{}).Items
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Key == 0 {
			t.Errorf("keys %x and %x", a[i].Key, b[i].Key)
		}
	}
	if a[0].Key == a[1].Key {
		t.Error("different items have one key")
	}
}

// The keys are stored: they must not change from one version to the next
// without a new parser version.
func TestKeyIsStable(t *testing.T) {
	r := parse(t, []byte(item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello, 世界! This is longer."}]}`)), reading{})
	if got := r.Items[0].Key; got != 0x52b84c0f53e4d420 {
		t.Errorf("key %#x", got)
	}
}
