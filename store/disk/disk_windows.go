package disk

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func usage(dir string) (Usage, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return Usage{}, fmt.Errorf("ask for the room in %s: %w", dir, err)
	}
	var free, total uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, &total, nil); err != nil {
		return Usage{}, fmt.Errorf("ask for the room in %s: %w", dir, err)
	}
	return Usage{Free: int64(free), Total: int64(total)}, nil
}

func shared(dir string) string {
	name, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err != nil || windows.GetDriveType(name) != windows.DRIVE_REMOTE {
		return ""
	}
	return "a network drive"
}
