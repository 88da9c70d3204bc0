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

// Built on first use and kept until Release, about 7 MB for o200k_base and 4 MB
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

// build makes the tables: the trie, then with its help what is known of tokens.
func build(w *words) *vocabulary {
	v := &vocabulary{trie: newTrie(w), info: inLargePages(make([]uint64, w.count)), pairs: newPairTable(w.count)}
	var known [257]uint32 // by depth: longest token + 1 up to here, on the way to the last token
	w.each(func(i int, token []byte) {
		for d := int(w.shared[i]); d < len(token); d++ {
			known[d+1] = known[d]
		}
		n, id, split := len(token), w.rank(i), int(w.split[i])
		prefix, left, right := id, id, id
		if p := known[n-1]; p != 0 {
			prefix = p - 1
		}
		known[n] = id + 1
		if split != 0 {
			left, right = known[split]-1, v.trie.find(token[split:])
			v.pairs.add(left, right, id)
		}
		v.info[id] = uint64(left)<<tokenLeft | uint64(right)<<tokenRight |
			uint64(prefix)<<tokenPrefix | uint64(n)<<tokenLength
	})
	return v
}

// merged returns the token that left and right merge into, or noToken.
func (v *vocabulary) merged(left, right uint32) uint32 {
	p := &v.pairs
	h := spread(pairKey(left, right))
	f := h >> (p.shift - 3)
	if p.maybe[f>>6]>>(f&63)&1 == 0 {
		return noToken
	}
	halves := uint64(left)<<tokenLeft | uint64(right)<<tokenRight
	for at := h >> p.shift; ; at = (at + 1) & uint64(len(p.slots)-1) {
		slot := p.slots[at]
		if slot == 0 {
			return noToken
		}
		if id := slot & tokenIDMask; (slot^pairTag(h))>>tokenIDBits == 0 && (v.info[id]^halves)&(1<<tokenPrefix-1) == 0 {
			return id
		}
	}
}
