package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// longLine is a line that did not fit the buffer while it passes through.
// Its memory is what Want asks for: nothing grows with a line nobody wants.
type longLine struct {
	active bool
	want   Want
	mark   int    // length of the byte order mark before it
	size   int64  // bytes taken so far, mark included
	last   window // for the tail fingerprint, should the line be completed
	head   []byte // the same for the head fingerprint
	keep   []byte // its first bytes, without mark
	whole  []byte // all of it, mark included, where it cannot be read again
	gather bool   // whole is being filled
	limit  int    // bytes above which gathering stops
}

// startLong turns to a line that fills the whole buffer without ending [3].
func (r *Reader) startLong() {
	raw := r.buf[r.lo:r.hi]
	n := r.markLen(raw)
	body := raw[n:]
	want := r.classify(body, false)
	keep := classifyMax
	if want == WantHead {
		keep = r.opt.HeadBytes
	}
	r.long = longLine{
		active: true, want: want, mark: n, last: r.prints.last,
		head: bytes.Clone(raw[:min(len(raw), headMax-len(r.prints.head))]),
		keep: bytes.Clone(body[:keep]),
	}
	if want == WantAll && !r.src.rereads() {
		r.long.gather, r.long.limit = true, n+r.opt.MaxLine+len("\r\n")
		r.long.whole, r.whole = r.whole[:0], nil
	}
	r.long.take(raw)
	r.lo, r.scan, r.hi = 0, 0, 0
}

// take lets the next bytes of the line pass.
func (l *longLine) take(b []byte) {
	l.size += int64(len(b))
	l.last.add(b)
	if !l.gather {
		return
	}
	if len(l.whole)+len(b) > l.limit {
		l.gather, l.whole = false, nil
		return
	}
	if need := len(l.whole) + len(b); need > cap(l.whole) {
		// Half as much again, never past the limit: append would double.
		grown := make([]byte, len(l.whole), min(l.limit, max(need, cap(l.whole)*3/2)))
		copy(grown, l.whole)
		l.whole = grown
	}
	l.whole = append(l.whole, b...)
}

// finishLong returns the long line whose last byte is buf[end-1].
func (r *Reader) finishLong(end int) (Line, error) {
	l := &r.long
	l.take(r.buf[r.lo:end])
	r.lo, r.scan = end, end

	ending := 1
	if t := l.last.bytes(); t[len(t)-2] == '\r' {
		ending = 2
	}
	bodyLen := l.size - int64(l.mark) - int64(ending)
	line := r.line(l.size, l.want)
	switch l.want {
	case WantAll:
		if bodyLen > int64(r.opt.MaxLine) {
			line.TooLong, line.Bytes = true, l.keep
			break
		}
		body, err := r.assemble(int(bodyLen))
		if err != nil {
			r.fail = fmt.Errorf("read rollout %s at %d: %w", r.path, r.off, err)
			return Line{}, r.fail
		}
		line.Whole, line.Bytes = true, body
	case WantHead:
		line.Bytes = l.keep
	case WantNone:
	}
	if len(r.prints.head) < headMax {
		r.prints.head = append(r.prints.head, l.head...)
	}
	r.prints.last = l.last
	r.advance(l.size)
	r.long = longLine{}
	return line, nil
}

// assemble gives the n bytes of the long line just passed. A plain file is
// read a second time, now that the length is known: that costs a copy from
// the page cache and spares growing a buffer.
func (r *Reader) assemble(n int) ([]byte, error) {
	if !r.src.rereads() {
		r.whole = r.long.whole
		return r.whole[r.long.mark : r.long.mark+n], nil
	}
	if cap(r.whole) < n {
		r.whole = nil // free to be collected before the new one is made
		r.whole = make([]byte, n, n+n/8)
	}
	r.whole = r.whole[:n]
	got, err := r.src.readAt(r.whole, r.off+int64(r.long.mark))
	if got == n {
		return r.whole, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrTruncated
	}
	return nil, err
}
