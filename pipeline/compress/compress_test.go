package compress_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// conversation builds messages the way a thread numbers them.
type conversation struct{ ms []transcript.Message }

func (c *conversation) add(m transcript.Message) {
	n := int64(len(c.ms) + 1)
	m.Seq, m.Position, m.Ref = n, n, fmt.Sprintf("om_7f3a91c2.%d", n)
	if len(c.ms) > 0 {
		m.ThreadTurn = c.ms[len(c.ms)-1].ThreadTurn
	}
	if m.Role == transcript.RoleUser {
		m.ThreadTurn++
	}
	m.Tokens = (len(m.Body()) + 3) / 4
	c.ms = append(c.ms, m)
}

func item(role transcript.Role, text string) transcript.Message {
	return transcript.Message{Item: transcript.Item{Role: role, Text: text}}
}

func (c *conversation) user(text string)      { c.add(item(transcript.RoleUser, text)) }
func (c *conversation) assistant(text string) { c.add(item(transcript.RoleAssistant, text)) }

func (c *conversation) run(cmd, output string, exit int) {
	id := fmt.Sprint("c", len(c.ms))
	args, _ := json.Marshal(map[string]string{"cmd": cmd})
	c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Name: "exec_command", CallID: id, Args: string(args)}})
	c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolResult, CallID: id, Text: output, HasExit: true, ExitCode: exit}})
}

func (c *conversation) patch(file string) {
	id := fmt.Sprint("c", len(c.ms))
	c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Name: "apply_patch", CallID: id,
		Args: "*** Begin Patch\n*** Update File: " + file + "\n@@\n-a\n+b\n*** End Patch\n"}})
	c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolResult, CallID: id, Text: "Success.", HasExit: true}})
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func selectWith(t *testing.T, name string, in compress.Input) (compress.Selection, string) {
	t.Helper()
	st, err := compress.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if st.Name() != name {
		t.Errorf("name %q, want %q", st.Name(), name)
	}
	s, err := st.Select(in)
	if err != nil {
		t.Fatal(err)
	}
	f := in.Format
	if f == 0 {
		f = compress.FormatMarkdown
	}
	text, err := s.Render(f)
	if err != nil {
		t.Fatal(err)
	}
	if n := in.Count(string(text)); n != s.Tokens || n > in.BudgetTokens {
		t.Fatalf("counts %d, told %d, budget %d", n, s.Tokens, in.BudgetTokens)
	}
	return s, string(text)
}

func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in\n%s", p, text)
		}
	}
}

func TestBoundary(t *testing.T) {
	var c conversation
	c.user("please " + lines(40, "check the renderer, step %d"))
	c.assistant(lines(30, "done with %d"))
	for _, f := range formats {
		for name, count := range counters {
			full, err := compress.RenderAll(compress.Input{Format: f, Session: "b7d20e63", Messages: c.ms})
			if err != nil {
				t.Fatal(err)
			}
			w := count(string(full))
			for _, strategy := range strategies {
				in := compress.Input{Messages: c.ms, Count: count, Format: f, Session: "b7d20e63"}
				for _, budget := range []int{w + 1, w} {
					in.BudgetTokens = budget
					if s, _ := selectWith(t, strategy, in); s.OmittedMessages != 0 || len(s.Gaps) != 0 {
						t.Errorf("%v %s %s: budget %d of %d left something out", f, name, strategy, budget, w)
					}
				}
				in.BudgetTokens = w - 1
				if s, _ := selectWith(t, strategy, in); len(s.Gaps) == 0 {
					t.Errorf("%v %s %s: one token too few, nothing left out", f, name, strategy)
				}
			}
		}
	}
}

func TestBudgetBelowTheNewestMessageCutsIt(t *testing.T) {
	var c conversation
	c.user("start")
	c.assistant("begin " + strings.Repeat("middle ", 4000) + "end of it")
	for _, strategy := range strategies {
		s, text := selectWith(t, strategy, compress.Input{Messages: c.ms, BudgetTokens: 220, Count: counters["fake"], Session: "b7d20e63"})
		if s.KeptMessages == 0 {
			t.Errorf("%s: nothing kept", strategy)
		}
		wantText(t, text, "left out: om_7f3a91c2.2@", "end of it")
		if s.Tokens < 180 {
			t.Errorf("%s: only %d of 220 tokens used", strategy, s.Tokens)
		}
	}
}

func TestBudgetTooSmallForAnything(t *testing.T) {
	var c conversation
	c.user(lines(100, "line %d"))
	for _, name := range strategies {
		st, err := compress.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := st.Select(compress.Input{Messages: c.ms, BudgetTokens: 3, Count: counters["fake"]})
		if !errors.Is(err, compress.ErrBudget) || len(s.Keep) != 0 {
			t.Errorf("%s: %v, %d pieces", name, err, len(s.Keep))
		}
	}
	if _, err := compress.ByName("oldest"); err == nil {
		t.Error("unknown strategy was accepted")
	}
}

func TestLatestNote(t *testing.T) {
	var c conversation
	for i := range 40 {
		c.user(fmt.Sprintf("request number %d: %s", i, strings.Repeat("word ", 30)))
		c.assistant(fmt.Sprintf("answer number %d", i))
	}
	s, text := selectWith(t, "latest", compress.Input{Messages: c.ms, BudgetTokens: 700, Count: counters["fake"], Session: "b7d20e63"})
	g := s.Gaps[0]
	wantText(t, text,
		fmt.Sprintf("%d earlier messages left out (%d tokens, %s). Oldest: \"request number 0: word", g.Messages, g.Tokens, g.Ref),
		`get_omitted_original(ref, session "b7d20e63")`, "session-migrator original --session b7d20e63 REF", "answer number 39")
	if s.KeptMessages+s.OmittedMessages != 80 || g.Messages != s.OmittedMessages {
		t.Errorf("%d kept, %d omitted, gap of %d", s.KeptMessages, s.OmittedMessages, g.Messages)
	}
	if next := c.ms[g.Messages-1]; s.Tokens+next.Tokens+20 < 700-40 {
		t.Errorf("%d tokens used of 700, though another message fits", s.Tokens)
	}
}

func TestShrunkKeepsEveryWord(t *testing.T) {
	var c conversation
	c.user("why does it fail?")
	c.run("cat internal/a.go", lines(200, "package a // %d"), 0)
	c.run("go test ./...", lines(800, "=== RUN case %d"), 1)
	c.assistant("the case list is wrong")
	c.patch("internal/a.go")
	c.run("cat b.go", lines(200, "package b // %d"), 0)
	c.run("cat b.go", lines(200, "package b // %d"), 0)
	c.user("thanks, go on")
	s, text := selectWith(t, "shrunk", compress.Input{Messages: c.ms, BudgetTokens: 3500, Count: counters["fake"], Session: "b7d20e63"})
	for _, m := range c.ms {
		if m.Role != transcript.RoleToolResult && !strings.Contains(text, m.Body()) {
			t.Errorf("%v %q is missing", m.Role, m.Body())
		}
	}
	wantText(t, text, "=== RUN case 0\n", "=== RUN case 799\n", "→ tool output (exit 1)", "left out: om_7f3a91c2.5@",
		"left out: om_7f3a91c2.3⟧",  // patched later
		"left out: om_7f3a91c2.10⟧", // read again
		"package b // 199")
	if s.OmittedMessages != 2 {
		t.Errorf("%d omitted, want the two stale reads", s.OmittedMessages)
	}
	// Less room: outputs go, the oldest first, words stay.
	_, text = selectWith(t, "shrunk", compress.Input{Messages: c.ms, BudgetTokens: 1100, Count: counters["fake"]})
	wantText(t, text, "why does it fail?", "the case list is wrong", "thanks, go on", "left out: om_7f3a91c2.5⟧", "package b // 199")
}

func TestShrink(t *testing.T) {
	long := lines(2000, "line %d")
	tests := []struct {
		name string
		role transcript.Role
		text string
		cut  bool
	}{
		{"short output", transcript.RoleToolResult, "ok\n", false},
		{"at the limit", transcript.RoleToolResult, strings.Repeat("x", 1800), false},
		{"above the limit", transcript.RoleToolResult, strings.Repeat("x", 1801), true},
		{"long output", transcript.RoleToolResult, long, true},
		{"one long line of wide characters", transcript.RoleToolResult, strings.Repeat("漢", 5000), true},
		{"no UTF-8", transcript.RoleToolResult, strings.Repeat("\xbf", 5000), true},
		{"user", transcript.RoleUser, long, false},
		{"call", transcript.RoleToolCall, long, false},
	}
	for _, c := range tests {
		short, cut := compress.Shrink(c.role, "exec_command", c.text)
		if cut != c.cut || cut == (short == c.text) {
			t.Errorf("%s: cut %v, %d of %d bytes", c.name, cut, len(short), len(c.text))
		}
		if cut && len(short) > 1500 {
			t.Errorf("%s: %d bytes left", c.name, len(short))
		}
	}
	short, _ := compress.Shrink(transcript.RoleToolResult, "", long)
	wantText(t, short, "line 0\n", "\nline 1999\n", " lines, ")
}

func TestSelectedKeepsWhatTheNextAgentNeeds(t *testing.T) {
	var c conversation
	c.user("Freeze the golden invoices in testdata/golden.json, never touch the fonts.")
	for i := range 60 {
		c.run("make list", lines(60, "noise line %d of a listing nobody needs"), 0)
		if i == 20 {
			c.run("grep -n minutesFor order/TimeoutPolicy.java", "42: int minutesFor(Item item) // ErrTimeoutPolicy\n", 0)
		}
		if i > 20 && i%5 == 0 {
			c.assistant("minutesFor is still the place")
		}
	}
	c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Name: "update_plan", CallID: "p", Args: `{"plan":[{"step":"compare hashes","status":"pending"}]}`}})
	c.assistant("Stopped: font is 1.9, needs 2.1")
	c.user("go on")
	s, text := selectWith(t, "selected", compress.Input{Messages: c.ms, BudgetTokens: 2000, Count: counters["fake"], Session: "b7d20e63"})
	wantText(t, text, "never touch the fonts", "compare hashes", "Stopped: font is 1.9", "go on",
		"42: int minutesFor(Item item)", "grep -n minutesFor", "## [t2] user")
	if s.Tokens < 1900 {
		t.Errorf("only %d of 2000 tokens used", s.Tokens)
	}
	if len(s.Gaps) == 0 || s.OmittedMessages == 0 {
		t.Error("nothing left out")
	}
}

func TestSelectedPinsWhatWasAsked(t *testing.T) {
	var c conversation
	c.user("do as we said and be nice to all of them")
	for i := range 200 {
		c.run(fmt.Sprintf("grep needle_%d src/file_%d.go", i, i), lines(30, fmt.Sprintf("src/file_%d.go:%%d: needle_%d", i, i)), 0)
		if i == 100 {
			c.user("and the blue one too")
			c.assistant("well it is so now")
		}
	}
	for _, budget := range []int{1500, 4000, 16000} {
		_, text := selectWith(t, "selected", compress.Input{Messages: c.ms, BudgetTokens: budget, Count: counters["fake"]})
		wantText(t, text, "do as we said", "and the blue one too", "well it is so now", "needle_199")
	}
}

func TestRepeatedOutputIsNamedOnce(t *testing.T) {
	var c conversation
	c.user("run it twice")
	for range 2 {
		c.run("./show", lines(60, "the same line %d"), 0)
		c.ms[len(c.ms)-1].Hash = "5f2a"
	}
	c.run("./long", lines(900, "another line %d"), 0)
	c.assistant("done")
	_, text := selectWith(t, "shrunk", compress.Input{Messages: c.ms, BudgetTokens: 2500, Count: counters["fake"]})
	wantText(t, text, "left out: om_7f3a91c2.3⟧", "the same line 59")
	if n := strings.Count(text, "the same line 59"); n != 1 {
		t.Errorf("the output is here %d times", n)
	}
}

func TestResultsStandUnderTheirCalls(t *testing.T) {
	var c conversation
	call := func(id string) {
		c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Name: "t", CallID: id, Args: "call " + id}})
	}
	result := func(id, text string) {
		c.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolResult, CallID: id, Text: text}})
	}
	call("a")
	call("b")
	result("b", "of b")
	result("a", "of a")
	result("c404", "of nobody")
	call("d")
	call("")
	result("", "of the one before")
	text, err := compress.RenderAll(compress.Input{Format: compress.FormatMarkdown, Messages: c.ms})
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, p := range []string{"\ncall a\n", "\nof a\n", "\ncall b\n", "\nof b\n", "output without a call", "of nobody", "call d", "of the one before"} {
		at := strings.Index(string(text), p)
		if at < last || at < 0 {
			t.Errorf("%q at %d, the one before at %d:\n%s", p, at, last, text)
		}
		last = at
	}
	wantText(t, string(text), "call d\n```\n\n→ no output recorded\n")
	for _, f := range []compress.Format{compress.FormatOpenAI, compress.FormatAnthropic} {
		text, err := compress.RenderAll(compress.Input{Format: f, Messages: c.ms})
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, string(text), "not recorded]\\nof nobody", "no output recorded")
	}
}

func TestFormats(t *testing.T) {
	for _, f := range formats {
		got, err := compress.ParseFormat(f.String())
		if err != nil || got != f {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := compress.ParseFormat("yaml"); err == nil {
		t.Error("yaml was accepted")
	}
	var s compress.Selection
	if _, err := s.Render(compress.Format(9)); err == nil {
		t.Error("an unknown format was rendered")
	}
}

func TestEmptyConversation(t *testing.T) {
	for _, name := range strategies {
		s, _ := selectWith(t, name, compress.Input{BudgetTokens: 100, Count: counters["fake"]})
		if s.KeptMessages != 0 || len(s.Keep) != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
