//go:build !windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }

// syncDir makes the rename durable. Some file systems (network shares, FUSE)
// can't sync a folder; there the rename is as durable as it gets.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EBADF) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

func fixMode(root *os.Root, name string, perm fs.FileMode) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm() == perm.Perm() {
		return nil
	}
	return root.Chmod(name, perm)
}
