package sink

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// PlaceError says that one place of a sink can't be read or written. Its other
// places may be all right.
type PlaceError struct {
	Dir string // folder of the place's documents, absolute
	Err error
	fix string // next step; empty: none is known
}

// Error names the folder, the cause and the next step.
func (e *PlaceError) Error() string {
	text := e.Dir + ": " + plain(e.Err)
	if e.fix != "" {
		text += "; " + e.fix
	}
	return text
}

// Unwrap gives the cause.
func (e *PlaceError) Unwrap() error { return e.Err }

// here says that err is about the place alone. name is the file below the
// place's root, slash separated.
func (at place) here(name string, err error) error {
	if err == nil {
		return nil
	}
	full := filepath.Join(at.root, filepath.FromSlash(name))
	return &PlaceError{Dir: filepath.Dir(full), Err: err, fix: fixOf(at.root, name)}
}

// fixOf tells what to do so that the file name (slash separated) below the
// folder root can be written; empty if nothing there looks wrong.
func fixOf(root, name string) string {
	full := root
	parts := strings.Split(path.Clean(name), "/")
	for i := -1; i < len(parts); i++ {
		if i >= 0 {
			full = filepath.Join(full, parts[i])
		}
		if i >= 0 && leadsOut(root, full) {
			return full + " is a link out of " + root + ", where nothing is written: put a folder or file there in its place"
		}
		info, err := os.Stat(full)
		if err != nil {
			return ""
		}
		last := i == len(parts)-1
		switch {
		case last && info.IsDir():
			return "a folder is in the way: move " + shellWord(full) + " away"
		case !last && !info.IsDir():
			return "a file is where a folder has to be: move " + shellWord(full) + " away"
		case runtime.GOOS == "windows":
		case !last && info.Mode().Perm()&0o700 != 0o700:
			return "chmod u+rwx " + shellWord(full)
		case last && info.Mode().Perm()&0o600 != 0o600:
			return "chmod u+rw " + shellWord(full)
		}
	}
	return ""
}

// leadsOut tells whether name is a link to something outside of the folder root.
func leadsOut(root, name string) bool {
	if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(real, target)
	return err != nil || !filepath.IsLocal(rel)
}

// shellWord is a path as a shell takes it.
func shellWord(name string) string {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,", r))
	}
	if !strings.ContainsFunc(name, odd) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
