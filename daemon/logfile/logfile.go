// Package logfile is a log of bounded size for where the system keeps none: a
// file that is full gets the name FILE.1, the one before that FILE.2, and so on,
// and the oldest goes.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

const (
	// Keep is how many files there are, the one that is written among them.
	Keep = 5
	// most is the size of one.
	most = 5 << 20
)

// File is a log that is written.
type File struct {
	path string
	most int64

	mu   sync.Mutex // guards the rest
	f    *os.File
	size int64
}

// Open goes on with the log at path, or makes it, with its folder.
func Open(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the log: %w", err)
	}
	l := &File{path: path, most: most}
	return l, l.open()
}

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), f.Close())
	}
	l.f, l.size = f, st.Size()
	return nil
}

// Write adds one line or more. They stay together in one file.
func (l *File) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, fs.ErrClosed
	}
	if l.size > 0 && l.size+int64(len(b)) > l.most {
		if err := l.turn(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(b)
	l.size += int64(n)
	return n, err
}

// turn begins a new file. If the full one can't be moved, as where another
// program has it open on Windows, it is gone on with.
func (l *File) turn() error {
	if err := l.f.Close(); err != nil {
		return err
	}
	l.f = nil
	_ = os.Remove(Old(l.path, Keep-1)) // what can't be removed is written over
	for n := Keep - 1; n > 0; n-- {
		_ = os.Rename(Old(l.path, n-1), Old(l.path, n)) // it may not be there
	}
	return l.open()
}

// Old gives the name of the n-th file before the one that is written, which is
// the 0th.
func Old(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

// Close ends it.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	return f.Close()
}
