package pipeline

import (
	"context"
	"maps"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

// Imported says whether the model's own vocabulary was imported: CountFor then
// makes its decisions exact.
func (p *Pipeline) Imported(model string) bool {
	_, ok := p.opt.Vocabularies.For(p.Table().Canonical(model))
	return ok
}

// CountFor counts the view's messages with the model's own vocabulary, if that
// was imported. What a cache keeps is counted in the program's vocabularies
// alone: this is done anew for each answer, at the price of a count.
func (p *Pipeline) CountFor(ctx context.Context, v *View, model string) error {
	e, ok := p.opt.Vocabularies.For(p.Table().Canonical(model))
	if !ok {
		return nil
	}
	key := e.Key()
	if _, done := v.Thread.Tokens[key]; done {
		return nil
	}
	all, shrunk, err := p.countIn(ctx, e, v.Messages)
	if err != nil {
		return err
	}
	v.Thread.Tokens, v.Thread.ShrunkTokens = maps.Clone(v.Thread.Tokens), maps.Clone(v.Thread.ShrunkTokens)
	v.Thread.Tokens[key], v.Thread.ShrunkTokens[key] = all, shrunk
	return nil
}

// countIn counts messages in an imported vocabulary, whole and shrunk.
func (p *Pipeline) countIn(ctx context.Context, e vocabs.Entry, ms []transcript.Message) (int64, int64, error) {
	c, err := p.opt.Vocabularies.Counter(e.Name)
	if err != nil {
		return 0, 0, err
	}
	var all, shrunk int64
	for i := range ms {
		m := &ms[i]
		if !m.Role.Migrates() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		body := m.Body()
		n := int64(c.CountString(body) + c.CountString(m.Name))
		all += n
		if short, cut := compress.Shrink(m.Role, m.Name, body); cut {
			n = min(n, int64(c.CountString(short)))
		}
		shrunk += n
	}
	return all, shrunk, nil
}
