package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
	"github.com/session-migrator/session-migrator/store"
)

// Imported gives the vocabulary that was imported for a model, if one was:
// CountFor then makes its decisions exact.
func (p *Pipeline) Imported(model string) (vocabs.Entry, bool) {
	return p.opt.Vocabularies.For(p.Table().Canonical(model))
}

// Follow takes in vocabularies that were imported or removed, and calibrations
// that were made, since the targets were last looked at. It tells whether there
// were any.
func (p *Pipeline) Follow(ctx context.Context) (changed bool, err error) {
	if p.imports() == p.targets.Load().imports {
		return false, nil
	}
	return true, p.Retarget(ctx)
}

// imports gives a number that rises with each change. What can't be read is
// named by those who list it.
func (p *Pipeline) imports() int64 {
	a, _ := p.opt.Vocabularies.Look()
	b, _ := p.opt.Calibrations.Look()
	return a + b
}

// calibrate gives a model the factors that its vendor showed, and says whose they
// are; empty if they are the program's own.
func (p *Pipeline) calibrate(m *capacity.Model) (source string) {
	e, ok := p.opt.Calibrations.For(m.Family)
	if !ok || m.CountExact || m.Encoding != tokens.O200kBase {
		return ""
	}
	m.FactorLow, m.Factor, m.FactorHigh = e.Low, e.Typical, e.High
	return e.Source()
}

// CountFor counts the view's messages with the model's own vocabulary, if that
// was imported. What the cache has of it is taken where it holds; else it is
// done anew, at the price of a count.
func (p *Pipeline) CountFor(ctx context.Context, v *View, model string) error {
	e, ok := p.Imported(model)
	if !ok {
		return nil
	}
	if err := p.Recall(ctx, &v.Thread); err != nil {
		return err
	}
	key := e.Key()
	if _, done := v.Thread.Tokens[key]; done {
		return nil
	}
	c, err := p.opt.Vocabularies.Counter(e.Name)
	if err != nil {
		return nil //nolint:nilerr // removed or damaged just now: the model is estimated again
	}
	var n transcript.Counted
	if err := countIn(ctx, c, v.Messages, &n); err != nil {
		return err
	}
	v.Thread.Tokens, v.Thread.ShrunkTokens = maps.Clone(v.Thread.Tokens), maps.Clone(v.Thread.ShrunkTokens)
	v.Thread.Tokens[key], v.Thread.ShrunkTokens[key] = n.Tokens, n.Shrunk
	return nil
}

// Recall adds to a thread what the cache knows of it in imported vocabularies.
// Decisions for it are exact then, for models of these.
func (p *Pipeline) Recall(ctx context.Context, t *transcript.Thread) error {
	if p.db == nil || t.ID == "" || !p.opt.Vocabularies.Any() {
		return nil
	}
	all, err := p.db.Counted(ctx, t.ID)
	if err != nil {
		return err
	}
	cloned := false
	for _, c := range all {
		if !c.Of(t) {
			continue
		}
		if !cloned {
			t.Tokens, t.ShrunkTokens, cloned = maps.Clone(t.Tokens), maps.Clone(t.ShrunkTokens), true
		}
		t.Tokens[c.Vocabulary], t.ShrunkTokens[c.Vocabulary] = c.Tokens, c.Shrunk
	}
	return nil
}

// Counts tells whether a thread is counted in the vocabulary that was imported
// for a model, or none was.
func (p *Pipeline) Counts(t *transcript.Thread, model string) bool {
	e, imported := p.Imported(model)
	_, counted := t.Tokens[e.Key()]
	return counted || !imported
}

// Recounts tells whether a target's vocabulary was imported, so that threads are
// to be counted in it.
func (p *Pipeline) Recounts() bool { return len(p.imported()) > 0 }

// imported are the imported vocabularies of targets, each once.
func (p *Pipeline) imported() (out []vocabs.Entry) {
	for _, w := range p.targets.Load().windows {
		if key := w.imported.Key(); key != "" && !slices.ContainsFunc(out, func(e vocabs.Entry) bool { return e.Key() == key }) {
			out = append(out, w.imported)
		}
	}
	return out
}

// Recount counts a thread in the imported vocabularies of the targets, as far as
// that was not done, and decides for it anew. Of a thread that only grew what is
// new is counted alone. It tells whether there was anything to do.
func (p *Pipeline) Recount(ctx context.Context, threadID string) (done bool, err error) {
	for _, e := range p.imported() {
		one, err := p.recount(ctx, threadID, e)
		if err != nil {
			return done, p.suspected(threadID, err)
		}
		done = done || one
	}
	return done, nil
}

// recountPage is how many messages are in memory for a count.
const recountPage = 500

func (p *Pipeline) recount(ctx context.Context, threadID string, e vocabs.Entry) (bool, error) {
	t, err := p.db.Thread(ctx, threadID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	all, err := p.db.Counted(ctx, threadID)
	if err != nil {
		return false, err
	}
	n := transcript.Counted{Vocabulary: e.Key()}
	for _, c := range all {
		if c.Vocabulary == n.Vocabulary {
			n = c
		}
	}
	if n.Of(&t) && slices.ContainsFunc(all, func(c transcript.Counted) bool { return c.Vocabulary == n.Vocabulary }) {
		return false, nil
	}
	c, err := p.opt.Vocabularies.Counter(e.Name)
	if err != nil {
		return false, nil //nolint:nilerr // removed just now: Follow will see
	}
	was := n
	if err := p.countOn(ctx, threadID, c, &n); err != nil {
		return false, err
	}
	if was.Through > 0 && !n.Of(&t) {
		// It did not only grow: what was counted is not what it begins with.
		n = transcript.Counted{Vocabulary: n.Vocabulary}
		if err := p.countOn(ctx, threadID, c, &n); err != nil {
			return false, err
		}
	}
	n.Through = max(n.Through, t.LastSeq) // the newest ones may have been taken back
	return true, p.db.SaveCounted(ctx, threadID, n, p.decisions)
}

// countOn adds the messages behind those that are in n.
func (p *Pipeline) countOn(ctx context.Context, threadID string, c *tokens.Counter, n *transcript.Counted) error {
	for {
		ms, err := p.db.Messages(ctx, threadID, n.Through, recountPage)
		if err != nil || len(ms) == 0 {
			return err
		}
		if err := countIn(ctx, c, ms, n); err != nil {
			return err
		}
	}
}

// countIn counts messages with a counter, whole and shrunk.
func countIn(ctx context.Context, c *tokens.Counter, ms []transcript.Message, n *transcript.Counted) error {
	for i := range ms {
		m := &ms[i]
		n.Through = max(n.Through, m.Position)
		if !m.Role.Migrates() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		body := m.Body()
		whole := int64(c.CountString(body) + c.CountString(m.Name))
		n.Tokens, n.Messages, n.O200k = n.Tokens+whole, n.Messages+1, n.O200k+int64(m.Tokens)
		if short, cut := compress.Shrink(m.Role, m.Name, body); cut {
			whole = min(whole, int64(c.CountString(short)))
		}
		n.Shrunk += whole
	}
	return nil
}

// ForgetCounts forgets what was counted in vocabularies that are not there any
// more.
func (p *Pipeline) ForgetCounts(ctx context.Context) error {
	var keep []string
	for _, e := range p.opt.Vocabularies.Entries() {
		keep = append(keep, e.Key())
	}
	return p.db.ForgetCounted(ctx, keep)
}
