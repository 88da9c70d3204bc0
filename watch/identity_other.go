//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package watch

import "io/fs"

func identity(fs.FileInfo) (dev, ino uint64, ctimeNs int64) { return 0, 0, 0 }
