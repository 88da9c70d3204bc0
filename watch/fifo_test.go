//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package watch

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func TestListPipe(t *testing.T) {
	reliability.Fault(t, 41, "mkfifo under the name of a rollout")
	home := realTemp(t)
	mkdir(t, filepath.Join(home, sessionsDir))
	mkdir(t, filepath.Join(home, archivedDir))
	pipe := filepath.Join(home, sessionsDir, base(1))
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	files, problems, err := List(t.Context(), home)
	if err != nil || len(files) != 0 || len(problems) != 1 || !errors.Is(problems[0].Err, ErrNotRegular) {
		t.Errorf("List() = %v, %v, %v, want one problem for the pipe", files, problems, err)
	}
}
