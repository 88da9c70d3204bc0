package compress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// dullAnswer has an answer in its middle that no strategy would keep at 2,000
// words: it holds no name and no number.
func dullAnswer() (ms []transcript.Message, answer int) {
	for i := range 400 {
		role, text := transcript.RoleUser, fmt.Sprintf("please go on with file%d.go and keep ErrCode%d", i, i)
		if i%2 == 1 {
			role, text = transcript.RoleAssistant, strings.Repeat(fmt.Sprintf("did step%d in pkg%d/part.go\n", i, i), 6)
		}
		if i == 121 {
			text = "first line\nthe reason was that nobody had told the courier about the gate\nlast line"
			answer = i
		}
		m := transcript.Message{Position: int64(i + 1), Ref: fmt.Sprintf("om_7f3a91c2.%d", i+1)}
		m.Seq, m.Role, m.Text, m.ThreadTurn, m.Tokens = int64(i+1), role, text, i/2+1, len(strings.Fields(text))
		ms = append(ms, m)
	}
	return ms, answer
}

func TestRetrievedPassagesStandInTheirPlace(t *testing.T) {
	ms, answer := dullAnswer()
	from := strings.Index(ms[answer].Text, "the reason")
	to := strings.Index(ms[answer].Text, "\nlast")
	passages := []compress.Passage{{Message: answer, Span: compress.Span{From: from, To: to}}}
	for _, strategy := range strategies {
		for _, format := range formats {
			t.Run(strategy+" "+format.String(), func(t *testing.T) {
				s, err := compress.ByName(strategy)
				if err != nil {
					t.Fatal(err)
				}
				in := compress.Input{Messages: ms, BudgetTokens: 2_000, Count: counters["words"], Format: format}
				without, err := s.Select(in)
				if err != nil {
					t.Fatal(err)
				}
				if text, _ := without.Render(format); strings.Contains(string(text), "the courier") || strings.Contains(string(text), "retrieved for") {
					t.Fatal("the passage is there anyway: this tests nothing")
				}
				in.Retrieved = passages
				with, err := s.Select(in)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := with.Render(format)
				mark, ref := "retrieved for the next request", "om_7f3a91c2.122"
				if format == compress.FormatMessages {
					mark = `"retrieved":true`
				}
				if !strings.Contains(string(text), "told the courier") || !strings.Contains(string(text), mark) || !strings.Contains(string(text), ref) {
					t.Errorf("not there, or not marked:\n%s", text)
				}
				if with.Tokens > in.BudgetTokens || with.KeptMessages < without.KeptMessages*8/10 {
					t.Errorf("%d tokens, %d messages kept; without it %d", with.Tokens, with.KeptMessages, without.KeptMessages)
				}
				for i, p := range with.Keep {
					if p.Retrieved != (p.Message.Position == int64(answer+1)) {
						t.Errorf("piece %d: retrieved %v", i, p.Retrieved)
					}
				}
			})
		}
	}
}

// However much was found, it takes a tenth of the budget at most.
func TestRetrievedTakeATenth(t *testing.T) {
	ms, _ := dullAnswer()
	var passages []compress.Passage
	for i := range ms[:300] {
		passages = append(passages, compress.Passage{Message: i, Span: compress.Span{To: len(ms[i].Text)}})
	}
	s, err := compress.ByName("latest")
	if err != nil {
		t.Fatal(err)
	}
	in := compress.Input{Messages: ms, BudgetTokens: 2_000, Count: counters["words"], Retrieved: passages}
	got, err := s.Select(in)
	if err != nil {
		t.Fatal(err)
	}
	found, tokens := 0, 0
	for _, p := range got.Keep {
		if p.Retrieved {
			found++
			tokens += p.Message.Tokens
		}
	}
	if found < 2 || tokens > 200 || got.Tokens > 2_000 {
		t.Errorf("%d passages of %d tokens in %d", found, tokens, got.Tokens)
	}
}

// A retrieved output says what was run.
func TestRetrievedOutputShowsItsCall(t *testing.T) {
	ms, answer := dullAnswer()
	call, result := &ms[answer-1], &ms[answer]
	call.Role, call.Name, call.CallID, call.Args, call.Text = transcript.RoleToolCall, "exec_command", "c1", `{"cmd":"courier --why"}`, ""
	result.Role, result.CallID = transcript.RoleToolResult, "c1"
	s, err := compress.ByName("latest")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Select(compress.Input{Messages: ms, BudgetTokens: 2_000, Count: counters["words"],
		Retrieved: []compress.Passage{{Message: answer, Span: compress.Span{To: len(result.Text)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := got.Render(compress.FormatMarkdown); !strings.Contains(string(text), "courier --why") || !strings.Contains(string(text), "→ tool output (retrieved for the next request, om_7f3a91c2.122)") {
		t.Errorf("no call:\n%s", text)
	}
}
