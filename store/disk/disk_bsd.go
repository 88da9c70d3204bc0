//go:build darwin || freebsd

package disk

import (
	"fmt"
	"syscall"
)

func usage(dir string) (Usage, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return Usage{}, fmt.Errorf("ask for the room in %s: %w", dir, err)
	}
	return Usage{Free: int64(st.Bavail) * int64(st.Bsize), Total: int64(st.Blocks) * int64(st.Bsize)}, nil
}

func shared(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return ""
	}
	var name []byte
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	switch kind := string(name); kind {
	case "nfs", "smbfs", "afpfs", "webdav":
		return kind
	}
	return ""
}
