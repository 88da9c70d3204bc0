package compress_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// longThread is a session of hundreds of messages whose newest is as asked.
func longThread(end string) *conversation {
	var c conversation
	for i := range 150 {
		c.user(fmt.Sprintf("step %d: please look at internal/render/page%d.go\n%s", i, i, lines(6, "and mind rule %d")))
		c.run(fmt.Sprintf("cat internal/render/page%d.go", i), lines(40, "func draw%d() error { return ErrNoFont }"), i%3)
		c.assistant(fmt.Sprintf("page%d.go is done, ErrNoFont is handled.\n%s", i, lines(4, "detail %d")))
	}
	switch end {
	case "assistant":
		c.assistant("All of it is done.\n" + lines(60, "remark %d on the renderer"))
	case "short":
		c.user("go on")
	case "output":
		c.run("go test ./...", lines(300, "ok package%d 0.01s"), 1)
	case "call":
		c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Name: "exec_command", CallID: "last", Args: `{"cmd":"` + strings.Repeat("make ", 400) + `"}`}})
	case "outputs":
		c.ms = nil
		for i := range 600 {
			c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolResult, CallID: fmt.Sprint("x", i), Text: lines(30, "the same line %d")}})
		}
	}
	return &c
}

// A budget far below the session's size gives the newest message, cut, or an
// error; never nothing.
func TestTinyBudgetsKeepAMessage(t *testing.T) {
	for _, end := range []string{"assistant", "short", "output", "call", "outputs"} {
		c := longThread(end)
		for _, f := range formats {
			for _, name := range strategies {
				held := false
				for _, budget := range []int{20, 60, 100, 200, 400} {
					st, err := compress.ByName(name)
					if err != nil {
						t.Fatal(err)
					}
					s, err := st.Select(compress.Input{Messages: c.ms, BudgetTokens: budget, Count: counters["fake"], Format: f, Session: "b7d20e63"})
					if errors.Is(err, compress.ErrBudget) {
						if held {
							t.Errorf("%s %s %v: %d holds nothing, but less did", end, name, f, budget)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					held = true
					text, err := s.Render(f)
					if err != nil {
						t.Fatal(err)
					}
					if s.KeptMessages < 1 || s.Tokens > budget || s.KeptMessages+s.OmittedMessages != len(c.ms) {
						t.Errorf("%s %s %v at %d: %d kept, %d left out, %d tokens:\n%s", end, name, f, budget, s.KeptMessages, s.OmittedMessages, s.Tokens, text)
					}
					if !strings.Contains(string(text), "left out") && !strings.Contains(string(text), `"gap"`) {
						t.Errorf("%s %s %v at %d: no mark:\n%s", end, name, f, budget, text)
					}
				}
				if !held {
					t.Errorf("%s %s %v: no budget up to 400 holds a message", end, name, f)
				}
			}
		}
	}
}
