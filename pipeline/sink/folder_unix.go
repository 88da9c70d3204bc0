//go:build !windows

package sink

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func safeFolder(info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("other users may write to it")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}
