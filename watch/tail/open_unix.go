//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tail

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFile opens path for reading; it does not follow a link in its last part
// and does not wait for the other end of a pipe.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	// ELOOP, or EMLINK on FreeBSD: a link; ENXIO: a socket or a device without
	// a driver.
	for _, kind := range []error{syscall.ELOOP, syscall.EMLINK, syscall.ENXIO} {
		if errors.Is(err, kind) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
		}
	}
	return f, err
}
