//go:build darwin || freebsd || netbsd

package tail

import (
	"io/fs"
	"syscall"
)

func identity(fi fs.FileInfo) (dev, ino uint64, ctimeNs int64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return uint64(st.Dev), uint64(st.Ino), st.Ctimespec.Nano() //nolint:unconvert // other systems have other widths
}
