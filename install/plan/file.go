package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// largest is the size up to which files are read: settings are small.
const largest = 32 << 20

// Read gives what the file at path holds, nil if there is none. Links are
// followed. Anything else than a regular file is an error.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if l, lerr := os.Lstat(path); lerr == nil && l.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("read %s: it is a link to nothing", path)
		}
		return nil, nil
	}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: it is no regular file", path)
	case info.Size() > largest:
		return nil, fmt.Errorf("read %s: it has %d bytes, more than settings have", path, info.Size())
	}
	b, err := os.ReadFile(path)
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

// same tells whether two contents are: nil is no file, and not an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// done tells whether the file is as it shall be.
func (f *File) done() (bool, error) {
	now, err := Read(f.Path)
	if err != nil {
		return false, err
	}
	if !same(now, f.After) {
		return false, nil
	}
	return f.After == nil || f.Mode == 0 || modeIs(f.Path, f.Mode), nil
}

// change puts to where from stands, whole or not at all. ErrChanged if
// something else stands there.
func change(path string, from, to []byte, mode fs.FileMode) error {
	real, err := target(path)
	if err != nil {
		return err
	}
	still := func() error {
		now, err := Read(real)
		if err == nil && !same(now, from) {
			err = fmt.Errorf("change %s: %w", path, ErrChanged)
		}
		return err
	}
	if err := still(); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(real))
	if errors.Is(err, fs.ErrNotExist) && to == nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := filepath.Base(real)
	if to == nil {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if mode == 0 {
		mode = atomicfile.FileMode
		if info, err := root.Stat(name); err == nil {
			mode = info.Mode().Perm()
		}
	}
	if same(from, to) {
		_, err := atomicfile.WriteIfChanged(root, name, to, mode)
		return err
	}
	return atomicfile.Replace(root, name, to, mode, still)
}

// target follows the links at path.
func target(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return real, err
}

// missingFolders gives the folder dir and those above it that are not there,
// the outermost first.
func missingFolders(dir string) ([]string, error) {
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if err == nil || filepath.Dir(at) == at {
			return missing, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append([]string{at}, missing...)
	}
}

func makeFolders(dir string) error { return os.MkdirAll(dir, atomicfile.DirMode) }
