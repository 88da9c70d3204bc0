package pipeline

import (
	"context"
	"runtime/debug"
)

// hugeLine is how many bytes of memory a line takes before it is worth giving
// back at once, and before only one is held at a time.
const hugeLine = 16 << 20

// hold is one reader's turn at the huge lines: all readers together hold one.
type hold struct {
	turn chan struct{} // shared, of one place
	has  bool
}

// reserve waits for the turn if n bytes are many.
func (h *hold) reserve(ctx context.Context, n int64) error {
	if n < hugeLine || h.has {
		return nil
	}
	select {
	case h.turn <- struct{}{}:
		h.has = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release gives the memory back to the system, and the turn to the next: else
// as much again would be used before the garbage is collected.
func (h *hold) release() {
	if h.has {
		h.has = false
		debug.FreeOSMemory()
		<-h.turn
	}
}
