package embedding

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/pipeline/meaning"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
	"github.com/session-migrator/session-migrator/store/spend"
)

const (
	// What is read of a rollout at a time.
	readBytes = 1 << 20
	readItems = 500
	// mostItems bounds a transaction whose passages all have vectors already.
	mostItems = 2000
	// enterFor is how long it is tried to enter a call.
	enterFor = 3 * time.Second
)

// batch is what goes out, and then in, together.
type batch struct {
	ask     []meaning.Passage // without a vector yet, each once
	asked   map[transcript.Hash]bool
	taken   []search.Taken
	items   int
	threads map[string]bool // that ask is of
}

// round makes the vectors of all that has none. It tells whether it left out
// threads that go on just now.
func (w *Worker) round(ctx context.Context) (more bool, err error) {
	if err := w.ready(ctx); err != nil {
		return false, err
	}
	missing, err := w.vectors.Missing(ctx, w.opt.DB, w.model)
	if err != nil {
		return false, err
	}
	unread := false // some rollouts can't be told yet
	b := &batch{}
	for n, h := range missing {
		w.say(func(i *Info) { i.Behind = len(missing) - n })
		t, err := w.opt.DB.ThreadOf(ctx, h.Row)
		if errors.Is(err, store.ErrNotFound) {
			unread = true
			continue // its first lines are being taken in
		}
		if err != nil {
			return false, err
		}
		if no, err := w.deny.Lineage(ctx, w.opt.DB, t); err != nil {
			return false, err
		} else if no {
			continue
		}
		if still := w.now().Sub(t.Updated); still < rest && still >= 0 {
			more = true
			continue
		}
		if err := w.rollout(ctx, b, h, t.ID); err != nil {
			return false, err
		}
	}
	if err := w.flush(ctx, b); err != nil {
		return false, err
	}
	if !more && !unread {
		if _, err := w.vectors.Sweep(ctx, w.model); err != nil {
			return false, err
		}
	}
	passages, err := w.vectors.Count(ctx, w.model)
	w.say(func(i *Info) { i.Behind, i.Passages = 0, passages })
	return more, err
}

// rollout adds what a rollout has to b, which goes out whenever it is full.
func (w *Worker) rollout(ctx context.Context, b *batch, h search.Holding, thread string) error {
	b.taken = append(b.taken, search.Taken{Holding: h})
	for {
		ms, through, mark, err := w.opt.DB.Items(ctx, h.Row, h.Through, readBytes, readItems)
		if errors.Is(err, store.ErrNotFound) || err == nil && mark != h.Mark {
			return w.flush(ctx, b) // it was taken away, or is another: the next round sees to it
		}
		if err != nil {
			return err
		}
		for i := range ms {
			if err := w.item(ctx, b, &ms[i], thread); err != nil {
				return err
			}
			b.at(h.Row, mark).Through = ms[i].Seq
		}
		if h.Through >= through {
			return nil
		}
		b.at(h.Row, mark).Through = through
		if h.Through = through; len(ms) == 0 {
			return nil
		}
	}
}

// at gives what b has of the rollout that is read now.
func (b *batch) at(row, mark int64) *search.Taken {
	if n := len(b.taken); n == 0 || b.taken[n-1].Row != row {
		b.taken = append(b.taken, search.Taken{Holding: search.Holding{Row: row, Mark: mark}})
	}
	return &b.taken[len(b.taken)-1]
}

// item adds an item, if it is one of those that are searched by meaning: what a
// person or an agent said.
func (w *Worker) item(ctx context.Context, b *batch, m *transcript.Message, thread string) error {
	if m.Role != transcript.RoleUser && m.Role != transcript.RoleAssistant {
		return nil
	}
	passages := meaning.Cut(m.Text)
	if len(passages) == 0 {
		return nil
	}
	it := search.Item{ID: m.ID}
	for _, p := range passages {
		it.Passages = append(it.Passages, p.Hash)
	}
	known, err := w.vectors.Known(ctx, w.model, it.Passages)
	if err != nil {
		return err
	}
	var ask []meaning.Passage
	for _, p := range passages {
		if !known[p.Hash] && !b.asked[p.Hash] {
			ask = append(ask, p)
		}
	}
	row, mark := m.ID>>32, b.taken[len(b.taken)-1].Mark
	if len(b.ask) > 0 && len(b.ask)+len(ask) > w.from.Batch() || b.items >= mostItems {
		through := b.at(row, mark).Through
		if err := w.flush(ctx, b); err != nil {
			return err
		}
		b.at(row, mark).Through = through
	}
	if b.asked == nil {
		b.asked, b.threads = map[transcript.Hash]bool{}, map[string]bool{}
	}
	for _, p := range ask {
		if !b.asked[p.Hash] {
			b.ask, b.asked[p.Hash], b.threads[thread] = append(b.ask, p), true, true
		}
	}
	t := b.at(row, mark)
	t.Items = append(t.Items, it)
	b.items++
	return nil
}

// flush gets the vectors of b, keeps them, and empties b.
func (w *Worker) flush(ctx context.Context, b *batch) error {
	if len(b.taken) == 0 {
		return nil
	}
	thread := ""
	if len(b.threads) == 1 {
		for id := range b.threads {
			thread = id
		}
	}
	vectors := map[transcript.Hash][]float32{}
	for rest := b.ask; len(rest) > 0; {
		n := min(len(rest), w.from.Batch())
		if err := w.vectorsOf(ctx, rest[:n], thread, vectors); err != nil {
			if len(vectors) > 0 { // they are paid for
				err = errors.Join(err, w.vectors.Put(context.WithoutCancel(ctx), w.model, vectors, nil))
			}
			return err
		}
		rest = rest[n:]
	}
	if err := w.opt.Room(ctx); err != nil {
		return err
	}
	if err := w.vectors.Put(ctx, w.model, vectors, b.taken); err != nil {
		return err
	}
	*b = batch{}
	return nil
}

// probe is a text that any model takes.
const probe = "session-migrator"

// vectorsOf adds the vectors of passages to out. Of a request that the source
// doesn't take it finds out which passages are to blame: they get nil.
func (w *Worker) vectorsOf(ctx context.Context, ps []meaning.Passage, thread string, out map[transcript.Hash][]float32) error {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.Text
	}
	got, err := w.call(ctx, texts, thread)
	switch {
	case err == nil:
		w.good = true
		for i, p := range ps {
			out[p.Hash] = got[i]
		}
		return nil
	case !errors.Is(err, embed.ErrRequest):
		return err
	case !w.good:
		if _, other := w.call(ctx, []string{probe}, ""); other != nil {
			return err // it is not the texts
		}
		w.good = true
	}
	if len(ps) == 1 {
		w.opt.Log.Debug("a passage can't be turned into a vector", "thread", thread, "bytes", len(texts[0]), "err", err)
		out[ps[0].Hash] = nil
		return nil
	}
	half := len(ps) / 2
	if err := w.vectorsOf(ctx, ps[:half], thread, out); err != nil {
		return err
	}
	return w.vectorsOf(ctx, ps[half:], thread, out)
}

// call asks the source if the day's caps allow for it. Each request is entered
// before it is sent, and then how it ended. Nothing is sent that can't be entered.
func (w *Worker) call(ctx context.Context, texts []string, thread string) ([][]float32, error) {
	guess := int64(0)
	for _, t := range texts {
		guess += spend.Estimate(t)
	}
	price := w.opt.Config.Embeddings.USDPerMillionTokens
	now := w.now()
	if w.from.Host() == "" { // nothing is sent
		a, err := w.from.Embed(ctx, texts)
		return a.Vectors, err
	}
	spent, err := w.opt.DB.SpentSince(ctx, spend.Embedding, spend.Today(now))
	if err != nil {
		return nil, err
	}
	if err := w.caps.Allow(spent, spend.Sum{Calls: 1, Input: guess, MicroUSD: spend.Cost(guess, price)}); err != nil {
		return nil, err
	}
	if w.caps.Calls != spend.NoCap {
		ctx = embed.AtMost(ctx, int(w.caps.Calls-spent.Calls))
	}
	e := spend.Entry{At: now, Kind: spend.Embedding, Host: w.from.Host(), Model: w.from.Model(), Input: guess,
		MicroUSD: spend.Cost(guess, price), Thread: thread, Outcome: spend.Pending}
	// Before it is sent: a process that is killed meanwhile tells nobody.
	a, err := w.from.Embed(embed.Before(ctx, func(n int) (err error) {
		e.Calls = n
		e.ID, err = w.enter(ctx, e)
		return err
	}), texts)
	if a.Spent.Calls == 0 {
		return a.Vectors, err
	}
	w.say(func(i *Info) { i.LastCall = now.UTC() })
	e.Calls, e.Exact, e.Outcome = a.Spent.Calls, a.Spent.Told, outcome(err)
	switch {
	case a.Spent.Told:
		e.Input = a.Spent.Tokens
	case e.Outcome == spend.Refused:
		e.Input = 0
	}
	e.MicroUSD = spend.Cost(e.Input, price)
	if _, written := w.enter(ctx, e); written != nil {
		return nil, errors.Join(written, err)
	}
	return a.Vectors, err
}

// errEnter means that what was spent could not be written down.
var errEnter = errors.New("what was spent can't be entered in the cache")

// enter writes down what is sent, or how it went on, also if ctx has ended by now.
func (w *Worker) enter(ctx context.Context, e spend.Entry) (id int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enterFor)
	defer cancel()
	done := false
	err = w.opt.Write(ctx, func() (err error) {
		id, err = w.opt.DB.RecordSpend(ctx, e)
		done = err == nil
		return err
	})
	if err == nil && !done {
		err = errors.New("there was no room for it in time") // who waits gives up without a word
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errEnter, err)
	}
	return id, nil
}

func outcome(err error) spend.Outcome {
	switch {
	case err == nil:
		return spend.Done
	case errors.Is(err, embed.ErrRefused) || errors.Is(err, embed.ErrRequest):
		return spend.Refused
	case errors.Is(err, embed.ErrAnswer):
		return spend.Unusable
	}
	return spend.Unavailable
}
