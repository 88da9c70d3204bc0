// Package atomicfile writes files that other programs may be reading: a reader
// sees the old content or the new one, never an empty, half or mixed file, and
// so does whoever looks after a crash.
//
// The way of the data, all of it inside one os.Root:
//
//	[1] a temporary file of our own name, made exclusively, in the same folder
//	[2] write, sync, close: the content is on disk before it has a name
//	[3] rename over the target: a symbolic link there is replaced, not followed.
//	    Replace asks its caller right before whether that is still right
//	[4] sync the folder, where the system can: the name is on disk too
//
// What fails on the way leaves the target as it was and removes the temporary.
// A crash can leave a temporary behind; Sweep removes those. Their names begin
// with a dot and end in .tmp, so that no reader looking for *.md meets one.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/store/failpoint"
)

// Modes of what belongs to the user alone.
const (
	FileMode fs.FileMode = 0o600
	DirMode  fs.FileMode = 0o700
)

const (
	tempPrefix = ".sm-"
	tempSuffix = ".tmp"
	tempBytes  = 8
)

// Write puts data into the file name (slash separated, relative to root),
// whole or not at all. The folder must exist; see MkdirAll. The file gets
// exactly the mode perm, whatever the umask is. A target that is a folder is
// an error, every other kind of target is replaced.
func Write(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	return Replace(root, name, data, perm, func() error { return nil })
}

// Replace is Write for a file that others write too: still is asked when the
// data is on disk, right before the rename, and its error leaves the target as
// it is. Between the two a change by others can get lost, so still has to be
// quick.
func Replace(root *os.Root, name string, data []byte, perm fs.FileMode, still func() error) (err error) {
	dir := path.Dir(name)
	temp, f, err := create(root, dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			// The error of interest is the first one. What can't be removed
			// now is what Sweep is for.
			_ = root.Remove(temp)
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	if err := fill(f, data, perm); err != nil {
		return err
	}
	failpoint.Hit(failpoint.BeforeRename)
	if err := still(); err != nil {
		return err
	}
	if err := rename(root, temp, name); err != nil {
		return err
	}
	failpoint.Hit(failpoint.AfterRename)
	return syncDir(root, dir)
}

// Rename renames within root what is written already, over the file to if there
// is one. Readers that hold that file for a moment don't keep it from being
// replaced.
func Rename(root *os.Root, from, to string) error { return rename(root, from, to) }

// WriteIfChanged is Write, except that a regular file which already holds data
// is left alone: its time of change stays, and nobody who watches it is woken.
// Its mode is set right all the same.
func WriteIfChanged(root *os.Root, name string, data []byte, perm fs.FileMode) (changed bool, err error) {
	same, err := holds(root, name, data)
	if err != nil {
		return false, fmt.Errorf("compare %s: %w", name, err)
	}
	if !same {
		return true, Write(root, name, data, perm)
	}
	if err := fixMode(root, name, perm); err != nil {
		return false, fmt.Errorf("set mode of %s: %w", name, err)
	}
	return false, nil
}

// MkdirAll makes the folder name and its parents inside root, each for the
// user alone.
func MkdirAll(root *os.Root, name string) error {
	if err := root.MkdirAll(name, DirMode); err != nil {
		return fmt.Errorf("make folder %s: %w", name, err)
	}
	return nil
}

// Sweep removes temporaries that a crash left anywhere under root, if they
// were last written before the given time: younger ones may be in use. It
// touches nothing that Write did not name, follows no links, and returns how
// many it removed together with what it could not do.
func Sweep(root *os.Root, before time.Time) (removed int, err error) {
	return sweep(root, ".", before, true)
}

// SweepFolder is Sweep for the files of one folder, not those below it: root
// is large, and most of it is none of ours.
func SweepFolder(root *os.Root, dir string, before time.Time) (removed int, err error) {
	return sweep(root, dir, before, false)
}

func sweep(root *os.Root, dir string, before time.Time, below bool) (removed int, err error) {
	var errs []error
	walk := func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() && !below && name != dir {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || !isTemp(d.Name()) {
			return nil
		}
		if info, err := d.Info(); err != nil || !info.ModTime().Before(before) {
			return nil //nolint:nilerr // gone meanwhile, or in use
		}
		switch err := root.Remove(name); {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
		return nil
	}
	if err := fs.WalkDir(root.FS(), dir, walk); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("sweep temporaries: %w", err)
	}
	return removed, nil
}

// create makes a new temporary in dir.
func create(root *os.Root, dir string) (string, *os.File, error) {
	var b [tempBytes]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	temp := path.Join(dir, tempPrefix+hex.EncodeToString(b[:])+tempSuffix)
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FileMode)
	return temp, f, err
}

// fill writes, syncs and closes f, which is closed in any case.
func fill(f *os.File, data []byte, perm fs.FileMode) error {
	failpoint.HitWriting(failpoint.MidTemp, f, data)
	_, err := f.Write(data)
	if err == nil && perm != FileMode {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// holds tells whether name is a regular file with just these bytes. Anything
// else than a regular file is not opened: opening a pipe would hang.
func holds(root *os.Root, name string, data []byte) (bool, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular() || info.Size() != int64(len(data)):
		return false, nil
	}
	old, err := root.ReadFile(name)
	return err == nil && bytes.Equal(old, data), nil // not readable: writing decides
}

func isTemp(base string) bool {
	mid, ok := strings.CutPrefix(base, tempPrefix)
	if !ok {
		return false
	}
	mid, ok = strings.CutSuffix(mid, tempSuffix)
	if !ok || len(mid) != 2*tempBytes {
		return false
	}
	return strings.Trim(mid, "0123456789abcdef") == ""
}
