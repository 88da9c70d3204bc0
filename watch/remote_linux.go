package watch

import "syscall"

// remoteKind names the kind of file system of path, if it is one that another
// machine, a host, or a program behind it changes without a word to the kernel.
func remoteKind(path string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return ""
	}
	switch uint32(st.Type) { //nolint:gosec // magic numbers have 32 bits; the type's width differs by machine
	case 0x6969:
		return "nfs"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "smb"
	case 0x01021997:
		return "9p" // a Windows drive in WSL, a virtual machine's share
	case 0x65735546:
		return "fuse" // sshfs, virtiofs, Docker Desktop
	case 0x786f4256, 0xbacbacbc:
		return "shared folder" // VirtualBox, VMware
	case 0x00c36400:
		return "ceph"
	case 0x5346414f, 0x6b414653, 0x73757245:
		return "afs"
	case 0x01161970, 0x7461636f, 0x0bd00bd0, 0x47504653:
		return "cluster" // GFS2, OCFS2, Lustre, GPFS
	}
	return ""
}
