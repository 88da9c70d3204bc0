package tail

import (
	"crypto/sha256"
	"fmt"
)

const (
	headMax = 4096 // bytes of the start that are fingerprinted: more than one session_meta prefix
	// tailMax is the same of the bytes before the offset. Many of Codex's lines end
	// alike, and some are alike as a whole: so much holds something of its own.
	tailMax = 1024
)

// Cursor is a position in one rollout. It is a pure function of the bytes
// before Offset, whatever file they were read from and in whatever pieces.
// The zero value is the start of a file.
type Cursor struct {
	Offset  int64    // logical (uncompressed) bytes consumed
	Line    int64    // whole lines consumed
	HeadLen int      // bytes Head covers: the first min(Offset, 4096)
	Head    [32]byte // SHA-256 of the first HeadLen bytes; zero when HeadLen is 0
	TailLen int      // bytes Tail covers: the last min(Offset, 1024) before Offset
	Tail    [32]byte // SHA-256 of these; zero when TailLen is 0
}

// check refuses a cursor that no Reader can have made.
func (c Cursor) check() error {
	if c.Offset < 0 || c.Line < 0 ||
		c.HeadLen < 0 || c.HeadLen > headMax || int64(c.HeadLen) > c.Offset ||
		c.TailLen < 0 || c.TailLen > tailMax || int64(c.TailLen) > c.Offset {
		return fmt.Errorf("use cursor at offset %d, head %d, tail %d: %w", c.Offset, c.HeadLen, c.TailLen, ErrReplaced)
	}
	return nil
}

// matches says whether the bytes before Offset are the ones c was taken from.
func (c Cursor) matches(p *prints) bool {
	head, tail := p.head, p.last.bytes()
	if len(head) < c.HeadLen || len(tail) < c.TailLen {
		return false
	}
	return sum(head[:c.HeadLen]) == c.Head && sum(tail[len(tail)-c.TailLen:]) == c.Tail
}

// prints gathers what the fingerprints of a cursor are made from.
type prints struct {
	head   []byte // the first bytes consumed, at most headMax
	last   window
	hashed int      // bytes of head that headID covers
	headID [32]byte // kept: most passes do not change the head
}

// add takes in consumed bytes, in order.
func (p *prints) add(b []byte) {
	if n := min(headMax-len(p.head), len(b)); n > 0 {
		p.head = append(p.head, b[:n]...)
	}
	p.last.add(b)
}

// cursor makes the cursor for the bytes added so far.
func (p *prints) cursor(offset, line int64) Cursor {
	if p.hashed != len(p.head) {
		p.hashed, p.headID = len(p.head), sum(p.head)
	}
	tail := p.last.bytes()
	return Cursor{
		Offset: offset, Line: line,
		HeadLen: p.hashed, Head: p.headID,
		TailLen: len(tail), Tail: sum(tail),
	}
}

// sum is SHA-256, with zero for nothing so that the zero Cursor is the start.
func sum(b []byte) [32]byte {
	if len(b) == 0 {
		return [32]byte{}
	}
	return sha256.Sum256(b)
}

// window holds the last tailMax bytes of a stream.
type window struct {
	buf [tailMax]byte
	n   int
}

func (w *window) bytes() []byte { return w.buf[:w.n] }

func (w *window) add(b []byte) {
	if len(b) >= tailMax {
		w.n = copy(w.buf[:], b[len(b)-tailMax:])
		return
	}
	if keep := tailMax - len(b); w.n > keep {
		copy(w.buf[:], w.buf[w.n-keep:w.n])
		w.n = keep
	}
	w.n += copy(w.buf[w.n:], b)
}
