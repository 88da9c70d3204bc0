package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// What a caller of Open and Next branches on; test with errors.Is.
var (
	// ErrNotRegular: the path is a link, folder, pipe, socket or device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTruncated: the content is shorter than the cursor says was read.
	ErrTruncated = errors.New("content is shorter than what was already read")
	// ErrReplaced: the content before the cursor is not what was read.
	ErrReplaced = errors.New("content before the cursor has changed")
	// ErrCorrupt: the compressed data is damaged or ends early.
	ErrCorrupt = errors.New("compressed data is damaged or incomplete")
	// ErrBomb: the compressed data grows beyond any rollout.
	ErrBomb = fmt.Errorf("compressed data holds more than %d MiB and more than %d times its size", bombLeast>>20, bombRatio)
)

// maxEmptyReads bounds reads that give neither bytes nor an error.
const maxEmptyReads = 100

// Line is one whole line of a rollout.
type Line struct {
	Number int64  // 1-based
	Offset int64  // logical offset of its first byte
	Size   int64  // bytes with its ending, and with the byte order mark on line 1
	Bytes  []byte // at least what Want says, without mark, '\n' and '\r' before it; valid until the next call
	Want   Want   // what Options.Classify answered
	Whole  bool   // Bytes is the whole line
	// TooLong: the whole line was wanted but is longer than Options.MaxLine;
	// Bytes holds its first 512 bytes.
	TooLong bool
	// Rest is what stands in a line that is TooLong, or would be if it were
	// wanted, from the last Options.Restart on; nil if none is behind its start.
	Rest []byte
}

// Reader gives the lines of one open rollout. It is for one goroutine.
// After an error other than io.EOF it gives only that error again; its Cursor
// stays good.
type Reader struct {
	path string
	opt  Options
	src  source

	buf          []byte
	lo, scan, hi int // line starts at lo, no '\n' in [lo,scan), bytes end at hi

	prints prints
	off    int64 // logical offset of the first byte not yet consumed
	lines  int64
	long   longLine
	whole  []byte // assembled long line, reused

	seen    int64 // logical size seen so far
	pending int64
	fail    error
}

// Open opens the rollout at path and stands at from [1]. It checks that the
// content before from is what from was taken from: ErrTruncated, ErrReplaced.
// Other refusals: ErrNotRegular, ErrCorrupt, and what the file system says.
// A path that ends in .zst is read through a zstd decoder, from its start:
// what lies before the cursor is decoded, checked and dropped.
func Open(path string, from Cursor, opt Options) (*Reader, error) {
	if err := from.check(); err != nil {
		return nil, fmt.Errorf("open rollout %s: %w", path, err)
	}
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open rollout %s: %w", path, err)
	}
	src, err := openSource(path)
	if err != nil {
		return nil, fmt.Errorf("open rollout %s: %w", path, err)
	}
	r, err := newReader(path, src, from, opt)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return r, nil
}

// newReader takes src over when it returns no error.
func newReader(path string, src source, from Cursor, opt Options) (*Reader, error) {
	r := &Reader{path: path, opt: opt, src: src, off: from.Offset, lines: from.Line}
	ahead, err := src.resume(from.Offset, &r.prints)
	if err != nil {
		return nil, fmt.Errorf("resume rollout %s at %d: %w", path, from.Offset, err)
	}
	if !from.matches(&r.prints) {
		return nil, fmt.Errorf("resume rollout %s at %d: %w", path, from.Offset, ErrReplaced)
	}
	r.seen = from.Offset
	r.buf = make([]byte, min(int64(opt.BufferBytes), max(firstBuffer, ahead)))
	return r, nil
}

// Next returns the next whole line [2]. io.EOF says that there is none for now:
// when the file grows, a later call goes on.
func (r *Reader) Next() (Line, error) {
	if r.fail != nil {
		return Line{}, r.fail
	}
	r.pending = 0
	for {
		if i := bytes.IndexByte(r.buf[r.scan:r.hi], '\n'); i >= 0 {
			end := r.scan + i + 1
			if r.long.active {
				return r.finishLong(end)
			}
			return r.finishShort(end), nil
		}
		r.scan = r.hi
		r.makeRoom()
		if err := r.fill(); err != nil {
			return Line{}, err
		}
	}
}

// finishShort returns the line that lies whole in buf[lo:end].
func (r *Reader) finishShort(end int) Line {
	raw := r.buf[r.lo:end]
	body := raw[r.markLen(raw) : len(raw)-1]
	if n := len(body); n > 0 && body[n-1] == '\r' {
		body = body[:n-1]
	}
	line := r.line(int64(len(raw)), r.classify(body, len(body) <= classifyMax))
	line.Bytes, line.Whole = body, true
	if line.Want == WantAll && len(body) > r.opt.MaxLine {
		line.Bytes, line.Whole, line.TooLong = body[:min(len(body), classifyMax)], false, true
		line.Rest = r.opt.rest(body)
	}
	r.prints.add(raw)
	r.advance(int64(len(raw)))
	r.lo, r.scan = end, end
	return line
}

func (r *Reader) line(size int64, want Want) Line {
	return Line{Number: r.lines + 1, Offset: r.off, Size: size, Want: want}
}

// advance consumes one line of size bytes.
func (r *Reader) advance(size int64) {
	r.off += size
	r.lines++
}

func (r *Reader) classify(body []byte, whole bool) Want {
	w := r.opt.Classify(body[:min(len(body), classifyMax)], whole)
	if w < WantAll || w > WantNone {
		panic("bug: tail: Options.Classify returned " + w.String())
	}
	return w
}

var mark = []byte{0xEF, 0xBB, 0xBF} // UTF-8 byte order mark

// markLen is the length of the byte order mark at the start of raw, which
// counts as one at the start of the file only.
func (r *Reader) markLen(raw []byte) int {
	if r.off == 0 && bytes.HasPrefix(raw, mark) {
		return len(mark)
	}
	return 0
}

// makeRoom sees to it that fill can read: it drops consumed bytes, grows the
// buffer up to its limit, or turns to a line that is longer than that.
func (r *Reader) makeRoom() {
	switch {
	case r.long.active:
		r.long.take(r.buf[r.lo:r.hi], r.opt.Reserve)
		r.lo, r.scan, r.hi = 0, 0, 0
	case r.hi < len(r.buf) && r.lo < r.hi:
	case r.lo > 0:
		r.hi = copy(r.buf, r.buf[r.lo:r.hi])
		r.lo, r.scan = 0, r.hi
	case r.hi < len(r.buf):
	case len(r.buf) < r.opt.BufferBytes:
		grown := make([]byte, min(r.opt.BufferBytes, 4*len(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	default:
		r.startLong()
	}
}

// fill reads more bytes to buf[hi:]. io.EOF and only that is not kept.
func (r *Reader) fill() error {
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.hi:])
		r.hi += n
		unread := r.long.size + int64(r.hi-r.lo)
		r.seen = max(r.seen, r.off+unread)
		switch {
		case n > 0: // an error comes again with the next read
			return nil
		case err == nil:
			continue
		case !errors.Is(err, io.EOF):
			r.fail = fmt.Errorf("read rollout %s at %d: %w", r.path, r.off+unread, err)
			return r.fail
		}
		if err := r.src.atEnd(r.off + unread); err != nil {
			r.fail = fmt.Errorf("read rollout %s at %d: %w", r.path, r.off+unread, err)
			return r.fail
		}
		r.pending = unread
		return io.EOF
	}
	r.fail = fmt.Errorf("read rollout %s at %d: %w", r.path, r.off, io.ErrNoProgress)
	return r.fail
}

// Cursor gives the position after the last line returned [4].
func (r *Reader) Cursor() Cursor { return r.prints.cursor(r.off, r.lines) }

// Drop gives up the memory of the line returned last, if it was too long for
// the buffer. Its Bytes are no longer valid.
func (r *Reader) Drop() { r.whole = nil }

// Pending gives, after Next returned io.EOF, the bytes that follow the last
// '\n': a line still being written, or torn. 0 is none.
func (r *Reader) Pending() int64 { return r.pending }

// Size gives the logical bytes seen so far; after io.EOF, all there were.
func (r *Reader) Size() int64 { return r.seen }

// Stat describes the file that is open, which may by now have another name.
func (r *Reader) Stat() (Stat, error) {
	fi, err := r.src.stat()
	if err != nil {
		return Stat{}, fmt.Errorf("stat open rollout %s: %w", r.path, err)
	}
	return statOf(fi), nil
}

// Close frees the file. Lines returned before are no longer valid.
func (r *Reader) Close() error {
	if r.src == nil {
		return nil
	}
	err := r.src.Close()
	r.src, r.buf, r.whole = closedSource{}, nil, nil
	r.lo, r.scan, r.hi, r.long = 0, 0, 0, longLine{}
	r.fail = fmt.Errorf("read rollout %s: %w", r.path, os.ErrClosed)
	if err != nil {
		return fmt.Errorf("close rollout %s: %w", r.path, err)
	}
	return nil
}
