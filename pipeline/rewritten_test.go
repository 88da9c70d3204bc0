package pipeline_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// A file that is cut and grows again while it is being read is read anew in the
// same Ingest: what was read before the cut is kept as rewritten away.
func TestRewrittenWhileItIsRead(t *testing.T) {
	reliability.Fault(t, 24, "cut below what was read and grown past it with other words, between two reads of one reading")
	const kept = 1_000
	old, other := numbered(0, 16_000), numbered(50_000, 70_000)
	b := newBench(t)
	home, path := inHome(t, openThread, spoken(old...))
	cut, tail := int64(len(spoken(old[:kept]...))), more(other...)
	done := make(chan error, 1)
	go func() {
		_, err := b.pipe.Ingest(t.Context(), fileAt(t, home, path))
		done <- err
	}()
	for { // until the first batch is in
		if cp, err := b.db.Rollout(t.Context(), openThread); err == nil && cp.Cursor.Offset > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(cut); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(tail, cut); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Ingest: %v", err)
	}
	b.take(home, path) // it may have met the file half written
	want := strings.Join(slices.Concat(old[:kept], other), " | ")
	if got := b.said(openThread); got != want {
		t.Errorf("%d bytes of text, want %d", len(got), len(want))
	}
	if gone, err := b.db.Rewritten(t.Context(), openThread); err != nil || len(gone) == 0 {
		t.Errorf("nothing is kept of what was read before the cut: %v", err)
	}
}
