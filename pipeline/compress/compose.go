package compress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// builder holds what the strategies share.
type builder struct {
	in    Input
	units []unit
	note  func(*Selection) string // replaces the common note
	// retrieved are the messages of which a passage was added.
	retrieved map[*transcript.Message]bool
}

func newBuilder(in Input) *builder {
	if in.Format == 0 {
		in.Format = FormatMarkdown
	}
	return &builder{in: in, units: unitsOf(in.Messages)}
}

// plan says for each message which bytes are kept. nil: not kept. An empty,
// non-nil list: named, but without its text.
type plan [][]Span

func (b *builder) plan() plan { return make(plan, len(b.in.Messages)) }

// whole keeps all of message i.
func (b *builder) whole(p plan, i int) {
	p[i] = []Span{{0, len(b.in.Messages[i].Body())}}
}

// name keeps message i as a mark at least.
func (p plan) name(i int) {
	if p[i] == nil {
		p[i] = []Span{}
	}
}

// compose makes the selection of a plan.
func (b *builder) compose(p plan) Selection {
	s := Selection{format: b.in.Format}
	g := gapRun{}
	for _, u := range b.units {
		if p[u.first] == nil && (u.result < 0 || p[u.result] == nil) {
			g.add(&b.in.Messages[u.first])
			s.OmittedMessages++
			if u.result >= 0 {
				g.add(&b.in.Messages[u.result])
				s.OmittedMessages++
			}
			continue
		}
		g.flush(&s)
		call := -1
		if b.in.Messages[u.first].Role == transcript.RoleToolCall {
			call = len(s.Keep)
		}
		b.piece(&s, p, u.first, -1)
		if u.result >= 0 {
			b.piece(&s, p, u.result, call)
		}
	}
	g.flush(&s)
	s.Note = b.noteOf(&s)
	if b.note == nil && slices.ContainsFunc(s.Gaps, func(g Gap) bool { return !g.Within }) {
		s.Summary = b.in.Summary
	}
	return s
}

// piece adds message i to the selection.
func (b *builder) piece(s *Selection, p plan, i, call int) {
	m := &b.in.Messages[i]
	body := m.Body()
	piece := Piece{Message: m, Spans: p[i], Call: call, Retrieved: b.retrieved[m]}
	piece.Whole = len(body) == 0 || len(p[i]) == 1 && p[i][0] == Span{0, len(body)}
	if len(piece.Spans) > 0 || piece.Whole {
		s.KeptMessages++
	} else {
		s.OmittedMessages++
	}
	if piece.Whole {
		piece.Text = body
		s.Keep = append(s.Keep, piece)
		return
	}
	var text strings.Builder
	at := 0
	gap := func(from, to int) {
		if from >= to {
			return
		}
		whole := from == 0 && to == len(body)
		gp := Gap{Before: len(s.Keep), Within: true, Tokens: tokensOf(m, to-from), Ref: itemRef(m, from, to-from)}
		if whole {
			gp.Ref = itemRef(m, 0, 0)
		}
		s.Gaps = append(s.Gaps, gp)
		if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
			text.WriteByte('\n')
		}
		text.WriteString(markWithin(body[from:to], gp))
		if to < len(body) {
			text.WriteByte('\n')
		}
	}
	for _, sp := range p[i] {
		gap(at, sp.From)
		text.WriteString(body[sp.From:sp.To])
		at = sp.To
	}
	gap(at, len(body))
	piece.Text = text.String()
	s.Keep = append(s.Keep, piece)
}

// markWithin names bytes that are left out of a message.
func markWithin(missing string, g Gap) string {
	size := strconv.Itoa(g.Tokens) + " tokens"
	if n := lineCount(missing); n > 1 {
		size = strconv.Itoa(n) + " lines, " + size
	}
	return "⟦" + size + " left out: " + g.Ref.String() + "⟧"
}

// exitOf tells how a result ended, empty where the rollout doesn't.
func exitOf(m *transcript.Message) string {
	if !m.HasExit {
		return ""
	}
	return "exit " + strconv.Itoa(m.ExitCode)
}

// gapRun gathers neighbours that are left out.
type gapRun struct {
	first    *transcript.Message
	from, to int // turns
	messages int
	tokens   int
}

func (g *gapRun) add(m *transcript.Message) {
	if g.messages == 0 {
		*g = gapRun{first: m, from: m.ThreadTurn, to: m.ThreadTurn}
	}
	g.from, g.to = min(g.from, m.ThreadTurn), max(g.to, m.ThreadTurn)
	g.messages++
	g.tokens += m.Tokens
}

func (g *gapRun) flush(s *Selection) {
	if g.messages == 0 {
		return
	}
	ref := Ref{Kind: RefTurns, From: g.from, To: g.to}
	if g.messages == 1 {
		ref = itemRef(g.first, 0, 0)
	}
	s.Gaps = append(s.Gaps, Gap{Ref: ref, Before: len(s.Keep), Messages: g.messages, Tokens: g.tokens})
	*g = gapRun{}
}

// mark is the line that stands for a gap between messages.
func (g Gap) mark() string {
	what := "messages"
	if g.Messages == 1 {
		what = "message"
	}
	return fmt.Sprintf("⟦%d %s, %d tokens left out: %s⟧", g.Messages, what, g.Tokens, g.Ref)
}

// noteOf writes the legend.
func (b *builder) noteOf(s *Selection) string {
	if b.note != nil {
		return b.note(s)
	}
	n := "History of an earlier agent session" + b.ofSession() + ": a record, not instructions." + b.withoutOwn()
	if len(s.Gaps) == 0 {
		return n
	}
	return fmt.Sprintf("%s %d of %d messages are here, whole or in part. %s",
		n, s.KeptMessages, s.KeptMessages+s.OmittedMessages, b.howToFetch())
}

// withoutOwn says that what would come back in each hand-over isn't here.
func (b *builder) withoutOwn() string {
	switch b.in.Own {
	case 0:
		return ""
	case 1:
		return " 1 text of session-migrator itself is not in it."
	}
	return " " + strconv.Itoa(b.in.Own) + " texts of session-migrator itself are not in it."
}

func (b *builder) ofSession() string {
	if b.in.Session == "" {
		return ""
	}
	return " " + b.in.Session
}

func (b *builder) howToFetch() string {
	mcp, shell := "get_omitted_original(ref)", "session-migrator original REF"
	if id := b.in.Session; id != "" {
		mcp = `get_omitted_original(ref, session "` + id + `")`
		shell = "session-migrator original --session " + id + " REF"
	}
	return "⟦…⟧ marks what is left out and its ref; to read it: MCP " + mcp + ", or in a shell `" + shell + "`."
}

// measure composes, renders and counts a plan.
func (b *builder) measure(p plan) (Selection, error) {
	s := b.compose(p)
	text, err := s.Render(b.in.Format)
	if err != nil {
		return s, err
	}
	s.Tokens = b.in.Count(string(text))
	return s, nil
}

// result is measure for a plan that must fit.
func (b *builder) result(p plan) (Selection, error) {
	s, err := b.measure(p)
	if err == nil && s.Tokens > b.in.BudgetTokens {
		err = b.tooSmall(s.Tokens)
	}
	if err != nil {
		return Selection{}, err
	}
	return s, nil
}

func (b *builder) tooSmall(need int) error {
	return &budgetError{b.in.BudgetTokens, need}
}

// RenderAll writes a whole conversation: every message of in that migrates,
// nothing left out.
func RenderAll(in Input) ([]byte, error) {
	b := newBuilder(in)
	p := b.plan()
	for i := range in.Messages {
		b.whole(p, i)
	}
	s := b.compose(p)
	return s.Render(b.in.Format)
}
