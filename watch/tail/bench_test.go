package tail_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/watch/tail"
)

const hugeLine = 100 << 20

// writeHuge makes 20 lines, one of 100 MB, and 20 lines.
func writeHuge(t testing.TB, ext string) string {
	t.Helper()
	var b bytes.Buffer
	few := strings.Repeat("{\"type\":\"event_msg\"}\n", 20)
	b.WriteString(few)
	b.WriteString(`{"type":"compacted",`)
	b.Write(bytes.Repeat([]byte("0123456789abcdef"), hugeLine/16))
	b.WriteByte('\n')
	b.WriteString(few)
	path := filepath.Join(t.TempDir(), "huge"+ext)
	write(t, path, b.Bytes())
	return path
}

func TestHugeLineCostsNoMemory(t *testing.T) {
	for _, form := range forms {
		path := writeHuge(t, form.ext)
		tests := []struct {
			name string
			opt  tail.Options
			most uint64 // bytes allocated while reading
		}{
			{"none", tail.Options{Classify: func(head []byte, whole bool) tail.Want {
				if whole {
					return tail.WantAll
				}
				return tail.WantNone
			}}, 4 << 20},
			{"head", tail.Options{Classify: func([]byte, bool) tail.Want { return tail.WantHead }}, 4 << 20},
			{"too long", tail.Options{MaxLine: 1 << 20}, 8 << 20},
		}
		if form.name == "zstd" {
			for i := range tests {
				tests[i].most += 24 << 20 // the decoder's window
			}
		}
		for _, test := range tests {
			t.Run(form.name+"/"+test.name, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r := open(t, path, tail.Cursor{}, test.opt)
				lines := 0
				for {
					line, err := r.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if lines++; lines == 21 {
						if line.Size < hugeLine || line.Whole {
							t.Errorf("line 21 = size %d, whole %v", line.Size, line.Whole)
						}
						if line.Want != tail.WantNone && !bytes.HasPrefix(line.Bytes, []byte(`{"type":"compacted"`)) {
							t.Errorf("line 21 starts with %.20q", line.Bytes)
						}
					}
				}
				runtime.ReadMemStats(&after)
				if lines != 41 {
					t.Errorf("%d lines, want 41", lines)
				}
				if got := after.TotalAlloc - before.TotalAlloc; got > test.most {
					t.Errorf("allocated %d KiB, want at most %d KiB", got>>10, test.most>>10)
				}
			})
		}
	}
}

// A wanted line costs little more than itself.
func TestLongLineIsAllocatedOnce(t *testing.T) {
	path := writeHuge(t, ".jsonl")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := open(t, path, tail.Cursor{}, tail.Options{MaxLine: 128 << 20})
	if got := len(drain2(t, r)); got != 41 {
		t.Errorf("%d lines, want 41", got)
	}
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(hugeLine+hugeLine/4); got > most {
		t.Errorf("allocated %d MiB for a line of %d MiB", got>>20, hugeLine>>20)
	}
}

// drain2 reads to the end and keeps only sizes.
func drain2(t testing.TB, r *tail.Reader) []int64 {
	t.Helper()
	var sizes []int64
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return sizes
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, line.Size)
	}
}

func benchContent() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 64<<20; i++ {
		fmt.Fprintf(&b, `{"timestamp":"2026-08-20T09:00:%02d.123Z","type":"response_item","payload":{"type":"message","n":%d,"text":"`, i%60, i)
		for j := range (i % 13) * 14 {
			fmt.Fprintf(&b, "%x", i*j*2654435761)
		}
		b.WriteString("\"}}\n")
	}
	return b.Bytes()
}

func BenchmarkBackfill(b *testing.B) {
	content := benchContent()
	for _, form := range forms {
		path := filepath.Join(b.TempDir(), "r"+form.ext)
		write(b, path, content)
		b.Run(form.name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := tail.Open(path, tail.Cursor{}, tail.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Next(); err != nil {
						break
					}
				}
				if r.Size() != int64(len(content)) {
					b.Fatal("not read to the end")
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend is one new line at the end of a large file: open, check,
// read, new cursor, close.
func BenchmarkAppend(b *testing.B) {
	content := benchContent()
	path := filepath.Join(b.TempDir(), "r.jsonl")
	last := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
	if err := os.WriteFile(path, content[:last], 0o600); err != nil {
		b.Fatal(err)
	}
	r := open(b, path, tail.Cursor{}, tail.Options{})
	drain2(b, r)
	at := r.Cursor()
	appendTo(b, path, string(content[last:]))
	b.ReportAllocs()
	for b.Loop() {
		r, err := tail.Open(path, at, tail.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if n := len(drain2(b, r)); n != 1 || r.Cursor().Offset != int64(len(content)) {
			b.Fatalf("%d lines", n)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
