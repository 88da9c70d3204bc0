//go:build !windows

package main

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// foreignOwner names the user that a file belongs to, if that isn't us.
func foreignOwner(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() {
		return ""
	}
	return "user " + strconv.Itoa(int(st.Uid))
}

// writable asks the system, without writing.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
