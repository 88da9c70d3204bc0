// Package exe knows the file that a process was started from, and whether
// another lies there by now: an upgrade that the process has not noticed.
//
// The file is looked for under the name it was started by, links not followed:
// package managers leave the old file where it is and turn a link to the new one.
package exe

import (
	"debug/buildinfo"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// File is the program that a process was started from. It can be written down
// and asked by another process.
type File struct {
	Path    string    `json:"path"` // empty: not known
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time"`

	same fs.FileInfo // knows the very file; only in the process itself
}

// This is the program of this process.
func This() File {
	path, running, err := running()
	if err != nil {
		return File{}
	}
	if byName, err := invoked(os.Args[0]); err == nil {
		if st, err := os.Stat(byName); err == nil && os.SameFile(st, running) { //nolint:gosec // it is only compared
			path = byName
		}
	}
	os.SameFile(running, running) // Windows asks which file it is when first compared: that must be now
	return File{Path: path, Size: running.Size(), ModTime: running.ModTime().UTC(), same: running}
}

// running finds the file that runs. Linux gives the very file even where
// another has taken its name since.
func running() (path string, st fs.FileInfo, err error) {
	if path, err = os.Executable(); err != nil {
		return "", nil, err
	}
	if runtime.GOOS == "linux" {
		if st, err := os.Stat("/proc/self/exe"); err == nil {
			return path, st, nil
		}
	}
	st, err = os.Stat(path)
	return path, st, err
}

// invoked finds the path that a process was started by.
func invoked(arg string) (string, error) {
	if filepath.Base(arg) == arg {
		found, err := exec.LookPath(arg)
		if err != nil {
			return "", err
		}
		arg = found
	}
	return filepath.Abs(arg)
}

// Change is what became of a program's file.
type Change struct {
	Gone bool      // nothing lies there
	At   time.Time // of the file that lies there now: when it was changed

	path string
}

// Changed tells whether another file, or none, lies where the program did.
func (f File) Changed() (Change, bool) {
	if f.Path == "" {
		return Change{}, false
	}
	st, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Change{Gone: true, path: f.Path}, true
	case err != nil:
		return Change{}, false // it can't be told
	case st.Size() != f.Size, !st.ModTime().Equal(f.ModTime), f.same != nil && !os.SameFile(st, f.same):
		return Change{At: st.ModTime(), path: f.Path}, true
	}
	return Change{}, false
}

// Replaced is Changed for who needn't know how.
func (f File) Replaced() bool {
	_, is := f.Changed()
	return is
}

// released matches a version that somebody gave out; what stands between two
// of them is told by its date.
var released = pattern.Lazy(`^v\d+\.\d+\.\d+(-[a-z][0-9a-z.]*)?$`)

// Version is the released version of what lies there now; empty if it is none,
// or can't be read.
func (c Change) Version() string {
	if c.Gone {
		return ""
	}
	i, err := buildinfo.ReadFile(c.path)
	if err != nil || !released().MatchString(i.Main.Version) {
		return ""
	}
	return i.Main.Version
}
