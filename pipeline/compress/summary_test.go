package compress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/compress"
)

// A summary stands on top where whole messages are left out, as nobody's order,
// if an eighth of the budget holds it; the budget is kept with it, too.
func TestSummaryWhereMessagesAreLeftOut(t *testing.T) {
	var c conversation
	for n := range 60 {
		c.user(fmt.Sprintf("Do step %d of many.", n))
		c.assistant(lines(20, "What was done there, line %d."))
	}
	count := func(s string) int { return len(s) / 4 }
	in := compress.Input{Messages: c.ms, Count: count, Summary: "**Notes by m (generated, check them)**\n- Goal: all steps\n- Next: step 60\n"}
	for _, name := range []string{"shrunk", "selected"} {
		for budget, want := range map[int]bool{2000: true, 1000: true, 120: false, 1_000_000: false} {
			for _, f := range []compress.Format{compress.FormatMarkdown, compress.FormatMessages, compress.FormatOpenAI, compress.FormatAnthropic} {
				in.BudgetTokens, in.Format = budget, f
				s, err := compress.ByName(name)
				if err != nil {
					t.Fatal(err)
				}
				sel, err := s.Select(in)
				if err != nil {
					continue // too little for a message in this format
				}
				text, err := sel.Render(f)
				if err != nil || count(string(text)) > budget {
					t.Errorf("%s %d: %d tokens, %v", name, budget, count(string(text)), err)
				}
				if got := strings.Contains(string(text), "Goal: all steps"); got != want {
					t.Errorf("%s %d format %d: a summary %v, want %v", name, budget, f, got, want)
				}
				if f == compress.FormatOpenAI && strings.Contains(string(text), `"system","content":"**Notes`) {
					t.Error("a model's words stand as the system's")
				}
				if f == compress.FormatMarkdown && want && !strings.Contains(string(text), ">\n> **Notes by m (generated, check them)**\n> - Goal: all steps\n> - Next: step 60\n") {
					t.Errorf("%s", text[:600])
				}
			}
		}
	}
	without := in
	without.Summary, without.BudgetTokens, without.Format = "", 2000, compress.FormatMarkdown
	s, err := compress.ByName("selected")
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Select(without)
	if err != nil || a.Summary != "" {
		t.Errorf("%q, %v", a.Summary, err)
	}
}
