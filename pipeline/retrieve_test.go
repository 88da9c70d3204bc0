package pipeline_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
)

// What is to be asked next decides over a tenth of a hand-over, and of a
// document. Secrets go before a passage is cut.
func TestWhatWasSaidAboutTheNextRequestComesAlong(t *testing.T) {
	texts := numbered(0, 400)
	texts[121] = "the courier was late: nobody had opened the side gate, password=hunter2-Zq81xLmW"
	b, _, _ := opened(t, texts...)
	v, err := b.pipe.View(t.Context(), openThread)
	if err != nil {
		t.Fatal(err)
	}
	const next = "Why was the courier late?"
	for _, format := range []string{"markdown", "messages", "openai", "anthropic"} {
		for _, strategy := range []string{"latest", "selected"} {
			q := pipeline.Request{Target: "gpt-5.5", Budget: 2_000, Strategy: strategy, Format: format}
			without, err := b.pipe.Migrate(t.Context(), v, q)
			if err != nil {
				t.Fatal(err)
			}
			q.Next = next
			h, err := b.pipe.Migrate(t.Context(), v, q)
			if err != nil {
				t.Fatal(err)
			}
			text := string(h.Text)
			if strategy == "latest" && strings.Contains(string(without.Text), "the courier") {
				t.Fatal("it is there anyway: this tests nothing")
			}
			if !strings.Contains(text, "the courier was late") || h.Tokens > 2_000 || strings.Contains(text, "hunter2") {
				t.Errorf("%s, %s: %d tokens:\n%s", format, strategy, h.Tokens, text)
			}
			if strategy == "latest" && (h.Retrieved != 1 || without.Retrieved != 0) {
				t.Errorf("%s: %d retrieved, without a next request %d", format, h.Retrieved, without.Retrieved)
			}
		}
	}
	doc, err := b.pipe.Memory(t.Context(), v, pipeline.MemoryRequest{Next: next})
	if err != nil || !strings.Contains(string(doc), "the courier was late") || !strings.Contains(string(doc), "`om_000000d1.122`") || strings.Contains(string(doc), "hunter2") {
		t.Errorf("%v:\n%s", err, doc)
	}
	if doc, err = b.pipe.Memory(t.Context(), v, pipeline.MemoryRequest{}); err != nil || strings.Contains(string(doc), "the courier was late") {
		t.Errorf("there without a next request: %v", err)
	}
}
