package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/summary"
)

// ErrThrough means that a summary covers no message, or more than there are.
var ErrThrough = errors.New("there is no such message")

// SaveSummary keeps a summary that an agent wrote: what is in it of this
// program's own texts is cut out, what can't be seen and secrets are taken out,
// and marks of other programs are broken. ErrThrough if the thread doesn't reach
// as far (yet), store.ErrNotFound if it isn't here, errors of package summary
// for what can't be kept.
func (p *Pipeline) SaveSummary(ctx context.Context, s summary.Summary) error {
	var err error
	if s.Text, err = SummaryText(s.Text); err != nil {
		return fmt.Errorf("save a summary: %w", err)
	}
	s.Model, s.Client = nameOf(s.Model), nameOf(s.Client)
	t, err := p.db.Thread(ctx, s.ThreadID)
	if err != nil {
		return err
	}
	if s.Through < 1 || s.Through > t.LastSeq {
		return fmt.Errorf("save a summary: %w: %d of %d", ErrThrough, s.Through, t.LastSeq)
	}
	return p.db.SaveSummary(ctx, s)
}

// SummaryText gives the text of a summary as it is stored; an error of package
// summary if it can't be.
func SummaryText(text string) (string, error) {
	text, err := summary.Checked(text)
	if err != nil {
		return "", err
	}
	// As a person's words: those are freed of wrapped memory, too.
	text, _ = loop.Text(transcript.RoleUser, defuse.Visible(text))
	if text = strings.TrimSpace(RedactText(text)); text == "" {
		return "", summary.ErrBlank
	}
	return text, nil
}

// Summary gives what is stored of a thread's summaries, the one to show: of
// those that hold the one that covers more. store.ErrNotFound if there is none.
func (p *Pipeline) Summary(ctx context.Context, v View) (summary.Summary, error) {
	s, _, err := p.shown(ctx, v)
	if err == nil && s == nil {
		return summary.Summary{}, store.ErrNotFound
	}
	if err != nil {
		return summary.Summary{}, err
	}
	return *s, nil
}

// shown is Summary; nil if there is none. It tells whether one was passed over
// because what it rests on was taken back or written anew.
func (p *Pipeline) shown(ctx context.Context, v View) (best *summary.Summary, passed bool, err error) {
	if v.Thread.ID == "" {
		return nil, false, nil
	}
	all, err := p.db.Summaries(ctx, v.Thread.ID)
	if err != nil {
		return nil, false, err
	}
	for i := range all {
		s := &all[i]
		if s.Made != nil && v.Basis(s.Through) != s.Made.Basis {
			passed = true
			continue
		}
		if best == nil || s.Newer(best) {
			best = s
		}
	}
	return best, passed, nil
}

// Basis tells what was said up to a position from all else that could have been
// said: a summary holds as long as its basis is the same. What agents' programs
// or new readers of rollouts add around it changes nothing.
func (v *View) Basis(through int64) string {
	h := sha256.New()
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Position > through {
			break
		}
		if m.Role == transcript.RoleUser || m.Role == transcript.RoleAssistant {
			_, _ = fmt.Fprintf(h, "%d %s\n", m.Role, m.Hash) // a hash takes everything
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Notes writes the stored summary of a thread as a document, marked as generated
// and with how far it goes; store.ErrNotFound if there is none.
func (p *Pipeline) Notes(ctx context.Context, v View) ([]byte, error) {
	s, _, err := p.summaryOf(ctx, v)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, store.ErrNotFound
	}
	in, err := p.memoryInput(ctx, v)
	if err != nil {
		return nil, err
	}
	in.Summary = s
	d := memory.Build(in)
	return d.Notes(), nil
}

// summed gives the stored summary as hand-overs take it in; empty if there is
// none.
func (p *Pipeline) summed(ctx context.Context, v View) (string, error) {
	s, _, err := p.summaryOf(ctx, v)
	if err != nil || s == nil {
		return "", err
	}
	in, err := p.memoryInput(ctx, v)
	if err != nil {
		return "", err
	}
	in.Summary = s
	d := memory.Build(in)
	return d.Summed(), nil
}

// summaryOf gives the stored summary as documents take it; nil if there is none,
// and then why.
func (p *Pipeline) summaryOf(ctx context.Context, v View) (out *memory.Summary, why string, err error) {
	s, passed, err := p.shown(ctx, v)
	switch {
	case err != nil:
		return nil, "", err
	case s == nil:
		why, err = p.whyNone(ctx, v, passed)
		return nil, why, err
	case s.Made != nil:
		if out, err = inParts(s); err != nil {
			return nil, "", err
		}
	default:
		out = &memory.Summary{Model: s.Model, Text: s.Text}
		if out.Model == "" {
			out.Model = s.Client
		}
	}
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Position <= s.Through {
			out.Turn = max(out.Turn, m.ThreadTurn)
		} else {
			out.Behind++
		}
	}
	if out.Behind > 0 {
		out.Standing = 0 // what came since may have changed it
	}
	return out, "", nil
}

const notYet = "not made yet"

// whyNone says in a few words why a thread has no summary.
func (p *Pipeline) whyNone(ctx context.Context, v View, passed bool) (string, error) {
	if !p.opt.Summarized {
		return "none asked for", nil
	}
	t, err := p.db.Try(ctx, v.Thread.ID)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return "", err
	case err == nil && t.Reason != "":
		return t.Reason, nil
	case passed:
		return "what it was about has changed", nil
	case p.opt.Unsummarized == nil:
		return notYet, nil
	}
	why, err := p.opt.Unsummarized(ctx, p.db, v)
	return cmp.Or(why, notYet), err
}

// inParts reads what a model wrote.
func inParts(s *summary.Summary) (*memory.Summary, error) {
	var prior llm.Prior
	if err := json.Unmarshal(s.Made.Prior, &prior); err != nil {
		return nil, fmt.Errorf("read the summary of %s by %s: %w", s.ThreadID, s.Model, err)
	}
	d := &prior.Doc
	out := &memory.Summary{Model: s.Model, Goal: d.Goal}
	switch d.State {
	case llm.StateDone:
		out.Standing = memory.StandingDone
	case llm.StateBlocked:
		out.Standing = memory.StandingBlocked
	case llm.StateInProgress:
	}
	note := func(to *[]memory.Note, turn int, sep string, texts ...string) {
		var parts []string
		for _, t := range texts {
			if t = strings.TrimSpace(t); t != "" {
				parts = append(parts, t)
			}
		}
		if len(parts) > 0 {
			*to = append(*to, memory.Note{Text: strings.Join(parts, sep), Turn: turn})
		}
	}
	for _, x := range d.Decisions {
		note(&out.Decisions, x.Turn, " — ", x.What, x.Why)
	}
	for _, x := range d.Constraints {
		note(&out.Rules, x.Turn, "", x.Quote)
	}
	for _, x := range d.Learned {
		note(&out.Learned, x.Turn, " — ", x.Fact, x.Evidence)
	}
	for _, x := range d.Failed {
		note(&out.Tried, x.Turn, " → ", x.Tried, x.Result, x.Instead)
	}
	for _, x := range d.Open {
		note(&out.Open, x.Turn, "", x.Item)
	}
	for _, x := range d.Next {
		note(&out.Next, x.Turn, "", x.Step)
	}
	for _, x := range d.Topics {
		note(&out.Topics, 0, ": ", x.Name, x.Text)
		if n := len(out.Topics); n > 0 {
			out.Topics[n-1].Turn, out.Topics[n-1].To = turnsOf(x.Turns)
		}
	}
	return out, nil
}

// turnsOf reads t3 or t3-t9; zeros if it is neither.
func turnsOf(s string) (from, to int) {
	r, err := compress.ParseRef(s)
	if err != nil || r.Kind != compress.RefTurns {
		return 0, 0
	}
	return r.From, r.To
}

// nameMax bounds the name of a model or a client, in bytes.
const nameMax = 80

// nameOf makes a name that a client gave fit to be shown.
func nameOf(s string) string {
	s = strings.Join(strings.Fields(RedactText(s)), " ")
	return strings.ToValidUTF8(s[:min(len(s), nameMax)], "")
}
