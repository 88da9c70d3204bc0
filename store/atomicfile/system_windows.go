package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// How long a rename is tried again. Virus scanners and indexers hold a file
// for moments, readers for as long as they read.
const (
	firstWait = time.Millisecond
	maxTotal  = 2 * time.Second
)

// errSharingViolation is ERROR_SHARING_VIOLATION, which package syscall lacks.
const errSharingViolation syscall.Errno = 32

func rename(root *os.Root, from, to string) error {
	wait, total := firstWait, time.Duration(0)
	for {
		err := root.Rename(from, to)
		if err == nil || !passing(err) || total >= maxTotal {
			return err
		}
		time.Sleep(wait)
		total += wait
		wait *= 2
	}
}

// passing tells whether an error may come from another program that holds one
// of the two files for a moment.
func passing(err error) bool {
	return errors.Is(err, syscall.ERROR_ACCESS_DENIED) ||
		errors.Is(err, errSharingViolation) ||
		errors.Is(err, syscall.ERROR_FILE_NOT_FOUND)
}

// syncDir does nothing: folders can't be flushed here, NTFS journals names.
func syncDir(*os.Root, string) error { return nil }

// fixMode does nothing: the mode bits carry no rights here, those come from
// the folder.
func fixMode(*os.Root, string, fs.FileMode) error { return nil }
