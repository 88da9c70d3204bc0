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

// sharedKinds are the numbers in linux/magic.h.
func sharedKinds() map[uint32]string {
	return map[uint32]string{
		0x6969: "nfs", 0x517b: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x01021997: "9p", 0x5346414f: "afs",
		0x00c36400: "ceph", 0x47504653: "gpfs", 0x0bd00bd0: "lustre", 0x73757245: "coda", 0x786f4256: "vboxsf",
	}
}

func shared(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return ""
	}
	return sharedKinds()[uint32(st.Type)]
}
