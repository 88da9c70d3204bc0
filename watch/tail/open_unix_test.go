//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tail

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The path can change between the look at it and its opening: openFile alone
// must neither hang on a pipe nor follow a link.
func TestOpenFileAlone(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(pipe) // hangs without O_NONBLOCK
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(link); !errors.Is(err, ErrNotRegular) {
		t.Errorf("openFile of a link = %v, want ErrNotRegular", err)
	}
}
