package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/memory"
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

// Summary gives what is stored of a thread's summaries, the one to show;
// store.ErrNotFound if there is none.
func (p *Pipeline) Summary(ctx context.Context, threadID string) (summary.Summary, error) {
	return p.db.Summary(ctx, threadID)
}

// Notes writes the stored summary of a thread as a document, marked as generated
// and with how far it goes; store.ErrNotFound if there is none.
func (p *Pipeline) Notes(ctx context.Context, v View) ([]byte, error) {
	s, err := p.summaryOf(ctx, v)
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

// summaryOf gives the stored summary as documents take it; nil if there is none.
func (p *Pipeline) summaryOf(ctx context.Context, v View) (*memory.Summary, error) {
	if v.Thread.ID == "" {
		return nil, nil
	}
	s, err := p.db.Summary(ctx, v.Thread.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &memory.Summary{Model: s.Model, Text: s.Text}
	if out.Model == "" {
		out.Model = s.Client
	}
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Position <= s.Through {
			out.Turn = max(out.Turn, m.ThreadTurn)
		} else {
			out.Behind++
		}
	}
	return out, nil
}

// nameMax bounds the name of a model or a client, in bytes.
const nameMax = 80

// nameOf makes a name that a client gave fit to be shown.
func nameOf(s string) string {
	s = strings.Join(strings.Fields(RedactText(s)), " ")
	return strings.ToValidUTF8(s[:min(len(s), nameMax)], "")
}
