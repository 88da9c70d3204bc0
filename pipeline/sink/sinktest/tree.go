package sinktest

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// entry is a file or folder as it is on disk.
type entry struct {
	mode fs.FileMode
	time time.Time // of a file
	text string    // of a file, or where a link leads
}

// tree reads all that lies below a folder.
func tree(t *testing.T, dir string) map[string]entry {
	t.Helper()
	out := map[string]entry{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{mode: info.Mode()}
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			e.text, e.time = string(text), info.ModTime()
		case info.Mode()&fs.ModeSymlink != 0:
			if e.text, err = os.Readlink(name); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, name)
		out[rel] = e
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same tests that nothing was made, removed, changed or written again.
func same(t *testing.T, before, after map[string]entry) {
	t.Helper()
	for name, b := range before {
		a, ok := after[name]
		switch {
		case !ok:
			t.Errorf("%s is gone", name)
		case a.text != b.text || a.mode != b.mode:
			t.Errorf("%s changed from %v %q to %v %q", name, b.mode, b.text, a.mode, a.text)
		case !a.time.Equal(b.time):
			t.Errorf("%s was written again", name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

// updates is how often a file is written while somebody reads it.
func (f *fixture) updates() int {
	if f.Updates == 0 || testing.Short() {
		return 50
	}
	return f.Updates
}

// poll reads a file all the time until stop is called, and tests that each
// time it is whole. It has read it once when it returns.
func poll(t *testing.T, name, begin, end string) (stop func()) {
	t.Helper()
	done, begun := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(begun) })
	var wg sync.WaitGroup
	wg.Go(func() {
		defer first()
		for {
			select {
			case <-done:
				return
			default:
			}
			text, err := os.ReadFile(name)
			if err != nil && runtime.GOOS == "windows" {
				continue // held by the rename for a moment
			}
			if err != nil || !strings.HasPrefix(string(text), begin) || !strings.HasSuffix(string(text), end) {
				t.Errorf("%s: %d bytes seen, %v", name, len(text), err)
				return
			}
			first()
		}
	})
	<-begun
	return func() {
		close(done)
		wg.Wait()
	}
}
