package tokens

// merger counts the tokens of one piece as byte-pair merging by rank would
// leave them, without doing the merges.
//
// It rests on one fact of closed vocabularies: a row of tokens is the encoding
// of its text if, and only if, each two neighbours are the encoding of theirs.
// So it goes left to right, takes the longest token that agrees with the one
// before it, and goes back where none does. A position that led nowhere is
// marked and never entered again, which keeps the work linear in the piece,
// where merging by rank is quadratic or at best n log n.
type merger struct {
	v     *vocabulary
	stack []uint32               // tokens taken so far
	dead  []uint64               // a bit a position that leads nowhere
	memo  *[1 << memoBits]uint64 // verdicts on pairs: memoKey | verdict; direct-mapped
	// periods holds what is known of long runs of a rune, see runs.go.
	periods map[rune]period
	hints   hints
}

const (
	// memoBits: verdicts are asked again and again for the same few thousand
	// pairs; asking the tables costs several misses of the processor's caches.
	memoBits = 15 // 256 KB
	// scratchKeep is the length of the longest piece, in bytes, whose scratch
	// space is kept for the next.
	scratchKeep = 1 << 16
)

func newMerger(v *vocabulary) *merger {
	return &merger{v: v, memo: new([1 << memoBits]uint64)}
}

// count returns the number of tokens of a piece that is not empty.
func (m *merger) count(piece []byte) int {
	first := m.v.trie.longest(piece)
	if m.v.length(first) == len(piece) {
		return 1
	}
	if len(piece) > runLong {
		return m.countLong(piece)
	}
	if len(piece) >= hintRun {
		return m.countRuns(piece)
	}
	return len(m.encode(piece, first))
}

// encode returns the tokens of piece, whose longest first token is id. The
// slice is good until the next call.
func (m *merger) encode(piece []byte, id uint32) []uint32 {
	m.reserve(len(piece))
	info, stack, dead, memo := m.v.info, m.stack[:0], m.dead, m.memo
	gone, last := false, noToken // whether a position is dead; the token before id
	for at := 0; ; {
		row := info[id]
		end := at + int(row>>tokenLength)
		fits := !gone || dead[end>>6]>>(end&63)&1 == 0
		if fits && last != noToken {
			// What agree would look up first: mostly that is all, and less than a call.
			known := memoKey(last, id)
			if slot := memo[memoSlot(known)] ^ known; slot <= 1 {
				fits = slot != 0
			} else {
				fits = m.agree(last, id)
			}
		}
		if fits {
			stack = append(stack, id)
			last, at = id, end
			if at == len(piece) {
				m.stack = stack
				return stack
			}
			id = m.v.trie.longest(piece[at:])
			continue
		}
		if shorter := uint32(row>>tokenPrefix) & tokenIDMask; shorter != id {
			id = shorter
			continue
		}
		// Nothing fits here. The first position is never dead: every text has
		// an encoding.
		gone = true
		dead[at>>6] |= 1 << (at & 63)
		id = last
		if stack = stack[:len(stack)-1]; len(stack) > 0 {
			last = stack[len(stack)-1]
		} else {
			last = noToken
		}
		at -= m.v.length(id)
	}
}

// reserve gives up the scratch space of a long piece and clears the marks for
// one of n bytes.
func (m *merger) reserve(n int) {
	if n <= scratchKeep && (cap(m.stack) > scratchKeep || len(m.dead) > scratchKeep/64+1) {
		m.stack, m.dead = nil, nil
	}
	if n > scratchKeep && cap(m.stack) < n/3 {
		m.stack = make([]uint32, 0, n/3) // grown step by step it would be copied as often
	}
	if words := n/64 + 1; words > len(m.dead) {
		m.dead = make([]uint64, max(words, 16))
	} else {
		clear(m.dead[:words])
	}
}

// agree says whether left and right are the encoding of their joint text.
func (m *merger) agree(left, right uint32) bool {
	key := memoKey(left, right)
	slot := &m.memo[memoSlot(key)]
	if *slot^key <= 1 {
		return *slot != key
	}
	*slot = key
	if m.v.neighbours(left, right) {
		*slot |= 1
		return true
	}
	return false
}

// memoKey is what is remembered of two tokens, the verdict left 0. No key is 0,
// as a slot is where nothing is remembered.
func memoKey(left, right uint32) uint64 { return pairKey(left, right)<<2 | 2 }

// memoSlot is where it stands.
func memoSlot(key uint64) uint64 { return spread(key) >> (64 - memoBits) }

// neighbours takes the merges that made left and right apart again, the last
// one first, and watches the two tokens at the seam. Had these two been free
// to merge before one of them was used up by its own side, they would have,
// and left and right would never have come to be. Of two merges of one rank
// the one further left goes first: hence the +1 where the right side is the
// one that used its token up.
func (v *vocabulary) neighbours(left, right uint32) bool {
	limit := ^uint32(0)
	for {
		if merged := v.merged(left, right); merged < limit {
			return false // noToken is not below any limit
		}
		if left > right {
			limit = left
			left = uint32(v.info[left]>>tokenRight) & tokenIDMask
			if left == limit {
				return true
			}
		} else {
			half := uint32(v.info[right]>>tokenLeft) & tokenIDMask
			if half == right {
				return true
			}
			limit, right = right+1, half
		}
	}
}
