package tokens

import (
	"fmt"
	"math"
	"slices"
)

// build makes what counts. Ids are given anew, bytes first and then tokens in
// the order of their merges: only their number is asked for later.
func (v *Imported) build(r recipe) error {
	slices.Sort(r.tokens)
	for b := range 256 {
		if _, ok := slices.BinarySearch(r.tokens, string([]byte{byte(b)})); !ok {
			return fmt.Errorf("read vocabulary: no token for byte 0x%02x: not a byte-level vocabulary", b)
		}
	}
	ids, order := r.order()
	ranked, err := r.ranked(ids)
	if err != nil {
		return err
	}
	splits, closed := r.closed(ids, order, ranked)
	if !closed {
		v.ranked = ranked
		return nil
	}
	v.Closed = true
	w := &words{count: len(r.tokens), split: splits}
	prev := ""
	for _, token := range r.tokens {
		n := 0
		for n < len(prev) && n < len(token) && prev[n] == token[n] {
			n++
		}
		id := ids[token]
		w.shared, w.more = append(w.shared, byte(n)), append(w.more, byte(len(token)-n))
		for k := range w.ranks {
			w.ranks[k] = append(w.ranks[k], byte(id>>(16-8*k)))
		}
		w.tails = append(w.tails, token[n:]...)
		prev = token
	}
	v.vocabulary = build(w)
	return nil
}

// order numbers the tokens: bytes, then by rank, then those that no merge makes.
// The second is the rank of each id, math.MaxInt where there is none.
func (r *recipe) order() (ids map[string]uint32, ranks []int) {
	rank := r.ranks
	if r.merges != nil {
		rank = make(map[string]int, len(r.merges))
		for i, m := range r.merges {
			if _, ok := rank[m[0]+m[1]]; !ok {
				rank[m[0]+m[1]] = i
			}
		}
	}
	of := func(token string) int {
		if len(token) == 1 {
			return -1
		}
		if n, ok := rank[token]; ok {
			return n
		}
		return math.MaxInt
	}
	sorted := slices.Clone(r.tokens)
	slices.SortStableFunc(sorted, func(a, b string) int {
		x, y := of(a), of(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	ids, ranks = make(map[string]uint32, len(sorted)), make([]int, len(sorted))
	for i, token := range sorted {
		ids[token], ranks[i] = uint32(i), of(token)
	}
	return ids, ranks
}

// ranked makes the tables of the merges.
func (r *recipe) ranked(ids map[string]uint32) (*rankedVocabulary, error) {
	v := &rankedVocabulary{whole: map[string]struct{}{}, pairs: make(map[uint64]merge, len(r.tokens))}
	for b := range v.bytes {
		v.bytes[b] = ids[string([]byte{byte(b)})]
	}
	if r.whole {
		for _, token := range r.tokens {
			v.whole[token] = struct{}{}
		}
	}
	if r.merges == nil {
		// Any two tokens merge that a token is made of, by its rank.
		for _, token := range r.tokens {
			for cut := 1; cut < len(token); cut++ {
				left, ok := ids[token[:cut]]
				if !ok {
					continue
				}
				if right, ok := ids[token[cut:]]; ok {
					v.pairs[pairKey32(left, right)] = merge{uint32(r.ranks[token]), ids[token]}
				}
			}
		}
		return v, nil
	}
	for i, m := range r.merges {
		left, ok1 := ids[m[0]]
		right, ok2 := ids[m[1]]
		token, ok3 := ids[m[0]+m[1]]
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("read vocabulary: merge %d of %q and %q names what is no token", i, m[0], m[1])
		}
		if _, twice := v.pairs[pairKey32(left, right)]; !twice {
			v.pairs[pairKey32(left, right)] = merge{uint32(i), token}
		}
	}
	return v, nil
}

// closed says whether each token is what its bytes merge to, by merges in the
// order of ids, and gives the length of the left half of the last one by token
// in byte order. What the tables of the linear core can't hold is not closed.
func (r *recipe) closed(ids map[string]uint32, ranks []int, v *rankedVocabulary) (splits []byte, ok bool) {
	if len(r.tokens) > tokenIDMask || r.merges != nil && len(r.merges) != len(r.tokens)-256 {
		return nil, false // a token with two merges, or with none
	}
	for _, n := range ranks {
		if n == math.MaxInt {
			return nil, false
		}
	}
	made := make(map[uint32]uint8, len(r.tokens)) // left halves by token
	if r.merges != nil {
		for _, m := range r.merges {
			if len(m[0]) > math.MaxUint8 {
				return nil, false
			}
			made[ids[m[0]+m[1]]] = uint8(len(m[0]))
		}
	}
	c := &ranked{v: &rankedVocabulary{bytes: v.bytes, pairs: v.pairs}}
	splits = make([]byte, len(r.tokens))
	for i, token := range r.tokens {
		if len(token) > math.MaxUint8 {
			return nil, false
		}
		if len(token) == 1 {
			continue
		}
		if c.count([]byte(token)) != 1 {
			return nil, false
		}
		splits[i] = made[ids[token]]
		if r.merges == nil {
			splits[i] = byte(c.last)
		}
		left, right := ids[token[:splits[i]]], ids[token[splits[i]:]]
		if id := ids[token]; left >= id || right >= id {
			return nil, false
		}
	}
	return splits, true
}
