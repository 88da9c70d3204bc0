package compress

import (
	"errors"
	"slices"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// retrievedShare is the part of a budget, one in so many, that passages found
// for the next request may take. More of it finds little more and costs the
// coverage of everything else.
const retrievedShare = 10

// passageTokens is a guess of what stands around a passage: a piece of its own
// and a gap more, in the wordiest format.
const passageTokens = 110

// Passage is a run of bytes of a message that was found for the next request.
type Passage struct {
	Message int // index in Input.Messages
	Span
}

// withRetrieved selects as if the budget were smaller by what the passages may
// take, and then adds those that aren't kept anyway, best first, where they
// stand in the thread. Without room for any, all is as if none were asked for.
func (b *builder) withRetrieved(s strategy) (Selection, error) {
	share := min(b.in.BudgetTokens/retrievedShare, b.priceOf(b.in.Retrieved))
	base := newBuilder(b.in)
	base.in.BudgetTokens -= share
	sel, err := base.pick(s)
	if errors.Is(err, ErrBudget) {
		return b.pick(s)
	} else if err != nil {
		return Selection{}, err
	}
	p := b.planOf(&sel)
	var more []Passage
	for _, r := range b.in.Retrieved {
		if !p.keeps(r) {
			more = append(more, r)
		}
	}
	guess := make([]int, len(more))
	for i := range more {
		guess[i] = sel.Tokens + b.priceOf(more[:i+1])
	}
	add := newBuilder(b.in)
	add.in.BudgetTokens = min(b.in.BudgetTokens, sel.Tokens+share)
	got, found, err := add.largest(guess, exactly, func(k int) (Selection, error) {
		add.retrieved = map[*transcript.Message]bool{}
		q := slices.Clone(p)
		for _, r := range more[:k] {
			q.add(r)
			add.retrieved[&b.in.Messages[r.Message]] = true
		}
		add.complete(q)
		return add.measure(q)
	})
	if err != nil {
		return Selection{}, err
	}
	if !found {
		return b.pick(s)
	}
	return got, nil
}

// priceOf guesses the tokens of passages with what stands around each.
func (b *builder) priceOf(ps []Passage) (n int) {
	for _, r := range ps {
		n += tokensOf(&b.in.Messages[r.Message], r.To-r.From) + passageTokens
	}
	return n
}

// planOf gives the plan that a selection was made of.
func (b *builder) planOf(s *Selection) plan {
	at := make(map[*transcript.Message]int, len(b.in.Messages))
	for i := range b.in.Messages {
		at[&b.in.Messages[i]] = i
	}
	p := b.plan()
	for _, piece := range s.Keep {
		i := at[piece.Message]
		p[i] = slices.Clone(piece.Spans)
		p.name(i)
	}
	return p
}

// keeps tells whether all of a passage is kept.
func (p plan) keeps(r Passage) bool {
	return slices.ContainsFunc(p[r.Message], func(s Span) bool { return s.From <= r.From && r.To <= s.To })
}

// add keeps a passage, too.
func (p plan) add(r Passage) {
	spans := append(slices.Clone(p[r.Message]), r.Span)
	slices.SortFunc(spans, func(a, b Span) int { return a.From - b.From })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.From <= last.To {
			last.To = max(last.To, s.To)
		} else {
			out = append(out, s)
		}
	}
	p[r.Message] = out
}

// retrievedMark says why a piece is here, and where the whole of it is.
func (p *Piece) retrievedMark() string {
	return "retrieved for the next request, " + itemRef(p.Message, 0, 0).String()
}
