package tail

import (
	"bytes"
	"io"
	"io/fs"
	"os"
)

// memSource is content in memory, read in pieces of the sizes in cuts, over
// and over. With again it behaves as a plain file, without as a stream.
type memSource struct {
	content []byte
	pos     int64
	cuts    []int
	turn    int
	again   bool
}

func (m *memSource) Read(b []byte) (int, error) {
	if m.pos == int64(len(m.content)) {
		return 0, io.EOF
	}
	if len(m.cuts) > 0 {
		b = b[:min(len(b), m.cuts[m.turn%len(m.cuts)])]
		m.turn++
	}
	n := copy(b, m.content[m.pos:])
	m.pos += int64(n)
	return n, nil
}

func (m *memSource) resume(off int64, p *prints) (int64, error) {
	if off > int64(len(m.content)) {
		return 0, ErrTruncated
	}
	p.add(m.content[:off])
	m.pos = off
	return int64(len(m.content)) - off, nil
}

func (m *memSource) rereads() bool { return m.again }
func (m *memSource) readAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.content).ReadAt(b, off)
}
func (m *memSource) atEnd(int64) error          { return nil }
func (m *memSource) stat() (fs.FileInfo, error) { return nil, os.ErrInvalid }
func (m *memSource) Close() error               { return nil }
