package summary

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// tier says how much a row matters; of two the lower goes first.
type tier uint8

const (
	human tier = iota + 1
	final
	agents
	commentary
	background
	tools
)

const (
	rowBytes     = 10_000 // of one row at most
	outputTokens = 2_000  // of a tool's output at most
)

// row is a message as the model is shown it.
type row struct {
	n      int // among all rows of the plan, from 0 on
	pos    int64
	turn   int
	tier   tier
	text   string
	tokens int
}

// safe makes text fit to be sent, before anything is cut: nothing hides in it,
// no secret is left, and it can't speak as somebody else.
func safe(s string) string { return untag(defuse.Marks(redact.Text(defuse.Visible(s)))) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// rowsOf makes rows of messages that are stripped of what is ours.
func rowsOf(ms []transcript.Message, count func(string) int) []row {
	last := map[int]int{} // turn: its last message of the assistant that may be its answer
	for i := range ms {
		if m := &ms[i]; m.Role == transcript.RoleAssistant && m.Phase != transcript.PhaseCommentary {
			last[m.ThreadTurn] = i
		}
	}
	out := make([]row, 0, len(ms))
	for i := range ms {
		m := &ms[i]
		r := row{pos: m.Position, turn: m.ThreadTurn}
		var who string
		switch m.Role {
		case transcript.RoleUser:
			r.tier, who = human, "user"
		case transcript.RoleAgent:
			r.tier, who = agents, "other agent"
		case transcript.RoleAssistant:
			r.tier, who = commentary, "assistant, working"
			if m.Phase == transcript.PhaseFinal || last[m.ThreadTurn] == i && m.Phase == 0 {
				r.tier, who = final, "assistant"
			}
		case transcript.RoleCompaction:
			r.tier, who = background, "the agent's own summary of what stands before"
		case transcript.RoleToolCall:
			r.tier, who = tools, "call "+oneLine(clip(safe(m.Name), 80))
		case transcript.RoleToolResult:
			r.tier, who = tools, "output"
			if m.HasExit {
				who += fmt.Sprintf(", exit %d", m.ExitCode)
			}
		case transcript.RoleReasoning: // of the model that thought it
			continue
		default:
			continue
		}
		text := strings.TrimSpace(clip(safe(m.Body()), rowBytes))
		if text == "" && m.Images > 0 {
			text = fmt.Sprintf("(%d pictures)", m.Images)
		}
		if text == "" && m.Role != transcript.RoleToolResult && m.Role != transcript.RoleToolCall {
			continue
		}
		if m.Role == transcript.RoleToolResult {
			text = clipTokens(text, outputTokens, count)
		}
		r.text = fmt.Sprintf("[t%d] %s: %s\n", r.turn, who, text)
		r.tokens, r.n = count(r.text), len(out)
		out = append(out, r)
	}
	return out
}

// clip takes the middle out of a text that is longer than most bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const note = 48 // the mark's own length at most
	room := max(0, most-note)
	head, tail := s[:room*3/5], s[len(s)-room*2/5:]
	for !utf8.ValidString(head) && head != "" {
		head = head[:len(head)-1]
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s[… %d bytes left out …]%s", head, len(s)-len(head)-len(tail), tail)
}

// clipTokens does so by tokens.
func clipTokens(s string, most int, count func(string) int) string {
	if len(s) <= most {
		return s // no token is shorter than a byte
	}
	short := s
	for size := len(s); ; {
		n := count(short)
		if n <= most || size < 64 {
			return short
		}
		size = min(size*9/10, size*most/n*19/20)
		short = clip(s, size)
	}
}

// pick chooses rows up to budget tokens: by tier, newest first.
func pick(rows []row, budget int) []row {
	total := 0
	for i := range rows {
		total += rows[i].tokens
	}
	if total <= budget {
		return rows
	}
	budget -= budget / 32 // gap marks
	keep := make([]bool, len(rows))
	for t := human; t <= tools; t++ {
		for i := len(rows) - 1; i >= 0; i-- {
			if rows[i].tier == t && rows[i].tokens <= budget {
				keep[i] = true
				budget -= rows[i].tokens
			}
		}
	}
	out := make([]row, 0, len(rows))
	for i, k := range keep {
		if k {
			out = append(out, rows[i])
		}
	}
	return out
}

// printRows writes rows in order, with a mark where some were left out; from is the
// number of the row that would come first if none were.
func printRows(rows []row, from int) string {
	var b strings.Builder
	for i := range rows {
		if n := rows[i].n - from; n > 0 {
			b.WriteString(gapMark(n))
		}
		b.WriteString(rows[i].text)
		from = rows[i].n + 1
	}
	return b.String()
}

func gapMark(n int) string { return fmt.Sprintf("(… %d entries left out …)\n", n) }
