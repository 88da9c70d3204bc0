package rollout_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// output is a tool's output as programs write it: short lines, some quotes.
func output(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%4d\tif err := run(ctx, \"step %d\"); err != nil { return fmt.Errorf(\"run: %%w\", err) }\n", i, i)
	}
	return b.String()
}

// split gives the lines as the pipeline delivers them.
func split(b []byte) []rollout.Line {
	var lines []rollout.Line
	off := int64(0)
	for line := range bytes.Lines(b) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		need := rollout.Classify(text[:min(len(text), 512)], len(text) <= 512)
		lines = append(lines, rollout.Line{Bytes: text, Number: int64(len(lines) + 1), Offset: off, Size: int64(len(text)), Need: need})
		off += int64(len(line))
	}
	return lines
}

func BenchmarkLine(b *testing.B) {
	tools := rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).User("Fix the build")
	talk := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	events := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	for i := range 60 {
		tools.Call("exec_command", `{"cmd":"make"}`, output(4<<10)).Tokens(1000, 0, 100, 10)
		talk.User(fmt.Sprintf("Request %d: %s", i, strings.Repeat("please look at it. ", 20))).Assistant(strings.Repeat("Done, 完成。 ", 60)).Tokens(1000, 0, 100, 10)
		events.Raw(`{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":9,"type":"world_state","payload":{"full":true,"state":{"text":"` + strings.Repeat("lorem ipsum ", 700) + `"}}}`)
		events.Raw(`{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":9,"type":"event_msg","payload":{"type":"item_completed","thread_id":"t","turn_id":"u","item":{"type":"CommandExecution","id":"c","aggregated_output":"` + strings.Repeat(`ok \"fine\"\n`, 300) + `"}}}`)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"ToolOutput", tools.Bytes()}, {"Messages", talk.Bytes()}, {"NoConversation", events.Bytes()},
		{"Real0171", load(b, "codex/0.171.0-error.jsonl")}, {"Real058", load(b, "codex/0.58.0-basic.jsonl")},
	} {
		lines := split(c.data)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			var d transcript.Delta
			for b.Loop() {
				d.Reset()
				p := rollout.NewParser(rollout.State{}, rollout.Options{})
				for _, l := range lines {
					p.Line(l, &d)
				}
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	lines := split(load(b, "codex/0.171.0-error.jsonl"))
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			rollout.Classify(l.Bytes[:min(len(l.Bytes), 512)], len(l.Bytes) <= 512)
		}
	}
}
