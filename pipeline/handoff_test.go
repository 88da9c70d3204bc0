package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// talk is a conversation of short messages: what stands around them weighs most.
func talk(n int) []transcript.Message {
	var ms []transcript.Message
	add := func(it transcript.Item) { ms = append(ms, transcript.Message{Item: it}) }
	for i := range n {
		add(transcript.Item{Role: transcript.RoleUser, Text: fmt.Sprint("question number ", i)})
		add(transcript.Item{Role: transcript.RoleToolCall, Name: "shell", CallID: fmt.Sprint("c", i), Args: fmt.Sprintf(`{"cmd":"go test ./pkg%d"}`, i)})
		add(transcript.Item{Role: transcript.RoleToolResult, CallID: fmt.Sprint("c", i), Text: strings.Repeat(fmt.Sprintf("line %d of the output\n", i), i%40), HasExit: true})
		add(transcript.Item{Role: transcript.RoleAssistant, Text: fmt.Sprint("answer number ", i)})
	}
	return ms
}

func TestHandoffNeverExceedsTheRoom(t *testing.T) {
	b := newBench(t)
	v, err := b.pipe.ViewOf(t.Context(), talk(120))
	if err != nil {
		t.Fatal(err)
	}
	v.Thread.ID = id("077")
	count, err := tokens.New(tokens.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	session := int(v.Thread.Tokens["o200k_base"])
	var direct, compress int
	for window := 30_000; window < 90_000; window += 1_500 {
		for _, format := range []string{"markdown", "messages"} {
			h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: fmt.Sprint("gpt-4o@", window), Format: format})
			if err != nil {
				t.Fatalf("window %d: %v", window, err)
			}
			if n := count.Count(h.Text); n > h.Decision.Room || n != h.Tokens {
				t.Errorf("window %d, %s: %d tokens for a room of %d, said to be %d", window, format, n, h.Decision.Room, h.Tokens)
			}
			if h.Decision.Verdict == decide.Direct {
				direct++
				if h.Omitted != 0 || h.Decision.Room < session {
					t.Errorf("window %d: direct, but %d messages left out of %d tokens for %d", window, h.Omitted, session, h.Decision.Room)
				}
			} else {
				compress++
			}
		}
	}
	if direct == 0 || compress == 0 {
		t.Errorf("%d direct, %d compress: the range of windows tests nothing", direct, compress)
	}
}

func TestHandoffKeepsABudgetThatTheUserGives(t *testing.T) {
	b := newBench(t)
	v, err := b.pipe.ViewOf(t.Context(), talk(60))
	if err != nil {
		t.Fatal(err)
	}
	v.Thread.ID = id("077")
	for _, strategy := range []string{"", "latest", "shrunk", "selected"} {
		for _, budget := range []int{400, 1_000, 4_000, 12_000} {
			for _, format := range []string{"markdown", "messages", "openai", "anthropic"} {
				h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Budget: budget, Strategy: strategy, Format: format})
				if err != nil {
					t.Errorf("%s %d %s: %v", strategy, budget, format, err)
					continue
				}
				if h.Tokens > budget {
					t.Errorf("%s within %d as %s: %d tokens", h.Strategy, budget, format, h.Tokens)
				}
			}
		}
	}
}

func TestSecretsDontLeave(t *testing.T) {
	b := newBench(t)
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	ms := append(talk(2), transcript.Message{Item: transcript.Item{Role: transcript.RoleUser, Text: "my token is " + secret}})
	v, err := b.pipe.ViewOf(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	v.Thread.ID, v.Thread.Title = id("077"), "use "+secret
	for _, format := range []string{"markdown", "messages", "openai", "anthropic"} {
		h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Format: format})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(h.Text), secret) || !strings.Contains(string(h.Text), "redacted:github-token") {
			t.Errorf("%s: %s", format, h.Text)
		}
	}
}

// TestHandoffCountsWhatStandsAroundMessages: in a chat format each message has
// its own frame, other formats are one message; the count has its bounds.
func TestHandoffCountsWhatStandsAroundMessages(t *testing.T) {
	b := newBench(t)
	v, err := b.pipe.ViewOf(t.Context(), talk(3)) // three each of requests, calls, results, answers
	if err != nil {
		t.Fatal(err)
	}
	v.Thread.ID = id("077")
	for _, tt := range []struct {
		target, format, strategy string
		budget, overhead         int
	}{
		{"gpt-5.5", "openai", "", 0, 5 + 3*(4+6+14+11)},
		{"gpt-5.5", "openai", "selected", 100_000, 5 + 3*(4+6+14+11)},
		{"gpt-5.5", "markdown", "", 0, 5 + 4},
		{"claude-sonnet-4-6", "anthropic", "", 0, 9 + 3*(2+2+4+4)},
		{"claude-sonnet-4-6", "markdown", "", 0, 9 + 2},
	} {
		h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: tt.target, Format: tt.format, Strategy: tt.strategy, Budget: tt.budget})
		if err != nil {
			t.Fatal(err)
		}
		if h.Overhead != tt.overhead || h.Decision.MessageOverhead == 0 {
			t.Errorf("%s as %s: %d tokens around %d messages, want %d; the decision has %d", tt.target, tt.format, h.Overhead, h.Kept, tt.overhead, h.Decision.MessageOverhead)
		}
		n := int64(h.Tokens)
		if exact := strings.HasPrefix(tt.target, "gpt"); exact != (h.Count.Method == tokens.Exact) || exact != (h.Count.Lo == n && h.Count.Hi == n) {
			t.Errorf("%s: %d tokens are %+v", tt.target, n, h.Count)
		}
	}
}
