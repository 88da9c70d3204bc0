// Package compress decides what of a thread is handed to the next agent, and
// writes it. It is pure: no file, no clock, the same input gives the same
// bytes.
//
// The way of the data:
//
//	[1] the messages that migrate are joined to units: a call and its result
//	    are one, anything else stands alone (units.go)
//	[2] a Strategy makes a plan: which bytes of which message are kept
//	    (latest.go, shrunk.go, selected.go)
//	[3] the plan becomes a Selection: pieces in original order, each result
//	    under its call, and gaps with the refs that bring back what is missing
//	    (compose.go)
//	[4] the Selection is rendered in one Format and counted with the caller's
//	    counter; a plan that is too long is shortened until it keeps the budget
//
// Nothing is dropped silently: every byte that is left out is named by a ref
// in the text, an item's or a range of turns. Callers redact the messages
// before they bring them here, so that no half of a secret survives a cut.
package compress

import (
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Counter returns the number of tokens of a text. It must not depend on
// anything but the text.
type Counter func(text string) int

// Input is what is selected from.
type Input struct {
	Messages     []transcript.Message // of the thread's current branch, in order
	BudgetTokens int                  // what the rendering may count
	Count        Counter              // of the target's encoding
	Format       Format               // of the rendering that keeps the budget; zero: markdown
	Session      string               // last 8 hex digits of the thread id, for the legend
	Own          int                  // pieces of session-migrator's own that Messages are without, for the legend
	Retrieved    []Passage            // found for the next request, best first; a tenth of the budget at most
	Summary      string               // of the thread, generated, some lines: stands on top where whole messages are left out; an eighth of the budget at most
}

// summaryShare is what the summary may take of a budget: one part of so many.
const summaryShare = 8

// Strategy is a way to choose.
type Strategy interface {
	// Name is the word the user asks for it by.
	Name() string
	// Select returns a selection whose rendering in in.Format counts at most
	// in.BudgetTokens. A budget that doesn't hold the newest message gives
	// that message cut, with a mark; one that doesn't hold even the marks
	// gives ErrBudget.
	Select(in Input) (Selection, error)
}

// ErrBudget says that the budget holds not even a cut message.
var ErrBudget = errors.New("budget too small for any message")

// budgetError is ErrBudget with its figures.
type budgetError struct{ budget, need int }

// Error implements error.
func (e *budgetError) Error() string {
	return fmt.Sprintf("select within %d tokens, need %d: %v", e.budget, e.need, ErrBudget)
}

// Unwrap makes the error one of ErrBudget.
func (e *budgetError) Unwrap() error { return ErrBudget }

// TooSmall returns the budget and the least that is needed, in tokens. Packages
// that don't know this one find the error by it.
func (e *budgetError) TooSmall() (budget, need int) { return e.budget, e.need }

// ByName returns the strategy called latest, shrunk or selected.
func ByName(name string) (Strategy, error) {
	for _, s := range [...]strategy{strategy(decide.Latest), strategy(decide.Shrunk), strategy(decide.Selected)} {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown strategy %q: latest, shrunk or selected", name)
}

type strategy decide.Strategy

// Name implements Strategy.
func (s strategy) Name() string { return decide.Strategy(s).String() }

// Select implements Strategy.
func (s strategy) Select(in Input) (Selection, error) {
	if in.Summary != "" && in.Count(in.Summary) > in.BudgetTokens/summaryShare {
		in.Summary = ""
	}
	b := newBuilder(in)
	if len(b.units) == 0 {
		return b.result(b.plan())
	}
	if s, fits, err := b.everything(); fits || err != nil {
		return s, err
	}
	if len(in.Retrieved) > 0 {
		return b.withRetrieved(s)
	}
	return b.pick(s)
}

func (b *builder) pick(s strategy) (Selection, error) {
	sel, err := b.choose(decide.Strategy(s))
	if err == nil && sel.KeptMessages == 0 {
		return b.cutNewest() // marks alone are no hand-over
	}
	return sel, err
}

func (b *builder) choose(s decide.Strategy) (Selection, error) {
	switch s {
	case decide.Latest:
		return b.latest()
	case decide.Shrunk:
		return b.shrunk()
	case decide.Selected:
		return b.selected()
	}
	panic(fmt.Sprintf("bug: strategy %d", s))
}

// Selection is what was chosen, in original order.
type Selection struct {
	Keep    []Piece
	Gaps    []Gap
	Note    string // stands on top: whose history this is and how to fetch the rest
	Summary string // stands below it: what a model or an agent wrote of the thread; may be empty
	Tokens  int    // of the rendering in the format asked for
	// KeptMessages are here whole or in part, OmittedMessages not at all.
	// Only messages that migrate are counted.
	KeptMessages, OmittedMessages int

	format Format
}

// Piece is a message that is kept, whole or in part. A call that is not kept
// but has a kept result, and a result whose call is kept, are pieces without
// Spans: only a mark.
type Piece struct {
	Message *transcript.Message
	Spans   []Span // the kept bytes of Message.Body, in order
	Whole   bool   // nothing is missing
	Text    string // the body as rendered, marks included
	// Retrieved says that a part was found for the next request and would not
	// be here without it.
	Retrieved bool
	// Call is the index in Keep of the call this result belongs to, -1 if
	// there is none or this is no result.
	Call int
}

// Span is a run of bytes, To excluded.
type Span struct{ From, To int }

// Gap is a run that is left out: whole messages, or bytes within one.
type Gap struct {
	Ref      Ref
	Before   int // index in Keep of the piece it stands before; len(Keep) at the end
	Within   bool
	Messages int // whole messages; 0 if Within
	Tokens   int // o200k_base; estimated if Within
}
