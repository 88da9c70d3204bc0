//go:build !windows

package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFolder locks the data folder itself. The lock file in it can be deleted
// while a daemon runs, and another made and locked; the folder can't be without
// the cache going too. nil for a file system that locks no folders, as some on
// the network: there the file alone counts. errHeld if another process has it.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	switch err := flockNow(f, syscall.LOCK_EX); {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(errHeld, f.Close())
	}
	return nil, f.Close()
}

// folderHeld tells whether another process has that lock.
func folderHeld(dir string) (bool, error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, fmt.Errorf("open data folder: %w", err)
	}
	return errors.Is(flockNow(f, syscall.LOCK_SH), syscall.EWOULDBLOCK), f.Close()
}

// alive tells whether there is such a process.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func flockNow(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
