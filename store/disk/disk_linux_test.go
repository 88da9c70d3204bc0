package disk

import "testing"

func TestSharedKind(t *testing.T) {
	for magic, want := range map[uint32]string{
		0xEF53: "", 0x01021994: "", 0x9123683E: "", // ext, tmpfs, btrfs
		0x6969: "NFS", 0xFE534D42: "a Windows share (SMB)", 0x01021997: "a folder of the host (9p)", 0x65735546: "FUSE",
	} {
		if got := sharedKind(magic); got != want {
			t.Errorf("%x: %q, want %q", magic, got, want)
		}
	}
}
