package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/session-migrator/session-migrator/store"
)

// The saturation of BM25 by length, for words that count once an item.
const (
	bm25K, bm25B = 1.2, 0.6
	// usualTokens is the length of an item that is neither long nor short.
	usualTokens = 120
	// countedTokens is the most that a length counts: of a long output the index
	// has but parts.
	countedTokens = 1500
)

// table says which items hold which clauses of a question.
type table struct {
	size   float64          // items there are, about
	count  []int            // items that hold a clause
	common []bool           // more hold it than are known
	held   map[int64]uint32 // bit k: holds clause k
	whole  map[int64]bool   // holds all that the question has
	only   map[int64]bool   // nothing else answers; nil: everything may
	some   int              // clauses that are not common
	cut    bool             // more hold what must be than are known
}

func newTable(m *matcher) *table {
	n := min(len(m.clauses), maxClauses)
	return &table{count: make([]int, n), common: make([]bool, n), held: map[int64]uint32{}, whole: map[int64]bool{}}
}

// require lets nothing but ids answer.
func (t *table) require(ids []int64) {
	t.only = make(map[int64]bool, len(ids))
	for _, id := range ids {
		t.only[id] = true
		t.held[id] |= 0
	}
}

func (t *table) mark(id int64, k int) {
	if t.only == nil || t.only[id] {
		t.held[id] |= 1 << k
	}
}

// known tells whether it is known of each item which clauses of mask it holds.
func (t *table) known(mask uint32) bool {
	for k, common := range t.common {
		if common && mask&(1<<k) != 0 {
			return false
		}
	}
	return true
}

// add notes the items that hold clause k; common: there are more.
func (t *table) add(k int, ids []int64, common bool) {
	t.count[k], t.common[k] = len(ids), common
	if !t.common[k] && len(ids) > 0 {
		t.some++
	}
	for _, id := range ids {
		t.mark(id, k)
	}
}

// complete notes items that hold all.
func (t *table) complete(ids []int64) {
	for _, id := range ids {
		if t.only == nil || t.only[id] {
			t.whole[id] = true
			t.held[id] |= 0
		}
	}
}

// weights are what the clauses tell: the rarer the more.
func (t *table) weights() []float64 {
	out := make([]float64, len(t.count))
	for k, n := range t.count {
		df := float64(n)
		out[k] = math.Log1p((max(t.size, df) - df + 0.5) / (df + 0.5))
	}
	return out
}

func sum(mask uint32, weights []float64) (w float64) {
	for ; mask != 0; mask &= mask - 1 {
		w += weights[bits.TrailingZeros32(mask)]
	}
	return w
}

// best gives at most limit items that hold most, by what their words tell. more:
// there are others.
func (t *table) best(limit int) (ids []int64, more bool) {
	weights := t.weights()
	rare := uint32(0)
	for k := range t.common {
		if !t.common[k] {
			rare |= 1 << k
		}
	}
	type entry struct {
		id    int64
		score float64
	}
	byScore := func(a, b entry) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id)) }
	list := make([]entry, 0, 2*limit)
	least, n := math.Inf(-1), 0
	for id, mask := range t.held {
		// What holds but common words is one of too many, unless nothing else is
		// asked for.
		if mask&rare == 0 && t.some > 0 && t.only == nil && !t.whole[id] {
			continue
		}
		n++
		e := entry{id, sum(mask, weights)}
		if t.whole[id] {
			e.score++
		}
		if e.score < least {
			continue
		}
		if list = append(list, e); len(list) == cap(list) {
			slices.SortFunc(list, byScore)
			list = list[:limit]
			least = list[limit-1].score
		}
	}
	slices.SortFunc(list, byScore)
	out := make([]int64, min(limit, len(list)))
	for i := range out {
		out[i] = list[i].id
	}
	return out, n > limit || t.cut || t.some == 0 && t.only == nil && slices.Contains(t.common, true)
}

// rank sorts those of ids that have figures: the best of them by how well they
// match, of these the ones that hold everything, and the rest.
func (t *table) rank(ids []int64, figures map[int64]*store.Figure) (some, all, rest []int64) {
	weights := t.weights()
	scores := make(map[int64]float64, len(ids))
	for _, id := range ids {
		f := figures[id]
		if f == nil {
			continue
		}
		long := float64(min(f.Tokens, countedTokens)) / usualTokens
		scores[id] = sum(t.held[id], weights) * (bm25K + 1) / (1 + bm25K*(1-bm25B+bm25B*long))
		some = append(some, id)
	}
	slices.SortFunc(some, func(a, b int64) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a)) })
	some, rest = some[:min(pool, len(some))], some[min(pool, len(some)):]
	for _, id := range some {
		if t.whole[id] {
			all = append(all, id)
		}
	}
	return some, all, rest
}
