package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what a compressed file can make the decoder hold. The
// level Codex compresses with needs far less.
const maxWindow = 128 << 20

// source is the logical content of one open file.
type source interface {
	io.ReadCloser
	// resume stands at off and adds the content before it to p, as far as
	// fingerprints need it. It answers how many bytes lie ahead, at a guess.
	resume(off int64, p *prints) (ahead int64, err error)
	// rereads says whether readAt is cheap.
	rereads() bool
	// readAt fills b with content that was read before. Its offsets only rise.
	readAt(b []byte, off int64) (int, error)
	// atEnd is asked when Read gave io.EOF after read bytes: was that the end
	// of a sound file?
	atEnd(read int64) error
	stat() (fs.FileInfo, error)
}

// Verify decodes a compressed file to its end. Damage shows only where it is
// met, so that lines before it may be wrong already: it says beforehand whether
// there is any. ErrCorrupt, ErrBomb, and what Open says.
func Verify(path string) error {
	src, err := openSource(path)
	if err != nil {
		return fmt.Errorf("open rollout %s: %w", path, err)
	}
	n, err := io.Copy(io.Discard, struct{ io.Reader }{src})
	if err == nil {
		err = src.atEnd(n)
	}
	if err != nil {
		err = fmt.Errorf("read rollout %s at %d: %w", path, n, err)
	}
	return errors.Join(err, src.Close())
}

// openSource opens path if it is a regular file. The kind is asked before, so
// that no device is opened, and after, in case the path changed meanwhile.
func openSource(path string) (source, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.Join(ErrNotRegular, f.Close())
	}
	if !strings.HasSuffix(path, ".zst") {
		return &plainSource{File: f}, nil
	}
	src, err := newZstdSource(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return src, nil
}

// plainSource reads by position. Between two reads of one open file another
// program can cut it and let it grow again with other words: each read is
// therefore followed by a second look at the bytes before it. What a file
// that was changed so gave until then belongs to a content that is gone.
type plainSource struct {
	*os.File
	pos   int64
	last  window // the bytes before pos, as they were read
	again []byte // the same, looked at again
}

func (s *plainSource) Read(b []byte) (int, error) {
	n, err := s.ReadAt(b, s.pos)
	if err := s.unchanged(); err != nil {
		return 0, err
	}
	s.pos += int64(n)
	s.last.add(b[:n])
	return n, err
}

// unchanged compares what stands before pos with what was read there: the
// last 1 KiB of it, as fingerprints do.
func (s *plainSource) unchanged() error {
	had := s.last.bytes()
	if s.again == nil {
		s.again = make([]byte, tailMax)
	}
	n, err := s.ReadAt(s.again[:len(had)], s.pos-int64(len(had)))
	switch {
	case !bytes.HasPrefix(had, s.again[:n]):
		return ErrReplaced
	case n == len(had):
		return nil
	case errors.Is(err, io.EOF):
		return ErrTruncated
	}
	return err
}

func (s *plainSource) resume(off int64, p *prints) (int64, error) {
	fi, err := s.Stat()
	if err != nil {
		return 0, err
	}
	if fi.Size() < off {
		return 0, ErrTruncated
	}
	p.head, err = s.before(0, min(off, headMax))
	if err != nil {
		return 0, err
	}
	tail, err := s.before(max(0, off-tailMax), min(off, tailMax))
	if err != nil {
		return 0, err
	}
	p.last.add(tail)
	s.last.add(tail)
	s.pos = off
	return fi.Size() - off, nil
}

// before reads n bytes that must be there.
func (s *plainSource) before(off, n int64) ([]byte, error) {
	b := make([]byte, n)
	if got, err := s.ReadAt(b, off); int64(got) < n {
		if errors.Is(err, io.EOF) {
			return nil, ErrTruncated // cut since Stat
		}
		return nil, err
	}
	return b, nil
}

func (s *plainSource) rereads() bool { return true }

func (s *plainSource) readAt(b []byte, off int64) (int, error) { return s.ReadAt(b, off) }

// atEnd notices a file that was cut while it was open; without it the reader
// would wait for the old length to come back.
func (s *plainSource) atEnd(read int64) error {
	fi, err := s.Stat()
	if err != nil {
		return err
	}
	if fi.Size() < read {
		return ErrTruncated
	}
	return nil
}

func (s *plainSource) stat() (fs.FileInfo, error) { return s.Stat() }

// A compressed file of few bytes can hold any number of them. Rollouts shrink
// to a tenth, very repetitive ones to a hundredth.
const (
	bombRatio = 1_000     // content may be so many times as long as the file
	bombLeast = 256 << 20 // but for this much, in bytes
)

type zstdSource struct {
	file *os.File
	dec  *zstd.Decoder
	read int64
	most int64 // bytes of content above which reading ends
	// again follows dec where a damaged line has to be looked at a second time.
	// It never goes back, so that a file is decoded twice at most.
	again *zstd.Decoder
	came  int64 // how far again has come
}

func newZstdSource(f *os.File) (*zstdSource, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dec, err := newDecoder(f)
	if err != nil {
		return nil, err
	}
	return &zstdSource{file: f, dec: dec, most: max(bombLeast, bombRatio*fi.Size())}, nil
}

func newDecoder(r io.Reader) (*zstd.Decoder, error) {
	dec, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1), // no goroutines, and files are read side by side anyway
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	return dec, corrupt(err)
}

func (s *zstdSource) Read(b []byte) (int, error) {
	n, err := s.dec.Read(b)
	if s.read += int64(n); s.read > s.most {
		return 0, ErrBomb
	}
	return n, corrupt(err)
}

func (s *zstdSource) resume(off int64, p *prints) (int64, error) {
	buf := make([]byte, min(off, defaultBuffer))
	for s.read < off {
		n, err := s.Read(buf[:min(int64(len(buf)), off-s.read)])
		p.add(buf[:n])
		switch {
		case errors.Is(err, io.EOF) && s.read < off:
			if err := s.atEnd(s.read); err != nil {
				return 0, err
			}
			return 0, ErrTruncated
		case err != nil && !errors.Is(err, io.EOF):
			return 0, err
		}
	}
	return defaultBuffer, nil
}

func (s *zstdSource) rereads() bool { return false }

func (s *zstdSource) readAt(b []byte, off int64) (int, error) {
	if s.again == nil || off < s.came {
		if s.again != nil {
			s.again.Close()
		}
		var err error
		if s.again, err = newDecoder(io.NewSectionReader(s.file, 0, math.MaxInt64)); err != nil {
			return 0, err
		}
		s.came = 0
	}
	skipped, err := io.CopyN(io.Discard, s.again, off-s.came)
	s.came += skipped
	if err != nil {
		return 0, corrupt(err)
	}
	n, err := io.ReadFull(s.again, b)
	s.came += int64(n)
	return n, corrupt(err)
}

// atEnd refuses a file without a single frame: it was created and not yet
// written, which must not be taken for content that is gone.
func (s *zstdSource) atEnd(int64) error {
	if s.read > 0 {
		return nil
	}
	fi, err := s.file.Stat()
	if err != nil {
		return err
	}
	if fi.Size() == 0 {
		return corrupt(io.ErrUnexpectedEOF)
	}
	return nil
}

func (s *zstdSource) stat() (fs.FileInfo, error) { return s.file.Stat() }

func (s *zstdSource) Close() error {
	s.dec.Close()
	if s.again != nil {
		s.again.Close()
	}
	return s.file.Close()
}

// corrupt marks what the decoder says about the data. What the file system
// says comes through the decoder too and stays what it is.
func corrupt(err error) error {
	var disk *fs.PathError
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &disk) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// closedSource is what a closed Reader reads from.
type closedSource struct{}

func (closedSource) Read([]byte) (int, error)             { return 0, os.ErrClosed }
func (closedSource) Close() error                         { return nil }
func (closedSource) resume(int64, *prints) (int64, error) { return 0, os.ErrClosed }
func (closedSource) rereads() bool                        { return false }
func (closedSource) readAt([]byte, int64) (int, error)    { return 0, os.ErrClosed }
func (closedSource) atEnd(int64) error                    { return os.ErrClosed }
func (closedSource) stat() (fs.FileInfo, error)           { return nil, os.ErrClosed }
