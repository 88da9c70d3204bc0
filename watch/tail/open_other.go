//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tail

import (
	"errors"
	"os"
	"path/filepath"
)

// openFile opens path for reading through an os.Root: on Windows that shares
// deletion and renaming with the writer, which os.Open does not, and a link
// cannot lead out of the folder.
func openFile(path string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f, err := root.Open(filepath.Base(path))
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, root.Close()
}
