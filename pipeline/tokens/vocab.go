package tokens

import (
	"sync"
	"weak"
)

// vocabulary is what the merge core reads: built once, never changed, shared
// by all counters of the process.
type vocabulary struct {
	trie  *trie
	info  []uint64 // by token id, see the token… constants
	pairs pairTable
}

// info packs what the core wants to know of a token in one load.
const (
	tokenIDBits = 18 // 2^18 ids are more than any vocabulary here has
	tokenIDMask = 1<<tokenIDBits - 1

	tokenLeft   = 0               // left half of its last merge; itself for one byte
	tokenRight  = tokenIDBits     // right half; itself for one byte
	tokenPrefix = 2 * tokenIDBits // longest token it starts with, itself for none
	tokenLength = 3 * tokenIDBits // bytes
)

// length returns the length of a token in bytes.
func (v *vocabulary) length(id uint32) int { return int(v.info[id] >> tokenLength) }

// Built on first use and kept until Release, about 10 MB for o200k_base and 5 MB
// for cl100k_base. They are read only; that they are there is no state that
// anybody sees.
var (
	o200kVocabulary  = &shared[vocabulary]{make: func() *vocabulary { return build(inflate(o200kBlob)) }}
	cl100kVocabulary = &shared[vocabulary]{make: func() *vocabulary { return build(inflate(cl100kBlob)) }}
)

// Release lets go of the vocabularies that no counter holds any more; the next
// count that needs one builds it anew. For a program that has been idle.
func Release() {
	o200kVocabulary.release()
	cl100kVocabulary.release()
	p50kLegacy.release()
	r50kLegacy.release()
}

// shared is one thing for the whole process, made when it is first asked for.
// After release it is still the same one for as long as somebody uses it.
type shared[T any] struct {
	make func() *T

	mu   sync.Mutex
	held *T // guarded by mu
	weak weak.Pointer[T]
}

func (s *shared[T]) get() *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = s.weak.Value()
	}
	if s.held == nil {
		s.held = s.make()
		s.weak = weak.Make(s.held)
	}
	return s.held
}

func (s *shared[T]) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
}

// build makes the tables in three passes: the tree with what the prefixes of
// a token tell, the packed trie, and the halves that need the trie.
func build(w *words) *vocabulary {
	tree := newNodes(len(w.tails) + 1)
	info := make([]uint64, w.count)
	rest := make([]byte, 0, len(w.tails)*4) // right halves, in row order
	var path, known [257]uint32             // by depth: tree node; longest token + 1 up to here
	depth := 0
	w.each(func(i int, token []byte) {
		shared := int(w.shared[i])
		for d := shared; d < len(token); d++ {
			before := uint32(0)
			if d == shared && depth > shared {
				before = path[d+1]
			}
			path[d+1] = tree.add(path[d], before, token[d])
			known[d+1] = known[d]
		}
		depth = len(token)
		id, split := w.rank(i), int(w.split[i])
		prefix, left := id, id
		if p := known[depth-1]; p != 0 {
			prefix = p - 1
		}
		if split != 0 {
			left = known[split] - 1
			rest = append(rest, token[split:]...)
		}
		tree.token[path[depth]], known[depth] = id+1, id+1
		info[id] = uint64(left)<<tokenLeft | uint64(id)<<tokenRight |
			uint64(prefix)<<tokenPrefix | uint64(depth)<<tokenLength
	})
	v := &vocabulary{trie: tree.pack(), info: info, pairs: newPairTable(w.count)}
	for i := range w.count {
		split := int(w.split[i])
		if split == 0 {
			continue
		}
		id := w.rank(i)
		n := int(info[id]>>tokenLength) - split
		right := v.trie.find(rest[:n])
		rest = rest[n:]
		info[id] = info[id]&^(tokenIDMask<<tokenRight) | uint64(right)<<tokenRight
		v.pairs.add(uint32(info[id]>>tokenLeft)&tokenIDMask, right, id)
	}
	return v
}
