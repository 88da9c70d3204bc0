package tokens

import (
	"math/bits"
	"slices"
)

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

// newTrie packs the tokens of w. They come in byte order, so a node is done when
// a token comes that does not go through it: all its children are known then,
// and where their children lie, so its cells are written once and no tree is
// built beside them. On a machine that counts for a moment only, the time goes
// into memory that is touched for the first time.
func newTrie(w *words) *trie {
	p := &packer{}
	p.grow(len(w.tails)*9/8 + 2048)
	for i := range 4 { // base 0 and its cells stay empty
		p.free[i] = 0
	}
	p.bases[0] &^= 1
	for k := range p.from {
		p.from[k] = 4
	}
	var bytes [256]byte
	for b := range bytes {
		bytes[b] = byte(b)
	}
	t := &trie{root: p.place(bytes[:])} // first, for every walk starts there
	// By depth: the node that the last token goes through, and where in done its
	// children start.
	var path [257]node
	var from [257]int
	done := make([]node, 0, 1024)
	depth := 0
	leave := func(to int) {
		for ; depth > to; depth-- {
			if children := done[from[depth]:]; len(children) > 0 {
				path[depth].base = p.place(p.labels(children))
				p.write(path[depth].base, children)
			}
			done = append(done[:from[depth]], path[depth])
		}
	}
	w.each(func(i int, token []byte) {
		leave(int(w.shared[i]))
		for ; depth < len(token); depth++ {
			path[depth+1], from[depth+1] = node{label: token[depth]}, len(done)
		}
		path[depth].token = w.rank(i) + 1
	})
	leave(0)
	p.write(t.root, done)
	last := len(p.cells)
	for last > 0 && p.cells[last-1] == 0 {
		last--
	}
	t.cells = p.cells[:min(last+cellSlack, len(p.cells))]
	t.widen()
	return t
}

// node is one that is done, but for the cell, which its parent writes.
type node struct {
	label       byte
	token, base uint32 // token id + 1
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
	label []byte // scratch
}

// packWide is the number of children from which on nodes are searched alike.
const packWide = 24

// labels are those of nodes.
func (p *packer) labels(children []node) []byte {
	p.label = p.label[:0]
	for _, n := range children {
		p.label = append(p.label, n.label)
	}
	return p.label
}

// write fills the cells of the children of the node with that base.
func (p *packer) write(base uint32, children []node) {
	for _, n := range children {
		p.cells[base+uint32(n.label)] = uint64(n.base)<<cellBase | uint64(n.token)<<cellToken | 256 | uint64(n.label)
	}
}

// grow gives the packer room for size cells, a multiple of 64, and slack for
// the reads of 64 bits at any place.
func (p *packer) grow(size int) {
	blocks := (size+63)/64 + 5
	p.free, p.bases = slices.Grow(p.free, blocks-len(p.free)), slices.Grow(p.bases, blocks-len(p.bases))
	for len(p.free) < blocks {
		p.free, p.bases = append(p.free, ^uint64(0)), append(p.bases, ^uint64(0))
	}
	if p.cells == nil {
		p.cells = inLargePages(make([]uint64, blocks*64))
	} else {
		p.cells = append(p.cells, make([]uint64, blocks*64-len(p.cells))...)
	}
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
			for _, b := range labels {
				at := base + uint32(b)
				p.free[at>>6] &^= 1 << (at & 63)
			}
			return base
		}
	}
}
