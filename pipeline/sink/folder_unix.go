//go:build !windows

package sink

import (
	"io/fs"
	"os"
	"syscall"
)

// unsafeError is what a folder is refused for.
type unsafeError string

func (e unsafeError) Error() string        { return string(e) }
func (e unsafeError) Is(target error) bool { return target == ErrUnsafe }

func safeFolder(info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return unsafeError("other users may write to it")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return unsafeError("it belongs to another user")
	}
	return nil
}
