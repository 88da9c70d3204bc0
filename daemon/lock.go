package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// LockedError means that another process is the writer of the data folder.
type LockedError struct {
	Home   string
	PID    int  // 0: unknown
	Daemon bool // false: a command that ends by itself
}

// Error names the process.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another session-migrator works on %s", e.Home)
	}
	return fmt.Sprintf("another session-migrator (process %d) works on %s", e.PID, e.Home)
}

// lock is held by the operating system: it ends with the process, however that
// ends. It is on a file, and where the system can on the data folder too.
type lock struct {
	path   string
	f      *flock.Flock
	folder *os.File // may be nil
}

// errHeld means that another process holds a lock.
var errHeld = errors.New("held by another process")

// lockTries bounds how often a lock file that someone deleted is made again.
const lockTries = 3

// acquire takes the data folder's lock; *LockedError if another process holds it.
func acquire(home, run string) (*lock, error) {
	for _, dir := range []string{home, run} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create data folder: %w", err)
		}
	}
	path := filepath.Join(run, lockFile)
	f, err := lockPath(path)
	if err == nil {
		var folder *os.File
		if folder, err = lockFolder(home); err == nil {
			return &lock{path: path, f: f, folder: folder}, nil
		}
		err = errors.Join(err, f.Close())
	}
	if errors.Is(err, errHeld) {
		pid, role := holder(run)
		// Who says nothing of itself had its folder deleted: a daemon, commands are short.
		return nil, &LockedError{Home: home, PID: pid, Daemon: role != roleCommand}
	}
	return nil, fmt.Errorf("lock data folder: %w", err)
}

// lockPath locks the file that the path leads to; errHeld if another process
// does.
func lockPath(path string) (*flock.Flock, error) {
	for range lockTries {
		f := flock.New(path, flock.SetPermissions(0o600))
		ok, err := f.TryLock()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errors.Join(errHeld, f.Close())
		}
		if sameFile(f, path) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is being deleted again and again", path)
}

// held tells whether another process has the data folder's lock, without
// taking it: what is asked for here many can have at a time.
func held(home, run string) (bool, error) {
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if is, err := folderHeld(home); is || err != nil {
		return is, err
	}
	f := flock.New(filepath.Join(run, lockFile), flock.SetFlag(os.O_RDONLY))
	ok, err := f.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, f.Close()
	}
	return !ok && err == nil, errors.Join(err, f.Close())
}

// keep sees to it that the path still leads to the file we locked: someone may
// have deleted it, and then the next daemon would find another to lock. errHeld
// if it did.
func (l *lock) keep() (anew bool, err error) {
	if sameFile(l.f, l.path) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return false, fmt.Errorf("create data folder: %w", err)
	}
	f, err := lockPath(l.path)
	if err != nil {
		return false, err
	}
	old := l.f
	l.f = f
	return true, old.Close()
}

// sameFile tells whether the path still leads to the file we locked.
func sameFile(f *flock.Flock, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

func (l *lock) release() error {
	err := l.f.Close()
	if l.folder != nil {
		err = errors.Join(err, l.folder.Close())
	}
	return err
}

// pidFile says who holds the lock and what for; it is for people, the lock is
// what counts.
const (
	lockFile    = "daemon.lock"
	pidFile     = "daemon.pid"
	roleDaemon  = "daemon"
	roleCommand = "command"
)

// writeHolder says that we hold the lock.
func writeHolder(run, role string) error {
	return replaceFile(run, pidFile, fmt.Appendf(nil, "%d %s\n", os.Getpid(), role))
}

// holder gives who said last that it holds the lock.
func holder(run string) (pid int, role string) {
	text, err := os.ReadFile(filepath.Join(run, pidFile))
	if err != nil {
		return 0, ""
	}
	if _, err := fmt.Sscanf(string(text), "%d %s", &pid, &role); err != nil {
		return 0, ""
	}
	return pid, role
}

// Waiting for a command that holds the lock: it ends by itself.
const (
	commandPatience = 30 * time.Second
	commandPoll     = 50 * time.Millisecond

	// Who only asks whether the lock is held can stand in the way for a moment.
	askerTries = 3
	askerPoll  = 10 * time.Millisecond
)

// acquireSoon is acquire, with another look where the process that says that it
// holds the lock isn't there.
func acquireSoon(ctx context.Context, home, run string) (*lock, error) {
	for n := 1; ; n++ {
		l, err := acquire(home, run)
		locked, ok := errors.AsType[*LockedError](err)
		if !ok || locked.PID != 0 && alive(locked.PID) || n == askerTries || !sleep(ctx, askerPoll) {
			return l, err
		}
	}
}

// acquireDaemon is acquire for a daemon: it waits for a command to end, and
// gives way to another daemon.
func acquireDaemon(ctx context.Context, home, run string) (*lock, error) {
	for end := time.Now().Add(commandPatience); ; {
		l, err := acquireSoon(ctx, home, run)
		locked, ok := errors.AsType[*LockedError](err)
		if !ok || locked.Daemon || time.Now().After(end) || !sleep(ctx, commandPoll) {
			return l, err
		}
	}
}
