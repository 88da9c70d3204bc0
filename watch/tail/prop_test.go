package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// naive is what a Reader must give: the definition, without a buffer.
func naive(content []byte, opt Options) (lines []Line, pending int64) {
	opt, _ = opt.withDefaults()
	var off int64
	for {
		i := bytes.IndexByte(content[off:], '\n')
		if i < 0 {
			return lines, int64(len(content)) - off
		}
		l := Line{Number: int64(len(lines) + 1), Offset: off, Size: int64(i + 1)}
		body := content[off : off+int64(i)]
		if off == 0 {
			body = bytes.TrimPrefix(body, mark)
		}
		body = bytes.TrimSuffix(body, []byte("\r"))
		l.Want = opt.Classify(body[:min(len(body), 512)], len(body) <= 512)
		again := -1
		if len(opt.Restart) > 0 {
			again = bytes.LastIndex(body, opt.Restart)
		}
		short := l.Size <= int64(opt.BufferBytes)
		keep := 512
		if l.Want == WantHead {
			keep = opt.HeadBytes
		}
		switch {
		case l.Want == WantAll && len(body) > opt.MaxLine, !short && len(body) > opt.MaxLine:
			l.Bytes, l.TooLong = body[:min(len(body), keep)], l.Want == WantAll
			if again > 0 && len(body)-again <= opt.MaxLine {
				l.Rest = body[again:]
			}
		case short, l.Want == WantAll, again > 0:
			l.Bytes, l.Whole = body, true
		default:
			l.Bytes = body[:min(len(body), keep)]
		}
		lines = append(lines, l)
		off += l.Size
	}
}

func collect(r *Reader) ([]Line, error) {
	var lines []Line
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		l.Bytes, l.Rest = bytes.Clone(l.Bytes), bytes.Clone(l.Rest)
		lines = append(lines, l)
	}
}

func sameLines(got, want []Line) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d lines, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if !bytes.Equal(g.Rest, w.Rest) {
			return fmt.Errorf("line %d: a rest of %d bytes, want %d", i+1, len(g.Rest), len(w.Rest))
		}
		g.Rest, w.Rest = nil, nil
		if !bytes.Equal(g.Bytes, w.Bytes) {
			return fmt.Errorf("line %d: %d bytes %.20q, want %d bytes %.20q", i+1, len(g.Bytes), g.Bytes, len(w.Bytes), w.Bytes)
		}
		g.Bytes, w.Bytes = nil, nil
		if !reflect.DeepEqual(g, w) {
			return fmt.Errorf("line %d: %+v, want %+v", i+1, g, w)
		}
	}
	return nil
}

// byFirst classifies by the first byte, so that all kinds occur in all sizes.
func byFirst(head []byte, _ bool) Want {
	if len(head) == 0 {
		return WantAll
	}
	return Want(head[0]%3) + WantAll
}

// drawContent makes lines around the sizes where something changes: the
// classified head, the fingerprints, the buffer, MaxLine.
func drawContent(t *rapid.T) []byte {
	edges := []int{0, 1, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 8191, 8192, 8193, 12_000, 30_000}
	var b bytes.Buffer
	if rapid.Bool().Draw(t, "mark") {
		b.Write(mark)
	}
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		n := rapid.OneOf(rapid.SampledFrom(edges), rapid.IntRange(0, 200)).Draw(t, "length")
		b.Write(bytes.Repeat([]byte{byte(rapid.SampledFrom([]int{'a', 'b', 'c', 0, '\r'}).Draw(t, "fill"))}, n))
		if rapid.IntRange(0, 3).Draw(t, "glued") == 0 {
			b.WriteString(rapid.SampledFrom([]string{"<re", "<r<re", "aab"}).Draw(t, "glue"))
			b.Write(bytes.Repeat([]byte{'b'}, rapid.SampledFrom(edges).Draw(t, "rest length")))
		}
		b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\r\r\n"}).Draw(t, "ending"))
	}
	b.WriteString(rapid.SampledFrom([]string{"", "torn", "\r"}).Draw(t, "rest"))
	return b.Bytes()
}

func drawOptions(t *rapid.T) Options {
	return Options{
		MaxLine:     rapid.SampledFrom([]int{100, 8_192, 12_000, 1 << 20}).Draw(t, "max line"),
		HeadBytes:   rapid.SampledFrom([]int{1, 512, 7_680, 10_000}).Draw(t, "head bytes"),
		BufferBytes: rapid.SampledFrom([]int{1, 9_000, 32_768}).Draw(t, "buffer"),
		Classify:    byFirst,
		Restart:     rapid.SampledFrom([][]byte{nil, []byte("<re"), []byte("aab")}).Draw(t, "restart"),
	}
}

func TestAnyChunkingIsOneRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content, opt := drawContent(t), drawOptions(t)
		want, pending := naive(content, opt)
		src := &memSource{
			content: content, again: rapid.Bool().Draw(t, "rereads"),
			cuts: rapid.SliceOfN(rapid.IntRange(1, 9_000), 1, 5).Draw(t, "cuts"),
		}
		opt, err := opt.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		r, err := newReader("mem", src, Cursor{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameLines(got, want); err != nil {
			t.Fatal(err)
		}
		if r.Pending() != pending {
			t.Fatalf("Pending() = %d, want %d", r.Pending(), pending)
		}
		var p prints
		p.add(content[:int64(len(content))-pending])
		if c := p.cursor(int64(len(content))-pending, int64(len(want))); r.Cursor() != c {
			t.Fatalf("cursor %+v, want %+v", r.Cursor(), c)
		}
	})
}

// Reading in passes, with the content growing by any amount between them and
// changing its form on disk, gives what one read of the whole gives.
func TestAnyResumePointIsOneRead(t *testing.T) {
	dir := t.TempDir()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	rapid.Check(t, func(t *rapid.T) {
		content, opt := drawContent(t), drawOptions(t)
		want, _ := naive(content, opt)
		var got []Line
		var at Cursor
		steps := rapid.IntRange(0, 4).Draw(t, "steps")
		for size, step := 0, 0; step <= steps; step++ {
			size = rapid.IntRange(size, len(content)).Draw(t, "size")
			if step == steps {
				size = len(content)
			}
			path, data := filepath.Join(dir, "r.jsonl"), content[:size]
			if rapid.Bool().Draw(t, "compressed") {
				path, data = path+".zst", enc.EncodeAll(data, nil)
				if size == 0 {
					data = []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x00, 0x01, 0x00, 0x00} // an empty frame
				}
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path, at, opt)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := collect(r)
			if err != nil {
				t.Fatal(err)
			}
			got, at = append(got, lines...), r.Cursor()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := sameLines(got, want); err != nil {
			t.Fatal(err)
		}
	})
}

// Any byte of the fingerprinted ranges that changes is noticed.
func TestAnyChangeBeforeTheCursorIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := drawContent(t)
		opt, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		r, err := newReader("mem", &memSource{content: content}, Cursor{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := collect(r); err != nil {
			t.Fatal(err)
		}
		c := r.Cursor()
		if c.Offset == 0 {
			return
		}
		i := rapid.Int64Range(0, c.Offset-1).Draw(t, "byte")
		if i >= headMax && i < c.Offset-tailMax {
			return // between the two: not promised
		}
		changed := bytes.Clone(content)
		changed[i] ^= 0x40
		if _, err := newReader("mem", &memSource{content: changed}, c, opt); err == nil {
			t.Fatalf("byte %d of %d changed and was not noticed", i, c.Offset)
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "a\n", "\xef\xbb\xbfa\r\n\n", "\r\n\r", "\x00\x00\n{\"a\":1}\n{\"b"} {
		f.Add([]byte(seed), uint8(3), uint16(7), true)
	}
	f.Fuzz(func(t *testing.T, unit []byte, times uint8, cut uint16, again bool) {
		content := bytes.Repeat(unit, int(times)) // reaches past the buffer from small inputs
		opt, err := Options{MaxLine: 9_000, HeadBytes: 700, BufferBytes: 1, Classify: byFirst, Restart: []byte("ab")}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		src := &memSource{content: content, cuts: []int{int(cut) + 1}, again: again}
		r, err := newReader("mem", src, Cursor{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(r)
		if err != nil {
			t.Fatal(err)
		}
		want, pending := naive(content, opt)
		if err := sameLines(got, want); err != nil {
			t.Fatal(err)
		}
		if r.Cursor().Offset+r.Pending() != int64(len(content)) || r.Pending() != pending {
			t.Fatalf("cursor %d + pending %d is not the size %d", r.Cursor().Offset, r.Pending(), len(content))
		}
	})
}

// FuzzZstd feeds arbitrary bytes to the decoder: it may refuse, never panic,
// and the cursor never passes the lines returned.
func FuzzZstd(f *testing.F) {
	reliability.Figure(f, 23, "compressed files: the seeds and all inputs that were ever found wrong; make fuzz goes on from them")
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer enc.Close()
	f.Add(enc.EncodeAll([]byte("one\ntwo\nthr"), nil))
	f.Add([]byte{0x28, 0xB5, 0x2F, 0xFD})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "r.jsonl.zst")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Cursor{}, Options{MaxLine: 1 << 16})
		if err != nil {
			return
		}
		defer r.Close()
		var off int64
		lines, _ := collect(r)
		for _, l := range lines {
			off += l.Size
		}
		if r.Cursor().Offset != off {
			t.Fatalf("cursor at %d, lines end at %d", r.Cursor().Offset, off)
		}
		// What is found whole is read whole, as the decoder alone has it.
		if Verify(path) != nil {
			return
		}
		dec, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		content, err := io.ReadAll(dec)
		if err != nil {
			t.Fatalf("found whole, but: %v", err)
		}
		opt, _ := Options{MaxLine: 1 << 16}.withDefaults()
		want, pending := naive(content, opt)
		if err := sameLines(lines, want); err != nil || r.Pending() != pending {
			t.Fatalf("%v, %d pending, want %d", err, r.Pending(), pending)
		}
	})
}
