package tokens

// ranked counts the tokens of one piece by doing the merges, lowest rank first:
// for vocabularies with tokens that their own merges don't lead to, where the
// verdicts of merger would be wrong. A heap of the merges that are possible
// keeps it at n log n.
type ranked struct {
	v     *rankedVocabulary
	heap  []candidate
	parts []part
	last  int // length of the left half of the last merge done
}

// rankedVocabulary is immutable and shared.
type rankedVocabulary struct {
	bytes [256]uint32         // token of each byte
	whole map[string]struct{} // pieces that are one token without merging
	pairs map[uint64]merge    // by pairKey32
}

type merge struct{ rank, token uint32 }

// candidate is a merge of the parts at left and the one after it.
type candidate struct {
	rank        uint32
	left, right int32  // starts of the parts
	a, b        uint32 // their tokens when it was found
}

// part is a token of the piece so far, by the place it starts at.
type part struct {
	token      uint32
	prev, next int32 // -1 for none
	dead       bool
}

func pairKey32(left, right uint32) uint64 { return uint64(left)<<32 | uint64(right) }

// count returns the number of tokens of a piece that is not empty.
func (r *ranked) count(piece []byte) int {
	if _, ok := r.v.whole[string(piece)]; ok {
		return 1
	}
	r.parts, r.heap = r.parts[:0], r.heap[:0]
	for i, b := range piece {
		r.parts = append(r.parts, part{token: r.v.bytes[b], prev: int32(i) - 1, next: int32(i) + 1})
	}
	r.parts[len(piece)-1].next = -1
	for i := 0; i+1 < len(piece); i++ {
		r.offer(int32(i))
	}
	left := len(piece)
	for len(r.heap) > 0 {
		c := r.pop()
		l, n := &r.parts[c.left], c.right
		if l.dead || l.next != n || r.parts[n].dead || l.token != c.a || r.parts[n].token != c.b {
			continue // one of the two was merged with another since
		}
		l.token = r.v.pairs[pairKey32(c.a, c.b)].token
		r.parts[n].dead = true
		r.last = int(n - c.left)
		if l.next = r.parts[n].next; l.next >= 0 {
			r.parts[l.next].prev = c.left
		}
		left--
		r.offer(c.left)
		if l.prev >= 0 {
			r.offer(l.prev)
		}
	}
	if cap(r.parts) > scratchKeep {
		r.parts, r.heap = nil, nil
	}
	return left
}

// offer puts the merge of the part at i with the next on the heap, if there is
// one.
func (r *ranked) offer(i int32) {
	n := r.parts[i].next
	if n < 0 {
		return
	}
	a, b := r.parts[i].token, r.parts[n].token
	if m, ok := r.v.pairs[pairKey32(a, b)]; ok {
		r.push(candidate{m.rank, i, n, a, b})
	}
}

// before says which of two merges goes first: the lower rank, then the one
// further left.
func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.left < d.left
}

func (r *ranked) push(c candidate) {
	r.heap = append(r.heap, c)
	for i := len(r.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !r.heap[i].before(r.heap[up]) {
			return
		}
		r.heap[i], r.heap[up] = r.heap[up], r.heap[i]
		i = up
	}
}

func (r *ranked) pop() candidate {
	top, last := r.heap[0], len(r.heap)-1
	r.heap[0] = r.heap[last]
	r.heap = r.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && r.heap[down+1].before(r.heap[down]) {
			down++
		}
		if !r.heap[down].before(r.heap[i]) {
			return top
		}
		r.heap[i], r.heap[down] = r.heap[down], r.heap[i]
		i = down
	}
}
