package daemon

import (
	"context"
	"errors"
	"fmt"
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
// ends.
type lock struct{ f *flock.Flock }

// lockTries bounds how often a lock file that someone deleted is made again.
const lockTries = 3

// acquire takes the data folder's lock; *LockedError if another process holds it.
func acquire(home, run string) (*lock, error) {
	for _, dir := range []string{home, run} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create data folder: %w", err)
		}
	}
	path := filepath.Join(run, "daemon.lock")
	for range lockTries {
		f := flock.New(path, flock.SetPermissions(0o600))
		ok, err := f.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock data folder: %w", err)
		}
		if !ok {
			pid, role := holder(run)
			return nil, errors.Join(&LockedError{Home: home, PID: pid, Daemon: role == roleDaemon}, f.Close())
		}
		if sameFile(f, path) {
			return &lock{f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("lock data folder: %w", err)
		}
	}
	return nil, fmt.Errorf("lock data folder: %s is being deleted again and again", path)
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

func (l *lock) release() error { return l.f.Close() }

// pidFile says who holds the lock and what for; it is for people, the lock is
// what counts.
const (
	pidFile     = "daemon.pid"
	roleDaemon  = "daemon"
	roleCommand = "command"
)

func writeHolder(run, role string) error {
	return os.WriteFile(filepath.Join(run, pidFile), fmt.Appendf(nil, "%d %s\n", os.Getpid(), role), 0o600)
}

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
	commandPatience = 10 * time.Second
	commandPoll     = 50 * time.Millisecond
)

// acquireDaemon is acquire for a daemon: it waits for a command to end, and
// gives way to another daemon at once.
func acquireDaemon(ctx context.Context, home, run string) (*lock, error) {
	for end := time.Now().Add(commandPatience); ; {
		l, err := acquire(home, run)
		locked, ok := errors.AsType[*LockedError](err)
		if !ok || locked.Daemon || time.Now().After(end) || !sleep(ctx, commandPoll) {
			return l, err
		}
	}
}
