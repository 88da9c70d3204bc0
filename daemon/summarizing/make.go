package summarizing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/spend"
	"github.com/session-migrator/session-migrator/store/summary"
)

// unitsAToken is more characters than a token has in usual text.
const unitsAToken = 12

// settle says whether a thread is due. What can be told without its messages is.
func (w *Worker) settle(ctx context.Context, id string) (verdict, time.Duration, error) {
	t, err := w.opt.DB.Thread(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	now := w.now()
	a := about{documented: !t.Subagent && t.Turns > 0, turns: t.Turns, age: now.Sub(t.Updated)}
	a.chars = int(min(t.Tokens["o200k_base"]*unitsAToken, math.MaxInt32)) // as much as it can be
	if a.documented {
		if a.denied, err = w.deny.Lineage(ctx, w.opt.DB, t); err != nil {
			return 0, 0, err
		}
	}
	w.mu.Lock()
	seen := w.queue[id].seen
	w.mu.Unlock()
	a.rested = now.Sub(seen)
	if r := now.Sub(t.Updated); r >= 0 && r < a.rested {
		a.rested = r
	}
	all, err := w.opt.DB.Summaries(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	for _, s := range all {
		a.covered = a.covered || s.Made != nil && s.Made.Mark == pipeline.Mark(t) || s.Made == nil && s.Through >= t.LastSeq
	}
	try, err := w.try(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	a.tried, a.since = !try.At.IsZero(), now.Sub(try.At)
	if v, wait := due(a, w.rules); v != verdictNow {
		return v, wait, nil
	}
	v, err := w.opt.Pipe.View(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	a.chars, a.covered = said(v.Messages), covered(v, all)
	if try.Basis == v.Basis(v.Thread.LastSeq) {
		a.failures = try.Failures
	}
	verdict, wait := due(a, w.rules)
	return verdict, wait, nil
}

// said is how many characters people and agents said.
func said(ms []transcript.Message) (n int) {
	for i := range ms {
		if r := ms[i].Role; r == transcript.RoleUser || r == transcript.RoleAssistant {
			n += utf8.RuneCountInString(ms[i].Text)
		}
	}
	return n
}

// covered tells whether a summary that holds covers all that was said.
func covered(v pipeline.View, all []summary.Summary) bool {
	last := int64(0)
	for i := range v.Messages {
		if r := v.Messages[i].Role; r == transcript.RoleUser || r == transcript.RoleAssistant {
			last = v.Messages[i].Position
		}
	}
	for _, s := range all {
		if s.Through >= last && (s.Made == nil || s.Made.Basis == v.Basis(s.Through) && s.Made.Mark != "") {
			return true
		}
	}
	return false
}

// try is how the newest attempt went; the zero value if there was none.
func (w *Worker) try(ctx context.Context, id string) (summary.Try, error) {
	t, err := w.opt.DB.Try(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return summary.Try{ThreadID: id}, nil
	}
	return t, err
}

// because has a thread's documents say why it has no summary.
func (w *Worker) because(ctx context.Context, id, why string) error {
	t, err := w.try(ctx, id)
	if err != nil || t.Reason == why {
		return err
	}
	t.Reason = why
	if err := w.keepTry(ctx, t); err != nil {
		return err
	}
	w.opt.Renew(id)
	return nil
}

// reasonOf says in a few words why nothing is made.
func reasonOf(err error) string {
	bad, isChat := errors.AsType[*chat.Error](err)
	full, isCap := errors.AsType[*spend.CapError](err)
	switch {
	case isChat:
		return bad.Reason.String()
	case errors.Is(err, errTooMuch):
		return "it is more than the caps allow"
	case isCap && full.Limit == 0:
		return "nothing may be sent"
	case isCap:
		return "the " + full.Period.String() + "'s cap is reached"
	case errors.Is(err, errKey):
		return errKey.Error()
	case errors.Is(err, errPaused):
		return "the endpoint failed, it is left alone for a while"
	case errors.Is(err, llm.ErrEmpty):
		return "nothing worth keeping"
	case errors.Is(err, llm.ErrWindow):
		return llm.ErrWindow.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return chat.Timeout.String()
	}
	return "the settings can't be worked with"
}

// errPaused means that the endpoint is left alone, because it failed.
var errPaused = errors.New("the endpoint failed several times and is left alone")

// closed says why nothing may be sent now, and until when; the zero time: until
// the program is started again. It opens nothing.
func (w *Worker) closed(ctx context.Context) (until time.Time, why error) {
	if ok, next := w.breaker.lets(w.now()); !ok {
		if w.breaker.last != nil {
			return next, fmt.Errorf("%w: %w", errPaused, w.breaker.last)
		}
		return next, errPaused
	}
	return w.capped(ctx)
}

// capped says so of the settings and the caps alone.
func (w *Worker) capped(ctx context.Context) (until time.Time, why error) {
	if w.model == nil {
		var err error
		if w.who, err = whoIn(w.opt.Config); err != nil {
			return time.Time{}, err
		}
		w.say(func(i *Info) {
			i.Host, i.Local, i.Model, i.Priced = w.who.host, w.who.local, w.who.endpoint.Model, w.who.priced
		})
		if w.model, err = w.open(w.who); err != nil {
			return time.Time{}, err
		}
	}
	now := w.now()
	for _, caps := range []spend.Caps{w.who.day, w.who.month} {
		spent, err := w.opt.DB.SpentSince(ctx, spend.Summary, caps.Period.Began(now))
		if err != nil {
			return now.Add(faultPause), err
		}
		if err := caps.Allow(spent, spend.Sum{Calls: 1}); err != nil {
			return capEnds(err, now), err
		}
	}
	return time.Time{}, nil
}

// capEnds is when a cap lets something through again.
func capEnds(err error, now time.Time) time.Time {
	if full, ok := errors.AsType[*spend.CapError](err); ok && full.Limit > 0 {
		return full.Period.Ends(now)
	}
	return time.Time{}
}

// make has a summary of a thread made that is due.
func (w *Worker) make(ctx context.Context, id string) error {
	v, err := w.opt.Pipe.View(ctx, id)
	if err != nil {
		w.later(id, faultPause)
		return err
	}
	r, err := w.one(ctx, v, Wish{})
	now := w.now()
	bad, isChat := errors.AsType[*chat.Error](err)
	full, isCap := errors.AsType[*spend.CapError](err)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // told to stop
	case err == nil:
		if r.Requests > 0 {
			w.breaker = breaker{}
		}
		w.say(func(i *Info) { i.LastError, i.LastFix, i.NextTry = "", "", time.Time{} })
		w.seen(id, r)
		return nil
	case errors.Is(err, errTooMuch):
		w.drop(id)
		return w.failed(ctx, v, triesMost, err)
	case isCap:
		return w.hold(ctx, id, capEnds(full, now), full)
	case errors.Is(err, llm.ErrEmpty):
		w.breaker = breaker{}
		w.drop(id)
		return w.failed(ctx, v, triesMost, err)
	case isChat || errors.Is(err, context.DeadlineExceeded):
		return w.refused(ctx, v, err, bad)
	case errors.Is(err, llm.ErrWindow):
		return w.hold(ctx, id, time.Time{}, err)
	}
	w.later(id, faultPause)
	return err
}

// seen ends the waiting of a thread, unless it changed meanwhile.
func (w *Worker) seen(id string, r Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.queue[id].seen.Before(r.at) {
		return
	}
	delete(w.queue, id)
}

// refused takes in that the endpoint gave no summary of v.
func (w *Worker) refused(ctx context.Context, v pipeline.View, err error, bad *chat.Error) error {
	now, id := w.now(), v.Thread.ID
	lasting, about, asked := false, false, time.Duration(0)
	if bad != nil {
		lasting, about, asked = bad.Reason.Lasting(), content(bad.Reason), bad.Wait
	}
	w.breaker = w.breaker.failed(now, err, lasting, asked)
	failures := 0
	try, tryErr := w.try(ctx, id)
	if tryErr != nil {
		return tryErr
	}
	if try.Basis == v.Basis(v.Thread.LastSeq) {
		failures = try.Failures
	}
	if about {
		failures++
	}
	if err := w.failed(ctx, v, failures, err); err != nil {
		return err
	}
	if ok, next := w.breaker.lets(now); !ok {
		return w.hold(ctx, id, next, err)
	}
	w.told(err, now.Add(pause(w.rules.cooldown, max(failures, 1))))
	if failures >= triesMost {
		w.drop(id)
	} else {
		w.later(id, pause(w.rules.cooldown, max(failures, 1)))
	}
	return nil
}

// failed keeps how an attempt went that gave nothing.
func (w *Worker) failed(ctx context.Context, v pipeline.View, failures int, why error) error {
	t, err := w.try(ctx, v.Thread.ID)
	if err != nil {
		return err
	}
	was := t.Reason
	t.Basis, t.Failures, t.Reason = v.Basis(v.Thread.LastSeq), failures, reasonOf(why)
	if err := w.keepTry(ctx, t); err != nil {
		return err
	}
	if was != t.Reason {
		w.opt.Renew(v.Thread.ID)
	}
	w.opt.Log.Debug("no summary came", "thread", v.Thread.ID, "err", why)
	return nil
}

// Wish is what somebody asks for who wants a summary now.
type Wish struct {
	TargetChars int `json:"target_chars"` // of the document; 0: by the settings
}

// Result is a summary that was made.
type Result struct {
	ThreadID string `json:"thread_id"`
	Host     string `json:"host"`
	Model    string `json:"model"`
	Through  int64  `json:"through"` // position of the newest message in it
	Turns    int    `json:"through_turn"`
	Updates  int    `json:"updates"`
	Kind     string `json:"kind"`
	Requests int    `json:"requests"`
	Input    int64  `json:"input_tokens"`
	Output   int64  `json:"output_tokens"`
	Exact    bool   `json:"exact"`
	MicroUSD int64  `json:"micro_usd"`
	Unpriced bool   `json:"unpriced"`
	LeftOut  int    `json:"left_out_messages"` // that had no room
	Same     bool   `json:"up_to_date"`        // there is nothing new, and nothing was sent

	at time.Time
}

// one has a summary of v made. With an error Requests are told all the same, and
// Through if a part of it was kept.
func (w *Worker) one(ctx context.Context, v pipeline.View, wish Wish) (r Result, err error) {
	id := v.Thread.ID
	r = Result{ThreadID: id, Host: w.who.host, Model: w.who.endpoint.Model, Unpriced: !w.who.priced, at: w.now()}
	if w.window == 0 && w.who.local && w.opt.Config.Summaries.Window == 0 {
		tokens, hint := w.model.Window(ctx)
		if w.window = tokens; hint != "" {
			w.opt.Log.Info("the model's window", "tokens", tokens, "hint", hint)
		}
	}
	window, output := windowOf(w.opt.Config, w.who, w.opt.Pipe, w.window)
	w.say(func(i *Info) { i.Window = window })
	p, _, err := planned(ctx, w.opt.Pipe, w.who, v, w.opt.Config.Summaries, wish, window, output)
	if errors.Is(err, llm.ErrNothing) {
		return w.same(ctx, v, r)
	}
	if err != nil {
		return r, err
	}
	r.Kind, r.LeftOut = p.Kind.String(), p.LeftOut
	was, err := w.opt.DB.Summary(ctx, id, summary.ByModel)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return r, err
	}
	if err == nil && was.Made != nil && was.Made.Key == keyOf(p) && was.Made.Basis == v.Basis(was.Through) {
		return w.same(ctx, v, r)
	}
	last, err := w.try(ctx, id)
	if err != nil {
		return r, err
	}
	a := &account{w: w, thread: id, basis: v.Basis(v.Thread.LastSeq), last: last}
	if last.Basis != a.basis {
		a.last.Failures = 0
	}
	prior, err := w.model.Run(ctx, p, func(q llm.Request) error { return a.before(ctx, q) }, func(u llm.Usage) { a.after(ctx, u) })
	err = errors.Join(err, a.broken)
	r.Requests, r.Input, r.Output, r.Exact, r.MicroUSD = a.requests, a.sum.Input, a.sum.Output, a.sum.Exact, a.sum.MicroUSD
	if prior.Through == 0 {
		if err == nil {
			err = llm.ErrEmpty
		}
		return r, err
	}
	a.sum.Host, a.sum.Mark = w.who.host, ""
	if err == nil {
		a.sum.Key, a.sum.Mark = keyOf(p), pipeline.Mark(v.Thread)
	}
	kept := w.write(ctx, func(ctx context.Context) error {
		return w.opt.Pipe.KeepSummary(ctx, v, w.who.endpoint.Model, prior, a.sum, w.now())
	})
	if kept != nil {
		return r, errors.Join(err, kept)
	}
	r.Through, r.Turns, r.Updates = prior.Through, prior.Turns, prior.Updates
	w.say(func(i *Info) { i.Made++ })
	w.opt.Log.Info("a summary was made", "thread", id, "through", prior.Through, "took", w.now().Sub(r.at))
	w.opt.Renew(id)
	return r, err
}

// same fills r in for a thread of which there is nothing new: with how far the
// summary goes that goes furthest, a model's or an agent's.
func (w *Worker) same(ctx context.Context, v pipeline.View, r Result) (Result, error) {
	r.Same = true
	all, err := w.opt.DB.Summaries(ctx, v.Thread.ID)
	if err != nil {
		return r, err
	}
	for _, s := range all {
		if s.Through < r.Through {
			continue
		}
		r.Through, r.Updates = s.Through, 0
		if s.Made != nil {
			r.Updates = s.Made.Updates
		}
	}
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Position <= r.Through {
			r.Turns = max(r.Turns, m.ThreadTurn)
		}
	}
	return r, nil
}
