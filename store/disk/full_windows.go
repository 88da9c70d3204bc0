package disk

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Full tells whether an error says that nothing can be written for now: no
// room, over quota, or a file system that is read-only.
func Full(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) || ReadOnly(err)
}

// ReadOnly tells whether an error says that a file system is read-only.
func ReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
