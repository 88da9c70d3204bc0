//go:build !windows

package plan

import (
	"io/fs"
	"os"
)

func modeIs(path string, mode fs.FileMode) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm() == mode
}
