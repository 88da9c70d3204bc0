package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/session-migrator/session-migrator/pipeline/memory"
)

// What was found for the next request stands in a section of its own, each with
// its ref, redacted, and takes a tenth of the document at most.
func TestFoundForTheNextRequest(t *testing.T) {
	in := long().input()
	for i := range 40 {
		in.Found = append(in.Found, memory.Found{Quote: memory.Quote{Text: fmt.Sprintf("passage %d "+strings.Repeat("more words ", 20), i), Turn: 3}, Ref: fmt.Sprintf("om_b7d20e63.%d", i)})
	}
	in.Found[0].Text = "the key is AKIAQ3EGRS5T7UVWXYZ2"
	text, err := memory.Render(memory.Build(in), memory.Options{Budget: memory.BudgetFull})
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## Found for the next request")
	section, _, _ := strings.Cut(rest, "\n## ")
	if !ok || !strings.Contains(section, "`om_b7d20e63.0` [t3]") || !strings.Contains(section, "passage 1 more") || strings.Contains(section, "AKIAQ3") {
		t.Errorf("section: %q", section)
	}
	if n := len(utf16.Encode([]rune(section))); n > memory.BudgetFull.Units()/10 || n < memory.BudgetFull.Units()/20 {
		t.Errorf("%d units of %d", n, memory.BudgetFull.Units())
	}
	in.Found = nil
	if text, err = memory.Render(memory.Build(in), memory.Options{}); err != nil || strings.Contains(string(text), "Found for") {
		t.Errorf("a section of nothing: %v", err)
	}
}
