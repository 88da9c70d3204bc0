package watch

import (
	"errors"
	"runtime"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// backend tells of changes in single folders. Its channels are read until
// close returns, and may be closed by it.
type backend interface {
	name() string
	add(dir string) error
	remove(dir string)
	events() <-chan fsnotify.Event
	errors() <-chan error
	close() error
}

// budget bounds the watches of a Watcher.
type budget struct {
	newest  int  // day folders watched because they are the newest
	active  int  // and because a file in them changed lately
	cost    int  // watches in all; 0 is as many as the above allow
	perFile bool // a watched folder costs one more for each name in it
}

// systemBudget: kqueue holds a descriptor for each file of a watched folder,
// and a process may have as few as 256. Elsewhere a watch is cheap.
func systemBudget() budget {
	b := budget{newest: 64, active: 64}
	switch runtime.GOOS {
	case "darwin", "ios", "freebsd", "netbsd", "openbsd", "dragonfly":
		b.cost, b.perFile = 128, true
	}
	return b
}

// eventsLate says that the system tells of a write only when the writer
// closes the file, which Codex does at its end.
func eventsLate() bool { return runtime.GOOS == "windows" }

type fsBackend struct{ w *fsnotify.Watcher }

func openFsnotify() (backend, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return fsBackend{w}, nil
}

func (b fsBackend) name() string {
	switch runtime.GOOS {
	case "linux", "android":
		return "inotify"
	case "windows":
		return "windows"
	case "solaris", "illumos":
		return "fen"
	}
	return "kqueue"
}

func (b fsBackend) add(dir string) error { return b.w.Add(dir) }

// remove tells nothing: a folder that is gone has lost its watch already.
func (b fsBackend) remove(dir string) { _ = b.w.Remove(dir) }

func (b fsBackend) events() <-chan fsnotify.Event { return b.w.Events }
func (b fsBackend) errors() <-chan error          { return b.w.Errors }
func (b fsBackend) close() error                  { return b.w.Close() }

// isLimit says that the system has no more watches or descriptors to give.
func isLimit(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
