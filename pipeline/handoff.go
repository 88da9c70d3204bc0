package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// Request asks for what a target is to be given.
type Request struct {
	Target   string // model; required
	Budget   int    // tokens, instead of what the model's room gives; 0: by the model
	Strategy string // latest, shrunk, selected; empty: by the decision
	Format   string // markdown (default), messages, openai, anthropic
	Next     string // what the target is to be asked: a tenth of the budget goes to what was said about it
	Decide   decide.Options
}

// Handoff is what a target is to be given, and why.
type Handoff struct {
	Decision decide.Decision
	Strategy string // whole, or how it was compressed
	Text     []byte
	Tokens   int // of Text, in the decision's encoding
	// Count is Text in the target's own tokens. In a chat format, JSON for a
	// program, it is the messages in it that count: Overhead is what the
	// target's format puts around them, or around the one message that other
	// formats are.
	Count    tokens.Result
	Overhead int
	Kept     int // messages
	Omitted  int
	// Retrieved are the kept messages of which a part is here only because it
	// says something about Request.Next.
	Retrieved int

	of transcript.Counts // what is kept, by role
}

// Decide decides for any model, known to the table or not: an unknown one is
// taken for a small window, and the decision says so.
func (p *Pipeline) Decide(t transcript.Thread, model string, opt decide.Options) decide.Decision {
	m, _ := p.Table().Lookup(model) // an unknown name's row says so itself
	if opt == (decide.Options{}) {
		opt = p.opt.Decide
	}
	table := p.Table()
	return decideFor(table, p.window(table, model, m), t, opt)
}

// Migrate gives the whole conversation when it fits the target, else the most
// valuable part of it, with refs for the rest. Secrets are taken out before
// anything is cut.
func (p *Pipeline) Migrate(ctx context.Context, v View, q Request) (Handoff, error) {
	if err := p.CountFor(ctx, &v, q.Target); err != nil {
		return Handoff{}, err
	}
	m, _ := p.Table().Lookup(q.Target) // as Decide
	h, err := p.handoff(ctx, v, q, m.Framing)
	if err != nil {
		return h, err
	}
	h.Count = h.Decision.Converted(h.Tokens)
	h.Overhead = m.Framing.Around(1, 0, 0, 0)
	if chat(q.Format) {
		h.Overhead = m.Framing.Around(h.of.User, h.of.Assistant, h.of.ToolCalls, h.of.ToolResults)
	}
	return h, nil
}

// chat says whether a format gives each message as one of its own.
func chat(format string) bool {
	return format == compress.FormatOpenAI.String() || format == compress.FormatAnthropic.String()
}

func (p *Pipeline) handoff(ctx context.Context, v View, q Request, framing capacity.Framing) (Handoff, error) {
	d := p.Decide(v.Thread, q.Target, q.Decide)
	format := compress.FormatMarkdown
	if q.Format != "" {
		var err error
		if format, err = compress.ParseFormat(q.Format); err != nil {
			return Handoff{Decision: d}, err
		}
	}
	count, release, err := p.counter(ctx, d.Encoding)
	if err != nil {
		return Handoff{Decision: d}, err
	}
	defer release()
	in := compress.Input{Count: count, Format: format, Session: last8(v.Thread.ID)}
	in.Messages, in.Own = HandedOn(v.Messages)

	name, budget := q.Strategy, q.Budget
	if name == "" && budget == 0 && d.Verdict == decide.Direct {
		h, err := whole(in, d)
		if err != nil || fits(h, q.Format, framing) {
			return h, err
		}
		// The words fit, what stands around them doesn't: no hand-over is
		// larger than the room.
		d.Verdict, d.Strategy = decide.Compress, decide.Shrunk
		name, budget = decide.Shrunk.String(), budgetOf(d)
		d.Budget = &budget
	}
	if budget == 0 {
		budget = budgetOf(d)
	}
	if name == "" {
		name = strategyFor(d, v.Thread, budget)
	}
	if name == "whole" {
		if h, err := whole(in, d); err != nil || h.Tokens <= budget {
			return h, err
		}
		name = decide.Shrunk.String()
	}
	s, err := compress.ByName(name)
	if err != nil {
		return Handoff{Decision: d}, err
	}
	in.BudgetTokens, in.Retrieved = budget, retrieved(q.Next, budget, in.Messages)
	if in.Summary, err = p.summed(ctx, v); err != nil {
		return Handoff{Decision: d}, err
	}
	sel, err := s.Select(in)
	if err != nil {
		return Handoff{Decision: d}, err
	}
	text, err := sel.Render(format)
	if err != nil {
		return Handoff{Decision: d}, err
	}
	d.KeptTokens, d.KeptMessages, d.OmittedMessages = sel.Tokens, sel.KeptMessages, sel.OmittedMessages
	h := Handoff{Decision: d, Strategy: name, Text: text, Tokens: sel.Tokens, Kept: sel.KeptMessages, Omitted: sel.OmittedMessages}
	for i := range sel.Keep {
		h.add(sel.Keep[i].Message.Role)
		if sel.Keep[i].Retrieved {
			h.Retrieved++
		}
	}
	return h, nil
}

// add counts a message that is handed over.
func (h *Handoff) add(r transcript.Role) {
	switch r {
	case transcript.RoleAssistant:
		h.of.Assistant++
	case transcript.RoleToolCall:
		h.of.ToolCalls++
	case transcript.RoleToolResult:
		h.of.ToolResults++
	case transcript.RoleUser, transcript.RoleAgent, transcript.RoleReasoning, transcript.RoleCompaction:
		h.of.User++
	}
}

// fits tells whether a whole conversation, as written in the format, keeps to
// the target's room. The chat formats are JSON for a program: what counts there
// are the messages in it, and these the decision has counted with what stands
// around each.
func fits(h Handoff, format string, framing capacity.Framing) bool {
	if chat(format) {
		return h.Decision.TargetTokens <= h.Decision.Room
	}
	return int(math.Ceil(float64(h.Tokens)*max(h.Decision.Factor, 1)))+framing.Around(1, 0, 0, 0) <= h.Decision.Room
}

// budgetOf is what the hand-over may count: the decision's, or for a thread
// that fits as it is, the room.
func budgetOf(d decide.Decision) int {
	if d.Budget != nil {
		return *d.Budget
	}
	return int(float64(d.Room) / max(d.Factor, 1))
}

// strategyFor picks what keeps most within a budget that the user gave.
func strategyFor(d decide.Decision, t transcript.Thread, budget int) string {
	switch {
	case d.SessionTokens <= budget && d.Verdict == decide.Direct:
		return "whole"
	case int(t.ShrunkTokens[d.Encoding]) <= budget*9/10 && t.ShrunkTokens[d.Encoding] > 0:
		return decide.Shrunk.String()
	}
	return decide.Selected.String()
}

// whole hands over every message that migrates and isn't ours.
func whole(in compress.Input, d decide.Decision) (Handoff, error) {
	text, err := compress.RenderAll(in)
	if err != nil {
		return Handoff{Decision: d}, err
	}
	h := Handoff{Strategy: "whole", Text: text, Tokens: in.Count(string(text))}
	for i := range in.Messages {
		if in.Messages[i].Role.Migrates() {
			h.add(in.Messages[i].Role)
			h.Kept++
		}
	}
	d.KeptTokens, d.KeptMessages, d.OmittedMessages = d.SessionTokens, h.Kept, 0
	h.Decision = d
	return h, nil
}

// counter lends a worker's counter for the encoding.
func (p *Pipeline) counter(ctx context.Context, encoding string) (compress.Counter, func(), error) {
	if _, err := tokens.ParseEncoding(encoding); err != nil && encoding != "" {
		c, err := p.opt.Vocabularies.Counter(encoding)
		if err != nil {
			return nil, nil, err
		}
		return c.CountString, func() {}, nil
	}
	select {
	case c := <-p.counters:
		c.used = true
		release := func() { p.counters <- c }
		if encoding == tokens.Cl100kBase.String() {
			return c.cl100k.CountString, release, nil
		}
		return c.o200k.CountString, release, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// RedactText makes a text fit to leave, as every way out does: nothing is in it
// that isn't seen, no secret, and no mark of another program. What is cut is cut
// afterwards.
func RedactText(s string) string { return defuse.Marks(redact.Text(defuse.Visible(s))) }

// Redacted gives the messages with their texts fit to leave.
func Redacted(ms []transcript.Message) []transcript.Message {
	out := make([]transcript.Message, len(ms))
	for i, m := range ms {
		out[i] = fit(m)
	}
	return out
}

// HandedOn gives the messages as hand-offs are made of them: fit to leave, and
// without what this program itself put into the session. It says how many pieces
// that was.
func HandedOn(ms []transcript.Message) (out []transcript.Message, left int) {
	kept, left := loop.Strip(ms)
	for i := range kept {
		kept[i] = fit(kept[i])
	}
	return kept, left
}

// fit makes a message fit to leave. Arguments are mostly JSON, where what isn't
// seen stands as an escape.
func fit(m transcript.Message) transcript.Message {
	if strings.IndexByte(m.Args, '\\') >= 0 && json.Valid([]byte(m.Args)) {
		m.Args = defuse.Escapes(m.Args)
	}
	m.Text, m.Args, m.Name = RedactText(m.Text), RedactText(m.Args), RedactText(m.Name)
	return m
}

func last8(id string) string { return id[max(0, len(id)-8):] }

// Original gives the exact text behind a ref: om_… of any thread, t17 or
// t17-t30 of the thread given. With a workspace only its threads are reached.
// store.ErrNotFound, *store.ChangedError, or what is wrong with the ref.
func (p *Pipeline) Original(ctx context.Context, ref, threadID, workspace string) ([]transcript.Message, error) {
	r, err := compress.ParseRef(ref)
	if err != nil {
		return nil, err
	}
	switch r.Kind {
	case compress.RefItem:
		ms, err := p.db.Original(ctx, r.Rollout, r.Seq, workspace)
		if err != nil || r.Len == 0 {
			return ms, err
		}
		return part(ms, r)
	case compress.RefTurns:
		return p.turns(ctx, r, threadID, workspace)
	}
	return nil, fmt.Errorf("bug: ref kind %d", r.Kind)
}

// part cuts the bytes out that the ref names. Refs to parts are made of what
// is handed out, so they count the bytes of the text that is fit to leave; half
// of a secret can't come back this way.
func part(ms []transcript.Message, r compress.Ref) ([]transcript.Message, error) {
	for i := range ms {
		out := ms[i]
		out.Text, _ = loop.Text(out.Role, out.Text)
		out = fit(out)
		body := out.Body()
		if r.Offset+r.Len > int64(len(body)) {
			return nil, fmt.Errorf("ref %s: the text has only %d bytes: %w", r, len(body), store.ErrNotFound)
		}
		cut := body[r.Offset : r.Offset+r.Len]
		if ms[i].Role == transcript.RoleToolCall {
			ms[i].Args = cut
		} else {
			ms[i].Text = cut
		}
	}
	return ms, nil
}

func (p *Pipeline) turns(ctx context.Context, r compress.Ref, threadID, workspace string) ([]transcript.Message, error) {
	if threadID == "" {
		return nil, fmt.Errorf("ref %s names turns: say of which session", r)
	}
	v, err := p.View(ctx, threadID)
	if err != nil {
		return nil, err
	}
	if workspace != "" && v.Thread.Workspace != workspace {
		return nil, fmt.Errorf("session %s: %w", threadID, store.ErrNotFound)
	}
	var out []transcript.Message
	for _, m := range v.Messages {
		if m.ThreadTurn >= r.From && m.ThreadTurn <= r.To {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("ref %s: the session has turns 1 to %d: %w", r, v.Thread.Turns, store.ErrNotFound)
	}
	return out, nil
}
