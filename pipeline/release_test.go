package pipeline_test

import (
	"runtime"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// TestIdlePipelineGivesItsMemoryBack: a pipeline that counts nothing between two
// calls of Release holds no vocabulary, and counts again as before.
func TestIdlePipelineGivesItsMemoryBack(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	b := newBench(t)
	tokens.Release()
	before := heap()
	say := []transcript.Message{{Item: transcript.Item{Role: transcript.RoleUser, Text: "count me"}}}
	v, err := b.pipe.ViewOf(t.Context(), say)
	if err != nil {
		t.Fatal(err)
	}
	busy := heap() - before
	if busy < 10<<20 {
		t.Fatalf("a count took %d bytes: nothing to give back", busy)
	}
	b.pipe.Release() // used since the last call, which was never
	if kept := heap() - before; kept < busy/2 {
		t.Errorf("let go of what is in use: %d of %d bytes kept", kept, busy)
	}
	b.pipe.Release()
	if kept := heap() - before; kept > busy/4 {
		t.Errorf("%d of %d bytes kept after idle", kept, busy)
	}
	again, err := b.pipe.ViewOf(t.Context(), say)
	if err != nil || again.Thread.Tokens["o200k_base"] != v.Thread.Tokens["o200k_base"] {
		t.Errorf("counted again: %v, %v, want %v", again.Thread.Tokens, err, v.Thread.Tokens)
	}
}
