package mcpserver

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// watchParent returns when the process that started this one is gone, or ctx
// is. Windows tells nobody of a parent's end and gives its number away again:
// only a handle held from the start is proof.
func watchParent(ctx context.Context, every time.Duration) {
	parent, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(os.Getppid()))
	if err != nil {
		<-ctx.Done() // not ours to look at: the end of input must do
		return
	}
	defer func() { _ = windows.CloseHandle(parent) }() // nothing was written
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if event, err := windows.WaitForSingleObject(parent, 0); err == nil && event == windows.WAIT_OBJECT_0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
