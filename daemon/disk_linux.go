package daemon

import "syscall"

// remote names the kind of file system a folder lies on, if it is one on which
// locks or shared memory don't reach every program that opens the cache; empty
// for all others.
func remote(dir string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return ""
	}
	return remoteKind(uint32(s.Type)) //nolint:unconvert // its size differs by processor
}

// remoteKind knows the numbers of linux/magic.h.
func remoteKind(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517B, 0xFF534D42, 0xFE534D42:
		return "a Windows share (SMB)"
	case 0x01021997:
		return "a folder of the host (9p)"
	case 0x65735546:
		return "FUSE"
	case 0x00C36400:
		return "Ceph"
	case 0x5346414F:
		return "AFS"
	}
	return ""
}
