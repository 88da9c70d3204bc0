package pipeline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// No form of a hand-off shows a secret of any kind, in any place, at any budget:
// wherever the text is cut, it was redacted before.
func TestNoFormShowsASecret(t *testing.T) {
	b := newBench(t)
	const places = 8
	var made [places][]redacttest.Secret
	for n := range made {
		made[n] = redacttest.All(uint64(200 + n))
	}
	for i := range made[0] {
		var s [places]redacttest.Secret
		for n := range s {
			s[n] = made[n][i]
		}
		leaks := redacttest.NewLeaks(s[:])
		var ms []transcript.Message
		add := func(it transcript.Item) { ms = append(ms, transcript.Message{Item: it}) }
		args, err := json.Marshal(map[string]string{"cmd": "make deploy # " + s[1].Text})
		if err != nil {
			t.Fatal(err)
		}
		add(transcript.Item{Role: transcript.RoleUser, Text: strings.Repeat("go ", 60) + s[0].Text + "\nnever lose " + s[4].Text})
		add(transcript.Item{Role: transcript.RoleToolCall, Name: "exec_command", CallID: "c", Args: string(args)})
		add(transcript.Item{Role: transcript.RoleToolResult, CallID: "c", HasExit: true, ExitCode: 1, Text: strings.Repeat("more\n", i%50) + "error: " + s[2].Text + "\n" + strings.Repeat("more\n", i%70)})
		add(transcript.Item{Role: transcript.RoleAssistant, Text: "I used this:\n" + s[3].Text + "\n" + strings.Repeat("It went well. ", i%90)})
		v, err := b.pipe.ViewOf(t.Context(), ms)
		if err != nil {
			t.Fatal(err)
		}
		v.Thread.Title, v.Thread.Cwd, v.Thread.GitURL = "deploy "+s[5].Text, "/srv/"+s[6].Text, "https://git.test/"+s[7].Text
		v.Thread.GitBranch, v.Thread.Model = s[6].Text, s[7].Text
		check := func(form string, text []byte, err error) {
			if err == nil && leaks.In(string(text)) != nil {
				t.Errorf("%s, %s: %v in\n%s", s[0].Name, form, leaks.In(string(text)), text)
			}
		}
		check("file name", []byte(pipeline.MemoryName(v, nil)), nil)
		// Each kind is cut at every fifth of these places, all together at each.
		for units := 200 + 37*(i%5); units < 2600; units += 5 * 37 {
			text, err := b.pipe.Memory(t.Context(), v, pipeline.MemoryRequest{Units: units, Bare: units%2 == 0})
			check(fmt.Sprintf("memory of %d", units), text, err)
		}
		for _, q := range []pipeline.MemoryRequest{{}, {Units: 20000}, {Target: "gpt-5.5"}} {
			text, err := b.pipe.Memory(t.Context(), v, q)
			if err != nil || !strings.Contains(string(text), "[redacted:") {
				t.Errorf("%s: no mark, %v in\n%s", s[0].Name, err, text)
			}
			check("memory", text, err)
		}
		v.Thread.ID = id("001")
		for _, format := range []string{"markdown", "messages", "openai", "anthropic"} {
			h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Format: format})
			if err != nil || !strings.Contains(string(h.Text), "[redacted:") {
				t.Errorf("%s, %s: no mark, %v", s[0].Name, format, err)
			}
			check(format, h.Text, err)
			for budget := 60 + 11*(i%7); budget < 400; budget += 77 {
				h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Format: format, Budget: budget})
				check(fmt.Sprintf("%s of %d", format, budget), h.Text, err)
			}
		}
		if t.Failed() {
			return
		}
	}
}
