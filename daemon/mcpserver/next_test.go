package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// next_prompt brings along what was said about it, marked, in each format, and
// later pages are of the same text, after a restart too.
func TestNextPromptBringsPassages(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)})
	for i := range 600 {
		word := fmt.Sprintf("request %d about the usual things", i)
		if i == 40 {
			word = "The courier was late because nobody had opened the side gate."
		}
		r.User(word).Assistant(fmt.Sprintf("done %d", i)).End()
	}
	w := newWorld(t, r)
	const next = `,"next_prompt":"Why was the courier late?"`
	base := `"session":"` + projID + `","target_model":"gpt-9@9000"`
	c := legacy(t, w.deps())
	for format, mark := range map[string]string{"memory": "## Found for the next request", "handoff": "retrieved for the next request, om_"} {
		args := `{` + base + `,"format":"` + format + `"`
		if text := c.good("get_session_context", args+`,"max_bytes":200000}`).text(); strings.Contains(text, "the side gate") {
			t.Fatalf("%s: it is there anyway", format)
		}
		text := c.good("get_session_context", args+next+`,"max_bytes":200000}`).text()
		if !strings.Contains(text, "the side gate") || !strings.Contains(text, mark) {
			t.Errorf("%s: not there:\n%.2000s", format, text)
		}
		_, _, cursor := pageOf(t, c.good("get_session_context", args+next+`,"max_bytes":2500}`).text())
		again := legacy(t, w.deps()) // has no page at hand
		if cursor == "" {
			t.Fatalf("%s: one page", format)
		}
		again.good("get_session_context", `{"session":"`+projID+`","cursor":"`+cursor+`"}`)
	}
	var messages []map[string]string
	for i := range 800 {
		messages = append(messages, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": fmt.Sprintf("text %d of the conversation", i)})
	}
	messages[50]["content"] = "The courier was late because nobody had opened the side gate."
	list, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	given := `{"messages_json":` + string(list) + `,"target_model":"gpt-9@9000","max_bytes":200000`
	if text := c.good("migrate_session", given+next+`}`).text(); !strings.Contains(text, "the side gate") {
		t.Errorf("given messages: not there:\n%.2000s", text)
	}
}
