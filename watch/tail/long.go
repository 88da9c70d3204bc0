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
	seek   seeker // for what Options.Restart says
	fail   error  // of Options.Reserve
}

// seeker looks for a pattern in bytes that come in pieces.
type seeker struct {
	pattern []byte
	carry   []byte // the end of what came before, shorter than the pattern
	at      int64  // where carry begins
	last    int64  // where the pattern was found last, behind the very start
}

// add looks through the next bytes.
func (s *seeker) add(b []byte) {
	if len(s.pattern) == 0 {
		return
	}
	over := append(s.carry, b[:min(len(b), len(s.pattern)-1)]...)
	if i := bytes.LastIndex(over, s.pattern); i >= 0 && s.at+int64(i) > 0 {
		s.last = s.at + int64(i)
	}
	if i := bytes.LastIndex(b, s.pattern); i >= 0 && s.at+int64(len(s.carry)+i) > 0 {
		s.last = s.at + int64(len(s.carry)+i)
	}
	s.at += int64(len(s.carry) + len(b))
	if len(b) < len(s.pattern)-1 {
		b = over
	}
	n := min(len(b), len(s.pattern)-1)
	s.carry = append(s.carry[:0], b[len(b)-n:]...)
	s.at -= int64(n)
}

// rest is what Line.Rest says, of a body that is in memory.
func (o *Options) rest(body []byte) []byte {
	if len(o.Restart) == 0 {
		return nil
	}
	if i := bytes.LastIndex(body, o.Restart); i > 0 && len(body)-i <= o.MaxLine {
		return body[i:]
	}
	return nil
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
		seek: seeker{pattern: r.opt.Restart},
	}
	if want == WantAll && !r.src.rereads() {
		r.long.gather, r.long.limit = true, n+r.opt.MaxLine+len("\r\n")
		r.long.whole, r.whole = r.whole[:0], nil
	}
	r.long.take(raw, r.opt.Reserve)
	r.lo, r.scan, r.hi = 0, 0, 0
}

// take lets the next bytes of the line pass.
func (l *longLine) take(b []byte, reserve func(int64) error) {
	if l.size == 0 {
		l.seek.add(b[l.mark:])
	} else {
		l.seek.add(b)
	}
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
		most := min(l.limit, max(need, cap(l.whole)*3/2))
		if l.fail = reserve(int64(most)); l.fail != nil {
			l.gather, l.whole = false, nil
			return
		}
		grown := make([]byte, len(l.whole), most)
		copy(grown, l.whole)
		l.whole = grown
	}
	l.whole = append(l.whole, b...)
}

// finishLong returns the long line whose last byte is buf[end-1].
func (r *Reader) finishLong(end int) (Line, error) {
	l := &r.long
	l.take(r.buf[r.lo:end], r.opt.Reserve)
	r.lo, r.scan = end, end

	ending := 1
	if t := l.last.bytes(); t[len(t)-2] == '\r' {
		ending = 2
	}
	bodyLen := l.size - int64(l.mark) - int64(ending)
	line := r.line(l.size, l.want)
	line.Bytes = l.keep
	err := l.fail
	switch most := int64(r.opt.MaxLine); {
	case err != nil:
	case bodyLen <= most && (l.want == WantAll || l.seek.last > 0):
		line.Whole = true
		line.Bytes, err = r.assemble(0, bodyLen)
	case bodyLen > most:
		line.TooLong = l.want == WantAll
		if n := bodyLen - l.seek.last; l.seek.last > 0 && n <= most {
			line.Rest, err = r.assemble(l.seek.last, n)
		}
	}
	if err != nil {
		r.fail = fmt.Errorf("read rollout %s at %d: %w", r.path, r.off, err)
		return Line{}, r.fail
	}
	if len(r.prints.head) < headMax {
		r.prints.head = append(r.prints.head, l.head...)
	}
	r.prints.last = l.last
	r.advance(l.size)
	r.long = longLine{}
	return line, nil
}

// assemble gives n bytes of the long line just passed, from on. It is read a
// second time, now that the length is known: that costs a copy from the page
// cache and spares growing a buffer. A wanted line of a compressed file was
// gathered on its way.
func (r *Reader) assemble(from, n int64) ([]byte, error) {
	if l := &r.long; l.gather {
		r.whole = l.whole
		return r.whole[int64(l.mark)+from:][:n], nil
	}
	if int64(cap(r.whole)) < n {
		r.whole = nil // free to be collected before the new one is made
		if err := r.opt.Reserve(n); err != nil {
			return nil, err
		}
		r.whole = make([]byte, n, n+n/8)
	}
	r.whole = r.whole[:n]
	got, err := r.src.readAt(r.whole, r.off+int64(r.long.mark)+from)
	if int64(got) == n {
		return r.whole, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrTruncated
	}
	return nil, err
}
