package summarizing

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/spend"
	"github.com/session-migrator/session-migrator/store/summary"
)

// enterFor is how long it is tried to enter a request.
const enterFor = 3 * time.Second

// errEnter means that what is sent could not be written down.
var errEnter = errors.New("what is sent can't be entered in the cache")

// errTooMuch means that one request for a thread is more than a whole cap.
var errTooMuch = errors.New("one request would be more than all that may be spent")

// account is what the requests of one summary came to.
type account struct {
	w      *Worker
	thread string
	basis  string
	last   summary.Try

	open     spend.Entry // sent, and not yet answered
	sum      summary.Made
	requests int
	broken   error // the ledger can't be kept
}

// before lets a request out if the caps allow for it, and enters it.
func (a *account) before(ctx context.Context, r llm.Request) error {
	if a.broken != nil {
		return a.broken
	}
	w, now := a.w, a.w.now()
	next := spend.Sum{Calls: 1, Input: int64(r.Tokens), Output: int64(r.Output)}
	next.MicroUSD = w.who.price.Of(next.Input, next.Output)
	for _, caps := range []spend.Caps{w.who.day, w.who.month} {
		spent, err := w.opt.DB.SpentSince(ctx, spend.Summary, caps.Period.Began(now))
		if err != nil {
			return err
		}
		if err := caps.Allow(spent, next); err != nil {
			if alone := caps.Allow(spend.Sum{}, next); alone != nil {
				return fmt.Errorf("%w: %w", errTooMuch, alone) // nor would it on another day
			}
			return err
		}
	}
	if a.requests == 0 {
		// The cool-down holds also if the program is killed now.
		if err := w.keepTry(ctx, summary.Try{ThreadID: a.thread, At: now, Basis: a.basis, Failures: a.last.Failures, Reason: a.last.Reason}); err != nil {
			return err
		}
	}
	a.open = spend.Entry{At: now, Kind: spend.Summary, Host: w.model.Host(), Model: w.model.Model(), Calls: 1, Input: next.Input, Output: next.Output,
		MicroUSD: next.MicroUSD, Unpriced: !w.who.priced, Thread: a.thread, Outcome: spend.Pending}
	id, err := w.enter(ctx, a.open)
	if err != nil {
		return err
	}
	a.open.ID = id
	a.requests++
	w.sent(ctx, Sent{At: now.UTC(), Host: w.model.Host(), Model: w.model.Model(), Thread: a.thread, Bytes: r.Bytes})
	return nil
}

// after enters how a request ended.
func (a *account) after(ctx context.Context, u llm.Usage) {
	e := a.open
	e.Outcome = outcome(u.Err)
	switch {
	case u.Told:
		e.Input, e.Output, e.Exact = u.Input, u.Output, true
	case e.Outcome == spend.Refused:
		e.Input, e.Output = 0, 0
	case e.Outcome == spend.Unavailable && !took(u.Err):
		e.Output = 0 // what was asked may have been charged, an answer wasn't
	}
	e.MicroUSD = a.w.who.price.Of(e.Input, e.Output)
	a.sum.Input, a.sum.Output, a.sum.MicroUSD = a.sum.Input+e.Input, a.sum.Output+e.Output, a.sum.MicroUSD+e.MicroUSD
	a.sum.Exact = e.Exact && (a.requests == 1 || a.sum.Exact)
	if _, err := a.w.enter(ctx, e); err != nil {
		a.broken = err
	}
}

func outcome(err error) spend.Outcome {
	bad, ok := errors.AsType[*chat.Error](err)
	switch {
	case err == nil:
		return spend.Done
	case !ok:
		return spend.Unavailable
	case bad.Status >= 400 && bad.Status < 500:
		return spend.Refused
	case content(bad.Reason):
		return spend.Unusable
	}
	return spend.Unavailable
}

// took tells whether the endpoint may have written an answer that we didn't get.
func took(err error) bool {
	bad, ok := errors.AsType[*chat.Error](err)
	return !ok || bad.Reason == chat.Timeout
}

// content tells whether it is about what was asked: the same again gives the
// same, while others may do.
func content(r chat.Reason) bool {
	switch r {
	case chat.NoChoices, chat.Blank, chat.Refusal, chat.Truncated, chat.NotJSON, chat.WrongShape, chat.TooLong, chat.NotAnAnswer, chat.Overflow, chat.BadRequest:
		return true
	case chat.BadKey, chat.NoSuchModel, chat.NoCredit, chat.Moved, chat.RateLimited, chat.ServerError, chat.Timeout, chat.Unreachable:
	}
	return false
}

// enter writes down what is sent, or how it ended, also if ctx has ended by now.
func (w *Worker) enter(ctx context.Context, e spend.Entry) (id int64, err error) {
	err = w.write(ctx, func(ctx context.Context) (err error) {
		id, err = w.opt.DB.RecordSpend(ctx, e)
		return err
	})
	return id, err
}

// write runs a step that must not be lost.
func (w *Worker) write(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enterFor)
	defer cancel()
	done := false
	err := w.opt.Write(ctx, func() error {
		err := step(ctx)
		done = err == nil
		return err
	})
	if err == nil && !done {
		err = errors.New("there was no room for it in time") // who waits gives up without a word
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errEnter, err)
	}
	return nil
}

func (w *Worker) keepTry(ctx context.Context, t summary.Try) error {
	return w.write(ctx, func(ctx context.Context) error { return w.opt.DB.SaveTry(ctx, t) })
}

// Sent is what left the machine last, by any process of this program.
type Sent struct {
	At     time.Time `json:"at"`
	Host   string    `json:"host"`
	Model  string    `json:"model"`
	Thread string    `json:"thread_id"`
	Bytes  int       `json:"bytes"` // of the text
}

const sentKey = "summary_sent"

func (w *Worker) sent(ctx context.Context, s Sent) {
	w.say(func(i *Info) { i.Sent = s })
	text, err := json.Marshal(s)
	if err == nil {
		err = w.write(ctx, func(ctx context.Context) error { return w.opt.DB.SetMeta(ctx, sentKey, string(text)) })
	}
	if err != nil {
		w.opt.Log.Debug("can't keep what was sent last", "err", err) // the ledger has it
	}
}

// LastSent reads what left the machine last; the zero value if nothing did.
func LastSent(ctx context.Context, db *store.DB) (s Sent, err error) {
	text, err := db.Meta(ctx, sentKey)
	if err != nil || text == "" {
		return s, err
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read what was sent last: %w", err)
	}
	return s, nil
}

// Preview is what would be sent for a thread.
type Preview struct {
	Plan     llm.Plan
	Host     string
	Local    bool
	Model    string
	Window   int  // 0: not known here, so that little is sent at a time
	Exact    bool // tokens are counted as the model does
	MicroUSD int64
	Priced   bool
	Denied   bool   // so nothing would be
	Same     bool   // there is nothing new: nothing would be
	Fault    string // why nothing could be sent as the settings are; empty: it could
	Fix      string
}

func denied(ctx context.Context, c config.Config, db *store.DB, v pipeline.View) (bool, error) {
	return deny.New(c.Summaries.DenyWorkspaces).Lineage(ctx, db, v.Thread)
}

// planned plans a summary of v.
func planned(ctx context.Context, pipe *pipeline.Pipeline, w who, v pipeline.View, c config.Summaries, wish Wish, window, output int) (llm.Plan, bool, error) {
	in, err := pipe.SummaryInput(ctx, v)
	if err != nil {
		return llm.Plan{}, false, err
	}
	if target := cmp.Or(wish.TargetChars, c.TargetChars); target > 0 {
		in.TargetChars = target * docShare / 100
	}
	count, exact := pipe.CountTokens(ctx, w.endpoint.Model)
	m := llm.Model{Name: w.endpoint.Model, Endpoint: w.host, Window: window, Output: output, Exact: exact}
	p, err := llm.PlanFor(in, m, count)
	if errors.Is(err, llm.ErrNothing) && wish.TargetChars > 0 && in.Prior != nil {
		in.Prior = nil // nothing new, but perhaps of another size
		p, err = llm.PlanFor(in, m, count)
	}
	return p, exact, err
}

// docShare is how much of a document its summary may have, per cent.
const docShare = 60

// costOf is what a plan costs at most; without tries.
func costOf(w who, p llm.Plan) (micro int64) {
	for i := range p.Calls {
		micro += w.price.Of(int64(p.Calls[i].Tokens), int64(p.Calls[i].Output))
	}
	return micro
}

func keyOf(p llm.Plan) string { return hex.EncodeToString(p.Key[:]) }
