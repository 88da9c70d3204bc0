//go:build !windows

package mcpserver

import (
	"context"
	"os"
	"time"
)

// watchParent returns when the process that started this one is gone, or ctx is.
func watchParent(ctx context.Context, every time.Duration) {
	parent := os.Getppid()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if os.Getppid() != parent {
				return
			}
		}
	}
}
