//go:build !windows

package plan_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/install/plan"
)

// A command that is given up takes along what it started: a shell's child could
// still write the file later. The child says that it is there through a pipe,
// and the pipe's end is its end.
func TestExecEndsWhatACommandStarted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "p")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := make(chan string, 1)
	go func() {
		f, err := os.Open(fifo)
		if err != nil {
			said <- err.Error()
			return
		}
		defer f.Close()
		b := make([]byte, 32)
		n, _ := f.Read(b)
		said <- strings.TrimSpace(string(b[:n]))
		cancel()
		for err == nil { // until all who write to it are gone
			_, err = f.Read(b)
		}
		said <- "gone"
	}()
	_, err := plan.Exec{Alone: true}.Run(ctx, []string{"sh", "-c", `sh -c 'echo $$; exec sleep 20' >` + fifo + ` & wait`})
	if err == nil {
		t.Error("it ended by itself")
	}
	pid, err := strconv.Atoi(<-said)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-said:
	case <-time.After(5 * time.Second):
		t.Error("the child lives on")
		_ = syscall.Kill(pid, syscall.SIGKILL)
		<-said
	}
}

// Of what a failing command prints no more is told than people read.
func TestExecTellsTheBeginning(t *testing.T) {
	_, err := plan.Exec{}.Run(t.Context(), []string{"sh", "-c", `i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done; exit 7`})
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "line 0") || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("%.2000v", err)
	}
}
