package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// What a Problem can be besides an error of the file system; test with
// errors.Is.
var (
	// ErrNotRegular: named like a rollout, but a link, folder, pipe or device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrLink: a link to a folder below a root, which is not followed.
	ErrLink = errors.New("link to a folder is not followed")
	// ErrDuplicate: another file of the same rollout is read instead.
	ErrDuplicate = errors.New("another file holds the same rollout")
	// ErrListedBefore: the folder is reached by another way already.
	ErrListedBefore = errors.New("same folder as one already listed")
)

// File is one physical rollout file.
type File struct {
	Path     string // with links in the home and the root resolved
	Name     Name
	Archived bool // under archived_sessions
	Size     int64
	ModTime  time.Time
	Dev, Ino uint64 // 0 where the system has none
	CTimeNs  int64  // change time in Unix nanoseconds; 0 where the system has none
}

func fileOf(path string, name Name, archived bool, fi fs.FileInfo) File {
	f := File{Path: path, Name: name, Archived: archived, Size: fi.Size(), ModTime: fi.ModTime()}
	f.Dev, f.Ino, f.CTimeNs = identity(fi)
	f.CTimeNs = blurred(f.CTimeNs, time.Now())
	return f
}

// blurred is the change time of a file as looked at now. Where times are whole
// seconds a file can change again and look the same. So, while that may be, the
// time gets a fraction of its own: a look a little later tells of a change, if
// need be once too often.
func blurred(cTimeNs int64, now time.Time) int64 {
	const second = int64(time.Second)
	if age := now.UnixNano() - cTimeNs; cTimeNs == 0 || cTimeNs%second != 0 || age < 0 || age >= int64(coarseTime) {
		return cTimeNs
	}
	return cTimeNs + 1 + now.UnixNano()%(second-1)
}

// unblurred says that f has no other look than g, which may have been blurred.
func unblurred(f, g File) bool {
	const second = int64(time.Second)
	if f.CTimeNs%second == 0 {
		g.CTimeNs -= g.CTimeNs % second
	}
	return same(f, g)
}

// same says that nothing suggests f and g have different content. What one of
// them does not know is not compared.
func same(f, g File) bool {
	eq := func(a, b uint64) bool { return a == b || a == 0 || b == 0 }
	return f.Path == g.Path && f.Size == g.Size && f.ModTime.Equal(g.ModTime) &&
		eq(f.Dev, g.Dev) && eq(f.Ino, g.Ino) && eq(uint64(f.CTimeNs), uint64(g.CTimeNs))
}

// changed is the best guess at when the content last changed.
func (f File) changed() time.Time {
	if f.CTimeNs != 0 {
		return time.Unix(0, f.CTimeNs)
	}
	return f.ModTime
}

// Problem is something that keeps a path from being read.
type Problem struct {
	Path string
	Err  error // without the path
}

func problem(path string, err error) Problem {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return Problem{Path: path, Err: err}
}

// String gives path and reason.
func (p Problem) String() string { return fmt.Sprintf("%s: %v", p.Path, p.Err) }

// Resolve picks, for each rollout id in files, the one to read: plain before
// compressed, then the larger, then the one not archived. The picked ones keep
// their order; each other file is a Problem with ErrDuplicate.
func Resolve(files []File) ([]File, []Problem) {
	best := make(map[string]File, len(files))
	for _, f := range files {
		if b, ok := best[f.Name.RolloutID]; !ok || before(f, b) {
			best[f.Name.RolloutID] = f
		}
	}
	picked := make([]File, 0, len(best))
	var others []Problem
	for _, f := range files {
		b := best[f.Name.RolloutID]
		if b.Path == f.Path {
			picked = append(picked, f)
			continue
		}
		others = append(others, Problem{Path: f.Path, Err: fmt.Errorf("%w: %s", ErrDuplicate, b.Path)})
	}
	return picked, others
}

// before says that f is to be read rather than g, a file of the same rollout.
func before(f, g File) bool {
	switch {
	case f.Name.Form != g.Name.Form:
		return f.Name.Form < g.Name.Form
	case f.Size != g.Size:
		return f.Size > g.Size
	case f.Archived != g.Archived:
		return g.Archived
	case !f.ModTime.Equal(g.ModTime):
		return f.ModTime.After(g.ModTime)
	}
	return f.Path < g.Path
}
