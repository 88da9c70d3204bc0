package compress

import "sort"

// pieceTokens is a guess of what a piece costs beside its text, markTokens of
// what a mark costs. Guesses only choose where to begin; what holds is the
// count of the rendering.
const (
	pieceTokens = 14
	markTokens  = 16
)

// How close to the budget largest has to come, in thousandths.
const (
	exactly = 1001 // the very last unit that fits: no share is above it
	nearly  = 985  // good enough where units are small and counting is not
)

// interpolations is how often the guess is corrected by the count before
// largest falls back to halving.
const interpolations = 4

// largest finds the largest k from 1 to len(guess) whose selection keeps the
// budget. guess[k-1] is about what k costs and rises with k; close is the
// share of the budget, in thousandths, that is good enough to stop. Only what
// was counted is returned, so sizes need not be quite monotone.
func (b *builder) largest(guess []int, close int, at func(k int) (Selection, error)) (Selection, bool, error) {
	budget := b.in.BudgetTokens
	var best Selection
	lo, hi := 0, len(guess)+1 // lo keeps the budget or is 0, hi doesn't or is the end
	k := sort.SearchInts(guess, budget+1)
	for n := 0; hi-lo > 1; n++ {
		k = min(max(k, lo+1), hi-1)
		s, err := at(k)
		if err != nil {
			return Selection{}, false, err
		}
		if s.Tokens <= budget {
			best, lo = s, k
			if int64(s.Tokens)*1000 >= int64(budget)*int64(close) {
				break
			}
		} else {
			hi = k
		}
		if n < interpolations && s.Tokens > 0 {
			aim := int64(guess[k-1]) * int64(budget) / int64(s.Tokens)
			k = sort.SearchInts(guess, int(aim)+1)
		} else {
			k = (lo + hi) / 2
		}
	}
	return best, lo > 0, nil
}

// smallBytes is what can be counted whole without a guess whether it fits.
const smallBytes = 8 << 10

// everything selects all of it, if that keeps the budget: no strategy does
// better.
func (b *builder) everything() (Selection, bool, error) {
	guess, size := 0, 0
	for i := range b.in.Messages {
		if m := &b.in.Messages[i]; m.Role.Migrates() {
			guess += m.Tokens
			size += len(m.Body())
		}
	}
	if guess > b.in.BudgetTokens && size > smallBytes {
		return Selection{}, false, nil
	}
	s, err := b.measure(b.newest(0))
	if err != nil || s.Tokens > b.in.BudgetTokens {
		return Selection{}, false, err
	}
	return s, true, nil
}
