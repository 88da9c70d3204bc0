//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tail_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/session-migrator/session-migrator/watch/tail"
)

// Opening a pipe waits for a writer, for ever: the test hangs if we do.
func TestSpecialFilesDoNotHang(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // socket addresses are short
	sock, err := net.Listen("unix", "s.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	for _, path := range []string{pipe, filepath.Join(dir, "s.jsonl"), os.DevNull} {
		if _, err := tail.Open(path, tail.Cursor{}, tail.Options{}); !errors.Is(err, tail.ErrNotRegular) {
			t.Errorf("Open(%s) = %v, want ErrNotRegular", path, err)
		}
	}
}
