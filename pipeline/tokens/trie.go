package tokens

import "math/bits"

// trie is a double-array trie over the bytes of all tokens: one step is one
// load and one compare, which is what the merge core does most. A cell packs
//
//	bits 40-63  base: the children of this node lie at base+byte
//	bits 20-39  token id + 1, 0 where no token ends
//	bits  0-8   256 + the byte that leads here, 0 where the cell is empty
//
// No two nodes share a base, so the byte alone tells whose child a cell is.
// Base 0 belongs to the leaves: the first 256 cells stay empty.
type trie struct {
	cells []uint64
	root  uint32
	wide  []uint64 // see strides.go
}

const (
	cellBase  = 40
	cellToken = 20
	cellMask  = 1<<20 - 1
	noToken   = ^uint32(0)
	// cellSlack lets base+byte be read without a check of its own.
	cellSlack = 256
)

// longest returns the longest token that text starts with. Every vocabulary
// has all 256 single bytes, so there is one unless text is empty.
func (t *trie) longest(text []byte) uint32 {
	cells, base, found := t.cells, uint(t.root), uint64(0)
	if i := wideIndex(text); i < uint(len(t.wide)) {
		cell := t.wide[i]
		found, base, text = cell>>cellToken&cellMask, uint(cell>>cellBase), text[3:]
	}
	for _, b := range text {
		i := base + uint(b)
		if i >= uint(len(cells)) {
			break
		}
		cell := cells[i]
		if cell&0x1ff != 256|uint64(b) {
			break
		}
		if id := cell >> cellToken & cellMask; id != 0 {
			found = id
		}
		base = uint(cell >> cellBase)
	}
	return uint32(found) - 1
}

// find returns the token that is exactly text, or noToken.
func (t *trie) find(text []byte) uint32 {
	base, cell := uint(t.root), uint64(0)
	for _, b := range text {
		cell = t.cells[base+uint(b)]
		if cell&0x1ff != 256|uint64(b) {
			return noToken
		}
		base = uint(cell >> cellBase)
	}
	return uint32(cell>>cellToken&cellMask) - 1
}

// nodes is the trie while it is built: a plain tree in arrays.
type nodes struct {
	label       []byte
	first, next []uint32 // first child, next sibling; 0 for none
	token       []uint32 // token id + 1
}

func newNodes(capacity int) *nodes {
	n := &nodes{
		label: make([]byte, 1, capacity),
		first: make([]uint32, 1, capacity),
		next:  make([]uint32, 1, capacity),
		token: make([]uint32, 1, capacity),
	}
	return n
}

// add makes a child of parent. Children come in order, so before is the last
// sibling so far, or 0.
func (n *nodes) add(parent, before uint32, label byte) uint32 {
	id := uint32(len(n.label))
	n.label = append(n.label, label)
	n.first = append(n.first, 0)
	n.next = append(n.next, 0)
	n.token = append(n.token, 0)
	if before == 0 {
		n.first[parent] = id
	} else {
		n.next[before] = id
	}
	return id
}

// packer places the nodes of a tree in cells.
type packer struct {
	free  []uint64 // a bit a cell
	bases []uint64 // a bit a base not yet taken
	// from[k] is the block where a node of k children was last placed; blocks
	// before it are taken to be too full for k. It makes packing linear, for
	// a few holes that nodes with fewer children then fill.
	from  [packWide + 1]int
	cells []uint64
}

// packWide is the number of children from which on nodes are searched alike.
const packWide = 24

// pack lays the tree out level by level: the upper levels, which every walk
// crosses, then share cache lines.
func (n *nodes) pack() *trie {
	p := &packer{}
	p.grow(len(n.label)*5/4 + 1024)
	for i := range 4 { // base 0 and its cells stay empty
		p.free[i] = 0
	}
	p.bases[0] &^= 1
	for k := range p.from {
		p.from[k] = 4
	}
	queue := make([]uint32, 1, len(n.label)) // tree nodes, in order of placing
	cell := make([]uint32, len(n.label))     // cell of each tree node
	t := &trie{}
	labels := make([]byte, 0, 256)
	for head := 0; head < len(queue); head++ {
		node := queue[head]
		labels = labels[:0]
		for c := n.first[node]; c != 0; c = n.next[c] {
			labels = append(labels, n.label[c])
			queue = append(queue, c)
		}
		if len(labels) == 0 {
			continue
		}
		base := p.place(labels)
		for c := n.first[node]; c != 0; c = n.next[c] {
			at := base + uint32(n.label[c])
			cell[c] = at
			p.free[at>>6] &^= 1 << (at & 63)
			p.cells[at] = uint64(n.token[c])<<cellToken | 256 | uint64(n.label[c])
		}
		if node == 0 {
			t.root = base
		} else {
			p.cells[cell[node]] |= uint64(base) << cellBase
		}
	}
	last := len(p.cells)
	for last > 0 && p.cells[last-1] == 0 {
		last--
	}
	t.cells = append(make([]uint64, 0, last+cellSlack), p.cells[:last]...)[:last+cellSlack]
	t.widen()
	return t
}

// grow gives the packer room for size cells, a multiple of 64, and slack for
// the reads of 64 bits at any place.
func (p *packer) grow(size int) {
	blocks := (size+63)/64 + 5
	for len(p.free) < blocks {
		p.free = append(p.free, ^uint64(0))
		p.bases = append(p.bases, ^uint64(0))
	}
	p.cells = append(p.cells, make([]uint64, blocks*64-len(p.cells))...)
}

// place takes and returns the first base where all labels fall on free cells.
// It tries 64 bases at once: shifted by a label, the bits of the free cells
// are the bits of the bases that label allows.
func (p *packer) place(labels []byte) uint32 {
	k := min(len(labels), packWide)
	for block := p.from[k]; ; block++ {
		if block+5 >= len(p.free) {
			p.grow(len(p.cells) * 9 / 8)
		}
		fit := p.bases[block]
		for _, b := range labels {
			at := uint(block)<<6 + uint(b)
			w, s := at>>6, at&63
			fit &= p.free[w]>>s | p.free[w+1]<<1<<(63-s)
			if fit == 0 {
				break
			}
		}
		if fit != 0 {
			base := uint32(block<<6 + bits.TrailingZeros64(fit))
			p.bases[block] &^= 1 << (base & 63)
			p.from[k] = block
			return base
		}
	}
}
