package tokens_test

import (
	"runtime"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// TestReleaseGivesMemoryBack: after idle nothing is held, a counter at work goes
// on, and one that was released counts as before.
func TestReleaseGivesMemoryBack(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const text = "let go of what is not used, 释放内存"
	idle, busy := counter(t, tokens.O200kBase), counter(t, tokens.O200kBase)
	want := idle.CountString(text)
	full := heap()

	idle.Release()
	tokens.Release()
	if n := busy.CountString(text); n != want {
		t.Errorf("a counter at work counts %d, want %d", n, want)
	}
	if shared := tokens.Shared(busy, counter(t, tokens.O200kBase)); !shared {
		t.Error("a second vocabulary was built beside one in use")
	}
	runtime.KeepAlive(busy)

	busy.Release()
	tokens.Release()
	if given := full - heap(); given < 8<<20 {
		t.Errorf("%d bytes given back of %d", given, full)
	}
	if n := idle.CountString(text); n != want {
		t.Errorf("released and used again: %d, want %d", n, want)
	}
}
