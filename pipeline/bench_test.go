package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// work is a session of so many turns with tool output, about 10 kB a turn.
func work(turns int) *rollouttest.Rollout {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	for i := range turns {
		out := strings.Repeat(fmt.Sprintf("pkg%d/file%d.go:%d: cannot use value of type %d as int in return statement\n", i, i%7, i*3, i%5), 80)
		r.User(fmt.Sprintf("Please look at failure %d and mend what is behind it.", i)).
			Call("exec_command", fmt.Sprintf(`{"cmd":"go test ./pkg%d"}`, i), out).
			Assistant(fmt.Sprintf("Mended: the value of failure %d is converted before it is returned.", i)).End()
	}
	return r
}

func ready(b *testing.B) (*pipeline.Pipeline, store.File) {
	b.Helper()
	db, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "cache.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	p, err := pipeline.New(b.Context(), db, pipeline.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p.Warm(b.Context())
	id := "019a0000-0000-7000-8000-0000000000b1"
	return p, store.File{RolloutID: id, ThreadID: id, Stamp: "2026-09-01T09-00-00", Form: store.FormPlain, Path: filepath.Join(b.TempDir(), "rollout.jsonl")}
}

func put(b *testing.B, f *store.File, text []byte) {
	b.Helper()
	h, err := os.OpenFile(f.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := h.Write(text); err != nil {
		b.Fatal(err)
	}
	if err := h.Close(); err != nil {
		b.Fatal(err)
	}
	f.Size += int64(len(text))
}

// BenchmarkBackfill reads a session from its start: parse, exact counts in two
// encodings, decisions, commit.
func BenchmarkBackfill(b *testing.B) {
	text := work(300).Bytes()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		p, f := ready(b)
		put(b, &f, text)
		b.StartTimer()
		if _, err := p.Ingest(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend takes in one more line of a long session, decisions for every
// target included.
func BenchmarkAppend(b *testing.B) {
	p, f := ready(b)
	r := work(300)
	put(b, &f, r.Bytes())
	if _, err := p.Ingest(b.Context(), f); err != nil {
		b.Fatal(err)
	}
	done := len(r.Bytes())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r.User("And the next one.")
		text := r.Bytes()
		put(b, &f, text[done:])
		done = len(text)
		b.StartTimer()
		if _, err := p.Ingest(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnchanged asks about a file that is as it was.
func BenchmarkUnchanged(b *testing.B) {
	p, f := ready(b)
	put(b, &f, work(10).Bytes())
	if _, err := p.Ingest(b.Context(), f); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Ingest(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
}
