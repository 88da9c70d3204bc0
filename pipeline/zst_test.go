package pipeline_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch/tail"
)

func frame(t testing.TB, text []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(text, nil)
}

func TestBrokenCompressedFileMovesNothing(t *testing.T) {
	texts := numbered(0, 500)
	good := frame(t, spoken(texts...))
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 0x40
	for _, c := range []struct {
		name, how, reason string
		file              []byte
	}{
		{"cut", "the second half missing", "damaged", good[:len(good)/2]},
		{"last byte missing", "the last byte missing", "damaged", good[:len(good)-1]},
		{"a bit flipped", "a bit flipped in the middle", "damaged", flipped},
		{"empty", "no byte in it", "damaged", nil},
		{"not compressed", "text that isn't compressed", "damaged", spoken(texts...)},
		{"garbage behind", "garbage behind the last frame", "damaged", append(bytes.Clone(good), "garbage"...)},
		{"bomb of one line", "1 GiB of zeros without a line end", "more than 1000 times its size", append(bytes.Clone(good), bytes.Repeat(frame(t, make([]byte, 16<<20)), 64)...)},
		{"bomb of lines", "1 GiB of empty lines", "more than 1000 times its size", append(bytes.Clone(good), bytes.Repeat(frame(t, bytes.Repeat([]byte("\n"), 16<<20)), 64)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			reliability.Fault(t, 28, c.how)
			b := newBench(t)
			home := t.TempDir()
			path := filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+openThread+".jsonl.zst")
			write(t, path, frame(t, spoken(texts[:100]...)))
			b.take(home, path)
			b.holds(texts[:100])
			before, err := b.db.Rollout(t.Context(), openThread)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, c.file)
			for range 2 { // told the same each time
				var m, n runtime.MemStats
				runtime.ReadMemStats(&m)
				_, err = b.pipe.Ingest(t.Context(), fileAt(t, home, path))
				runtime.ReadMemStats(&n)
				if err == nil {
					t.Fatal("taken in")
				}
				if got := n.TotalAlloc - m.TotalAlloc; got > 64<<20 {
					t.Errorf("%d MiB of memory", got>>20)
				}
			}
			b.holds(texts[:100])
			after, err := b.db.Rollout(t.Context(), openThread)
			if err != nil || after.Cursor.Offset != before.Cursor.Offset || after.State != store.FileUnreadable || after.Generation != 1 {
				t.Errorf("now %+v, %v", after, err)
			}
			problems, err := b.db.Problems(t.Context())
			if err != nil || len(problems) != 1 || problems[0].Path != path || !strings.Contains(problems[0].Reason, c.reason) || !strings.Contains(problems[0].Reason, " at ") {
				t.Errorf("named: %+v, %v", problems, err)
			}
			b.reopen()
			write(t, path, good)
			if r := b.take(home, path); r.Bytes != int64(len(spoken(texts...)))-before.Cursor.Offset {
				t.Errorf("%d bytes were parsed", r.Bytes)
			}
			b.holds(texts)
			if problems, err := b.db.Problems(t.Context()); err != nil || len(problems) > 0 {
				t.Errorf("still named: %+v, %v", problems, err)
			}
		})
	}
}

// What was taken in is still answered when its file became unreadable, and the
// answer says that it is behind.
func TestBrokenFileIsAnsweredFromTheCache(t *testing.T) {
	texts := numbered(0, 500)
	good := frame(t, spoken(texts...))
	for name, file := range map[string][]byte{
		"cut":            good[:len(good)/2],
		"cut at its end": good[:len(good)-1], // all lines but the last block can be decoded
		"not compressed": spoken(texts...),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			home := t.TempDir()
			path := filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+openThread+".jsonl.zst")
			write(t, path, frame(t, spoken(texts[:100]...)))
			b.take(home, path)
			write(t, path, file)
			v, err := b.pipe.View(t.Context(), openThread)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Messages) != 100 || v.Fresh.Behind == 0 {
				t.Errorf("%d messages, %d behind", len(v.Messages), v.Fresh.Behind)
			}
		})
	}
}

func TestFirstLookAtABrokenCompressedFile(t *testing.T) {
	reliability.Fault(t, 28, "broken when first seen, whole at the next look")
	texts := numbered(0, 5_000)
	good := frame(t, spoken(texts...))
	b := newBench(t)
	home := t.TempDir()
	path := filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+openThread+".jsonl.zst")
	write(t, path, good[:len(good)-5])
	if _, err := b.pipe.Ingest(t.Context(), fileAt(t, home, path)); !errors.Is(err, tail.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	if ms, err := b.db.Messages(t.Context(), openThread, 0, 0); len(ms) > 0 {
		t.Errorf("%d messages of a broken file, %v", len(ms), err)
	}
	write(t, path, good)
	b.take(home, path)
	b.holds(texts)
}

func TestFramesOfAllKinds(t *testing.T) {
	texts := numbered(0, 30)
	text := spoken(texts...)
	skippable := append([]byte{0x50, 0x2A, 0x4D, 0x18, 5, 0, 0, 0}, "hello"...)
	var file []byte
	for i := 0; i < len(text); i += 700 { // frames end anywhere in a line
		file = append(append(append(file, frame(t, text[i:min(i+700, len(text))])...), skippable...), frame(t, nil)...)
	}
	b := newBench(t)
	home := t.TempDir()
	path := filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+openThread+".jsonl.zst")
	write(t, path, file)
	b.take(home, path)
	b.holds(texts)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, skippable) // no content at all: nothing that could take the place of what was read
	b.take(home, path)
	b.holds(texts)
}
