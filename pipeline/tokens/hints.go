package tokens

// In a run of one rune that is too short to be cut shorter, the longest token is
// seldom the right one: rules of "-" have tokens of dozens of lengths, of which
// merging uses the powers of two. To take the longest first then goes through
// all lengths at all places before the first choice is given up. Which token is
// tried first is free, for there is only one row of tokens that agree. So where a
// run goes on the token that long runs consist of is tried before the others.
// Runes of more bytes have few tokens that are runs, and to ask what a long run
// of each of thousands of runes is like would cost more than it saves.

// hintRun is the length of a run, in bytes, from which its tokens are hinted at.
const hintRun = 96

// hint says that token may be tried first where it fits between start and end.
type hint struct {
	start, end int
	token      uint32
	size       int // bytes of the token
}

// hints are those for a piece, and the one last asked for.
type hints struct {
	all []hint
	at  int
}

// next returns the token hinted at for place at, or noToken.
func (h *hints) next(at int) uint32 {
	for h.at < len(h.all) && at >= h.all[h.at].end {
		h.at++
	}
	for h.at > 0 && at < h.all[h.at-1].end {
		h.at--
	}
	if h.at == len(h.all) {
		return noToken
	}
	r := &h.all[h.at]
	if at < r.start || at+r.size > r.end {
		return noToken
	}
	return r.token
}

// countRuns is the number of tokens of a piece that may have runs in it.
func (m *merger) countRuns(piece []byte) int {
	all := m.hints.all[:0]
	for i := 0; i < len(piece); {
		n, unit := runLength(piece[i:])
		if n >= hintRun && unit == 1 {
			if p := m.runPeriod(piece[i:]); p.size > 0 {
				all = append(all, hint{start: i, end: i + n, token: p.token, size: m.v.length(p.token)})
			}
		}
		i += n
	}
	m.hints = hints{all: all}
	if len(all) == 0 {
		return len(m.encode(piece, m.v.trie.longest(piece)))
	}
	return len(m.encodeHinted(piece, &m.hints))
}

// encodeHinted is encode with some tokens tried first.
func (m *merger) encodeHinted(piece []byte, h *hints) []uint32 {
	m.reserve(len(piece))
	stack, dead, at := m.stack[:0], m.dead, 0
	id := m.firstTry(piece, 0, h)
	for {
		end := at + m.v.length(id)
		if dead[end>>6]>>(end&63)&1 == 0 && (len(stack) == 0 || m.agree(stack[len(stack)-1], id)) {
			stack = append(stack, id)
			at = end
			if at == len(piece) {
				m.stack = stack
				return stack
			}
			id = m.firstTry(piece, at, h)
			continue
		}
		for {
			next, ok := m.nextTry(piece, at, id, h)
			if ok {
				id = next
				break
			}
			dead[at>>6] |= 1 << (at & 63)
			id = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			at -= m.v.length(id)
		}
	}
}

func (m *merger) firstTry(piece []byte, at int, h *hints) uint32 {
	if id := h.next(at); id != noToken {
		return id
	}
	return m.v.trie.longest(piece[at:])
}

// nextTry returns what is tried at a place after id: after a token hinted at
// all others, the longest first.
func (m *merger) nextTry(piece []byte, at int, id uint32, h *hints) (uint32, bool) {
	hinted := h.next(at)
	if id == hinted {
		if id = m.v.trie.longest(piece[at:]); id != hinted {
			return id, true
		}
	}
	for {
		shorter := uint32(m.v.info[id]>>tokenPrefix) & tokenIDMask
		if shorter == id {
			return 0, false
		}
		if id = shorter; id != hinted {
			return id, true
		}
	}
}
