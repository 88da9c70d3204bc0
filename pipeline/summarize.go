package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/memory"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/summary"
)

// factsMost bounds each list of facts that a model is told.
const factsMost = 60

// SummaryInput gives what a model needs to write a summary of a thread: with the
// one before, if what that rests on is still there. Nothing of it may be sent as
// it is; plans are made of it, and they redact.
func (p *Pipeline) SummaryInput(ctx context.Context, v View) (in llm.Input, err error) {
	in.Messages = v.Messages
	m, err := p.memoryInput(ctx, v)
	if err != nil {
		return in, err
	}
	d := memory.Build(m)
	for _, f := range d.Files {
		line := fmt.Sprintf("%s +%d -%d", f.Path, f.Added, f.Removed)
		if f.Failed > 0 {
			line += ", a patch failed"
		}
		in.Facts.Files = append(in.Facts.Files, line)
	}
	for _, c := range d.Checks {
		exit := "exit not known"
		if c.HasExit && c.HiddenBy == "" {
			exit = fmt.Sprintf("exit %d", c.Exit)
		}
		in.Facts.Exits = append(in.Facts.Exits, strings.Join(strings.Fields(c.Command), " ")+": "+exit)
	}
	for _, s := range d.Plan {
		in.Facts.Plan = append(in.Facts.Plan, s.Status+": "+s.Step)
	}
	for _, list := range []*[]string{&in.Facts.Files, &in.Facts.Exits, &in.Facts.Plan} {
		*list = (*list)[:min(len(*list), factsMost)]
	}
	was, err := p.db.Summary(ctx, v.Thread.ID, summary.ByModel)
	if errors.Is(err, store.ErrNotFound) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	if was.Made != nil && v.Basis(was.Through) == was.Made.Basis {
		in.Prior = &llm.Prior{}
		if err := json.Unmarshal(was.Made.Prior, in.Prior); err != nil {
			return in, fmt.Errorf("read the summary of %s: %w", v.Thread.ID, err)
		}
	}
	return in, nil
}

// Mark is another one when something came to a thread or was taken back: cheaper
// than Basis, which needs the messages.
func Mark(t transcript.Thread) string {
	return fmt.Sprintf("%d %d %d %d %d", t.LastSeq, t.Turns, t.Rollbacks, t.Counts.User, t.Counts.Assistant)
}

// KeepSummary keeps what a model wrote of v, with how it was come by. Its
// watermark moves with it, and the thread's documents become due.
func (p *Pipeline) KeepSummary(ctx context.Context, v View, model string, prior llm.Prior, made summary.Made, at time.Time) error {
	text, err := json.Marshal(prior)
	if err != nil {
		return fmt.Errorf("keep a summary: %w", err)
	}
	made.Prior, made.Basis, made.Updates = text, v.Basis(prior.Through), prior.Updates
	return p.db.SaveSummary(ctx, summary.Summary{ThreadID: v.Thread.ID, Source: summary.ByModel, Model: nameOf(model), Through: prior.Through, Created: at, Made: &made})
}

// CountTokens gives what counts the tokens of texts as a model does, or if nobody
// knows how, as the usual one: then exact is false. It holds nothing between
// texts, so that what is read in meanwhile doesn't wait.
func (p *Pipeline) CountTokens(ctx context.Context, model string) (count func(string) int, exact bool) {
	m, err := p.Table().Lookup(model)
	encoding := m.Encoding
	if encoding != tokens.Cl100kBase {
		encoding = tokens.O200kBase
	}
	return func(text string) int {
		c, release, err := p.counter(ctx, encoding.String())
		if err != nil {
			return len(text) // told to stop: nothing will be sent
		}
		defer release()
		return c(text)
	}, err == nil && m.CountExact && m.Encoding == encoding
}
