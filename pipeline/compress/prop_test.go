package compress_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Three counters that have nothing in common but rising with the text.
var counters = map[string]compress.Counter{
	"words": func(s string) int { return len(strings.Fields(s)) },
	"bytes": func(s string) int { return len(s) },
	"fake": func(s string) int { // punctuation costs, as with real ones
		n := (len(s) + 3) / 4
		for i := 0; i < len(s); i++ {
			if strings.IndexByte("`{}[]\"⟦\n", s[i]) >= 0 {
				n++
			}
		}
		return n
	},
}

var (
	strategies = []string{"latest", "shrunk", "selected"}
	formats    = []compress.Format{compress.FormatMarkdown, compress.FormatMessages, compress.FormatOpenAI, compress.FormatAnthropic}
)

func drawText(t *rapid.T, label string) string {
	word := rapid.SampledFrom([]string{
		"render", "the", "fonts.go", "internal/render/page.go", "ErrNoFont", "42", "c3fa71d", "日本語の文", "```", "``````",
		"\n", "\n\n", "```sh\n", "## [t1] user\n", "{\"a\":1}", "⟦1 message, 9 tokens left out: t1⟧", "\x1b[31m", "\xff\xfe", "naïve", "x",
	})
	words := rapid.SliceOfN(word, 0, 12).Draw(t, label)
	times := rapid.SampledFrom([]int{1, 1, 1, 5, 60}).Draw(t, label+" times")
	return strings.TrimSpace(strings.Repeat(strings.Join(words, " ")+"\n", times))
}

func drawMessages(t *rapid.T) []transcript.Message {
	n := rapid.IntRange(0, 24).Draw(t, "messages")
	var ms []transcript.Message
	turn := 0
	var open []string
	for i := range n {
		m := transcript.Message{Position: int64(i + 1), Ref: fmt.Sprintf("om_7f3a91c2.%d", i+1)}
		m.Seq = int64(i + 1)
		text := drawText(t, "text")
		switch rapid.IntRange(0, 9).Draw(t, "role") {
		case 0, 1:
			m.Role, m.Text = transcript.RoleUser, text
			turn++
		case 2, 3:
			m.Role, m.Text = transcript.RoleAssistant, text
		case 4, 5:
			m.Role, m.Args, m.Name = transcript.RoleToolCall, text, rapid.SampledFrom([]string{"exec_command", "apply_patch", "update_plan", "a b\n## c", ""}).Draw(t, "name")
			m.CallID = rapid.SampledFrom([]string{"c1", "c2", fmt.Sprint("c", i), ""}).Draw(t, "call")
			if rapid.Bool().Draw(t, "json") {
				b, _ := json.Marshal(map[string]string{"cmd": "cat " + strings.ToValidUTF8(text, "?")})
				m.Args = string(b)
			}
			open = append(open, m.CallID)
		case 6, 7, 8:
			m.Role, m.Text = transcript.RoleToolResult, text
			m.CallID = "c404"
			if len(open) > 0 {
				m.CallID, open = open[0], open[1:]
			}
			m.HasExit = rapid.Bool().Draw(t, "has exit")
			m.ExitCode = rapid.IntRange(0, 2).Draw(t, "exit")
			m.Hash = rapid.SampledFrom([]string{"", "h1", "h2"}).Draw(t, "hash")
		case 9:
			m.Role, m.Text = rapid.SampledFrom([]transcript.Role{transcript.RoleAgent, transcript.RoleReasoning, transcript.RoleCompaction}).Draw(t, "other"), text
		}
		m.ThreadTurn, m.Turn = turn, turn
		m.Tokens = (len(m.Body()) + 3) / 4
		if rapid.IntRange(0, 9).Draw(t, "no ref") == 0 {
			m.Ref = ""
		}
		ms = append(ms, m)
	}
	return ms
}

func drawInput(t *rapid.T) (compress.Input, string) {
	name := rapid.SampledFrom([]string{"words", "bytes", "fake"}).Draw(t, "counter")
	ms := drawMessages(t)
	return compress.Input{
		Messages:     ms,
		Retrieved:    drawPassages(t, ms),
		BudgetTokens: rapid.OneOf(rapid.IntRange(0, 400), rapid.IntRange(0, 6000)).Draw(t, "budget"),
		Count:        counters[name],
		Format:       rapid.SampledFrom(formats).Draw(t, "format"),
		Session:      rapid.SampledFrom([]string{"", "b7d20e63"}).Draw(t, "session"),
	}, rapid.SampledFrom(strategies).Draw(t, "strategy")
}

// drawPassages draws some, overlapping and doubled ones too.
func drawPassages(t *rapid.T, ms []transcript.Message) (ps []compress.Passage) {
	for i := range ms {
		if n := len(ms[i].Body()); n > 0 && rapid.IntRange(0, 3).Draw(t, "retrieved") == 0 {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			ps = append(ps, compress.Passage{Message: i, Span: compress.Span{From: from, To: rapid.IntRange(from+1, n).Draw(t, "to")}})
		}
	}
	return rapid.Permutation(ps).Draw(t, "rank")
}

func TestSelectionKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, name := drawInput(t)
		strategy, err := compress.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := strategy.Select(in)
		if err != nil {
			if !errors.Is(err, compress.ErrBudget) {
				t.Fatal(err)
			}
			if full, _ := compress.RenderAll(in); in.Count(string(full)) <= in.BudgetTokens {
				t.Fatalf("the whole conversation fits %d, but: %v", in.BudgetTokens, err)
			}
			return
		}
		text, err := s.Render(in.Format)
		if err != nil {
			t.Fatal(err)
		}
		if n := in.Count(string(text)); n > in.BudgetTokens || n != s.Tokens {
			t.Fatalf("counts %d, told %d, budget %d:\n%s", n, s.Tokens, in.BudgetTokens, text)
		}
		if s.KeptMessages == 0 && s.OmittedMessages > 0 {
			t.Fatalf("nothing of %d messages is kept, and no error:\n%s", s.OmittedMessages, text)
		}
		checkOrder(t, &s)
		checkCoverage(t, in, &s, text)
		checkForm(t, in.Format, text)
		for _, f := range formats {
			other, err := s.Render(f)
			if err != nil {
				t.Fatal(err)
			}
			checkForm(t, f, other)
		}
		again, err := strategy.Select(in)
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := again.Render(in.Format); !bytes.Equal(text, twice) {
			t.Fatalf("two selections of one input differ:\n%s\n%s", text, twice)
		}
	})
}

// checkOrder: original order, each result right behind its call.
func checkOrder(t *rapid.T, s *compress.Selection) {
	last := int64(0)
	for i, p := range s.Keep {
		if p.Call >= 0 {
			if p.Call != i-1 || s.Keep[p.Call].Message.Role != transcript.RoleToolCall || p.Message.Role != transcript.RoleToolResult {
				t.Fatalf("piece %d: result of piece %d", i, p.Call)
			}
			if p.Message.CallID != s.Keep[p.Call].Message.CallID || p.Message.Position < s.Keep[p.Call].Message.Position {
				t.Fatalf("piece %d is the result of another call", i)
			}
			continue
		}
		if p.Message.Position <= last {
			t.Fatalf("piece %d stands before its time", i)
		}
		last = p.Message.Position
	}
}

// checkCoverage: every byte of every message that migrates is kept or named by
// a ref that stands in the text.
func checkCoverage(t *rapid.T, in compress.Input, s *compress.Selection, text []byte) {
	pieces := make(map[int64]int)
	for i, p := range s.Keep {
		if _, twice := pieces[p.Message.Position]; twice {
			t.Fatalf("message %d is here twice", p.Message.Position)
		}
		pieces[p.Message.Position] = i
	}
	for _, g := range s.Gaps {
		if !bytes.Contains(text, []byte(g.Ref.String())) {
			t.Fatalf("gap %v is not in the text:\n%s", g.Ref, text)
		}
	}
	migrate, kept := 0, 0
	for k := range in.Messages {
		m := &in.Messages[k]
		if !m.Role.Migrates() {
			if _, ok := pieces[m.Position]; ok {
				t.Fatalf("%v was kept", m.Role)
			}
			continue
		}
		migrate++
		if i, ok := pieces[m.Position]; ok {
			if checkPiece(t, s, i) > 0 || s.Keep[i].Whole {
				kept++
			}
			continue
		}
		covered := false
		for _, g := range s.Gaps {
			covered = covered || !g.Within && covers(g.Ref, m)
		}
		if !covered {
			t.Fatalf("message %d (%v) is missing without a ref", m.Position, m.Role)
		}
	}
	if kept != s.KeptMessages || migrate-kept != s.OmittedMessages {
		t.Fatalf("%d of %d kept, told %d and %d", kept, migrate, s.KeptMessages, s.OmittedMessages)
	}
}

func covers(r compress.Ref, m *transcript.Message) bool {
	if r.Kind == compress.RefTurns {
		return r.From <= m.ThreadTurn && m.ThreadTurn <= r.To
	}
	return r.String() == m.Ref
}

// checkPiece returns the number of bytes kept.
func checkPiece(t *rapid.T, s *compress.Selection, i int) int {
	p := s.Keep[i]
	body := p.Message.Body()
	here := make([]bool, len(body))
	kept := 0
	for _, sp := range p.Spans {
		if !strings.Contains(p.Text, body[sp.From:sp.To]) {
			t.Fatalf("piece %d: bytes %v are not in its text", i, sp)
		}
		for b := sp.From; b < sp.To; b++ {
			here[b] = true
			kept++
		}
	}
	for _, g := range s.Gaps {
		if !g.Within || g.Before != i {
			continue
		}
		from, to := int(g.Ref.Offset), int(g.Ref.Offset+g.Ref.Len)
		if g.Ref.Len == 0 { // the whole body, or a turn where there is no ref
			from, to = 0, len(body)
		}
		for b := from; b < to; b++ {
			here[b] = true
		}
	}
	for b := range here {
		if !here[b] {
			t.Fatalf("piece %d: byte %d of %d is neither kept nor named", i, b, len(body))
		}
	}
	if p.Whole && (kept != len(body) || p.Text != body) {
		t.Fatalf("piece %d is not whole", i)
	}
	return kept
}

// checkForm reads the rendering as its consumer would.
func checkForm(t *rapid.T, f compress.Format, text []byte) {
	switch f {
	case compress.FormatMarkdown:
		checkFences(t, text)
	case compress.FormatMessages:
		for l := range bytes.Lines(text) {
			if !json.Valid(l) {
				t.Fatalf("no JSON: %s", l)
			}
		}
	case compress.FormatOpenAI:
		checkOpenAI(t, text)
	case compress.FormatAnthropic:
		checkAnthropic(t, text)
	}
}

// frame is what stands around a hand-over: its mark isn't in what it frames.
var frame = regexp.MustCompile(`(?s)^> [^\n]* It ends at the line "end of history ([0-9a-f]{10})"\.\n(.*)\n--- end of history ([0-9a-f]{10})\n$`)

// checkFences: outside of fences stand only lines of ours.
func checkFences(t *rapid.T, text []byte) {
	fence := ""
	m := frame.FindSubmatch(text)
	if m == nil || !bytes.Equal(m[1], m[3]) || bytes.Contains(m[2], m[1]) {
		t.Fatalf("no frame around\n%s", text)
	}
	text = m[2]
	for _, l := range strings.Split(string(text), "\n") {
		ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = l
		case fence != "" && len(ticks) >= len(fence) && strings.TrimLeft(l, "`") == "":
			fence = ""
		case fence == "" && l != "" && !strings.HasPrefix(l, "## [t") && !strings.HasPrefix(l, "### [t") &&
			!strings.HasPrefix(l, "→ ") && !strings.HasPrefix(l, "⟦") && !strings.HasPrefix(l, "> "):
			t.Fatalf("line of another: %q in\n%s", l, text)
		}
	}
	if fence != "" {
		t.Fatalf("a fence stays open:\n%s", text)
	}
}

func checkOpenAI(t *rapid.T, text []byte) {
	var msgs []struct {
		Role      string
		Content   *string
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
	if err := json.Unmarshal(text, &msgs); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	waiting := ""
	for _, m := range msgs {
		if (m.Role == "tool") != (waiting != "") || m.ToolCallID != waiting {
			t.Fatalf("%s of %q while %q waits:\n%s", m.Role, m.ToolCallID, waiting, text)
		}
		waiting = ""
		for _, c := range m.ToolCalls {
			waiting = c.ID
			if !json.Valid([]byte(c.Function.Arguments)) || c.Function.Name == "" {
				t.Fatalf("call %+v", c)
			}
		}
		if len(m.ToolCalls) == 0 && m.Content == nil {
			t.Fatal("message without content")
		}
	}
	if waiting != "" {
		t.Fatalf("call %s has no result", waiting)
	}
}

func checkAnthropic(t *rapid.T, text []byte) {
	var msgs []struct {
		Role    string
		Content []struct {
			Type, Text, ID, Name string
			Input                map[string]any
			ToolUseID            string `json:"tool_use_id"`
		}
	}
	if err := json.Unmarshal(text, &msgs); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	waiting := ""
	for i, m := range msgs {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want {
			t.Fatalf("message %d is the %s's:\n%s", i, m.Role, text)
		}
		for _, b := range m.Content {
			if (b.Type == "tool_result") != (waiting != "") || b.ToolUseID != waiting {
				t.Fatalf("%s while %q waits:\n%s", b.Type, waiting, text)
			}
			waiting = ""
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					t.Fatalf("empty text block:\n%s", text)
				}
			case "tool_use":
				waiting = b.ID
				if b.Input == nil || b.Name == "" {
					t.Fatalf("call %+v", b)
				}
			}
		}
	}
	if waiting != "" {
		t.Fatalf("call %s has no result", waiting)
	}
}

// A larger budget is never an error where a smaller one was none.
func TestLargerBudgetNeverFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, name := drawInput(t)
		strategy, _ := compress.ByName(name)
		if _, err := strategy.Select(in); err != nil {
			return
		}
		in.BudgetTokens += rapid.IntRange(0, 2000).Draw(t, "more")
		if _, err := strategy.Select(in); err != nil {
			t.Fatal(err)
		}
	})
}
