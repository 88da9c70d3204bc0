//go:build !windows

package disk

import (
	"errors"
	"syscall"
)

// Full tells whether an error says that nothing can be written for now: no
// room, over quota, or a file system that became read-only.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || ReadOnly(err)
}

// ReadOnly tells whether an error says that a file system is read-only.
func ReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
