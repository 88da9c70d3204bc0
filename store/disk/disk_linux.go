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
	size := int64(st.Bsize) //nolint:unconvert // its type differs by processor
	return Usage{Free: int64(st.Bavail) * size, Total: int64(st.Blocks) * size}, nil
}

func shared(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return ""
	}
	return sharedKind(uint32(st.Type)) //nolint:unconvert // its size differs by processor
}

// sharedKind knows the numbers of linux/magic.h.
func sharedKind(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517B, 0xFF534D42, 0xFE534D42:
		return "a Windows share (SMB)"
	case 0x01021997:
		return "a folder of the host (9p)"
	case 0x786F4256:
		return "a folder of the host (VirtualBox)"
	case 0x65735546:
		return "FUSE"
	case 0x00C36400:
		return "Ceph"
	case 0x5346414F:
		return "AFS"
	case 0x73757245:
		return "Coda"
	case 0x47504653:
		return "GPFS"
	case 0x0BD00BD0:
		return "Lustre"
	}
	return ""
}
