// Package spool carries summaries from the processes that agents talk to, which
// only read the cache, to the daemon, which alone writes it.
//
// The way of the data: Put writes one file a summary, whole or not at all; the
// daemon lists what waits, oldest first (Waiting), reads each (Read), and takes
// it away (Remove) or sets it aside with the reason (Refuse). What lies there may
// be anybody's: nothing is believed before it is checked, at most maxFiles are
// looked at and maxBytes of each, and no link is followed.
package spool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/store/atomicfile"
	"github.com/session-migrator/session-migrator/store/summary"
)

const (
	maxFiles   = 64               // that wait
	maxBytes   = 64 << 10         // of one: a text of 8 kB, escaped, and the rest
	maxRefused = 8                // that are kept
	maxReason  = 400              // bytes
	sweepAge   = 10 * time.Minute // of temporaries that a crash left
)

const (
	suffix     = ".json"
	reasonEnd  = ".reason"
	refusedDir = "refused"
)

// ErrFull means that so many files wait that no more is put there.
var ErrFull = errors.New("too many summaries wait to be taken in")

// File is a summary that waits.
type File struct {
	Name    string
	ModTime time.Time
}

// note is the file.
type note struct {
	Schema  int       `json:"schema"`
	Thread  string    `json:"thread_id"`
	Summary string    `json:"summary"`
	Through int64     `json:"through"`
	Client  string    `json:"client,omitempty"`
	Model   string    `json:"model,omitempty"`
	Time    time.Time `json:"time"`
}

const schema = 1

// Put lays a summary into the spool dir, which it makes; the same summary twice
// is one file. ErrFull if too many wait.
func Put(dir string, s summary.Summary) (err error) {
	n := note{Schema: schema, Thread: s.ThreadID, Summary: s.Text, Through: s.Through, Client: s.Client, Model: s.Model}
	sum, err := json.Marshal(n) // without its time
	if err != nil {
		return fmt.Errorf("write a summary: %w", err)
	}
	n.Time = s.Created.UTC()
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write a summary: %w", err)
	}
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return fmt.Errorf("make the spool: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing of it is written through
	mark := sha256.Sum256(sum)
	name := hex.EncodeToString(mark[:12]) + suffix
	waiting, err := Waiting(dir)
	if err != nil {
		return err
	}
	if len(waiting) >= maxFiles && !slices.ContainsFunc(waiting, func(f File) bool { return f.Name == name }) {
		return ErrFull
	}
	return atomicfile.Write(root, name, append(text, '\n'), atomicfile.FileMode)
}

// Waiting lists what waits, oldest first, at most as many as are let in. A spool
// that isn't there is empty.
func Waiting(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the spool: %w", err)
	}
	var out []File
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), suffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if info, err := e.Info(); err == nil { // else it went meanwhile
			out = append(out, File{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Or(a.ModTime.Compare(b.ModTime), cmp.Compare(a.Name, b.Name)) })
	return out[:min(len(out), maxFiles)], nil
}

// Read reads what waits. An error that wraps fs.ErrNotExist says that it went
// meanwhile; any other, that it can't be taken in as it is.
func Read(dir, name string) (s summary.Summary, err error) {
	at := filepath.Join(dir, name)
	info, err := os.Lstat(at)
	if err != nil {
		return s, fmt.Errorf("read a summary: %w", err)
	}
	if !info.Mode().IsRegular() {
		return s, errors.New("read a summary: not a file")
	}
	f, err := os.Open(at)
	if err != nil {
		return s, fmt.Errorf("read a summary: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return s, fmt.Errorf("read a summary: %w", err)
	}
	if len(text) > maxBytes {
		return s, fmt.Errorf("read a summary: more than %d bytes", maxBytes)
	}
	var n note
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&n); err != nil {
		return s, fmt.Errorf("read a summary: %w", err)
	}
	if n.Schema != schema {
		return s, fmt.Errorf("read a summary: schema %d, this program knows %d", n.Schema, schema)
	}
	return summary.Summary{ThreadID: n.Thread, Source: summary.ByCaller, Model: n.Model, Client: n.Client, Text: n.Summary, Through: n.Through, Created: n.Time}, nil
}

// Remove takes away what was taken in.
func Remove(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a summary: %w", err)
	}
	return nil
}

// Refuse sets aside what can't be taken in, with the reason beside it. The
// newest few are kept.
func Refuse(dir, name string, reason error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("set a summary aside: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing of it is written through
	if err := atomicfile.MkdirAll(root, refusedDir); err != nil {
		return fmt.Errorf("set a summary aside: %w", err)
	}
	to := path.Join(refusedDir, name)
	text := strings.ToValidUTF8(strings.Join(strings.Fields(reason.Error()), " "), "?")
	why := atomicfile.Write(root, to+reasonEnd, []byte(text[:min(len(text), maxReason)]+"\n"), atomicfile.FileMode)
	// It goes from among those that wait in any case: else it came again for ever.
	if err := root.Rename(name, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if gone := root.Remove(name); gone != nil {
			return fmt.Errorf("set a summary aside: %w", errors.Join(err, gone))
		}
	}
	return errors.Join(why, prune(root))
}

// prune removes all that was refused but the newest few.
func prune(root *os.Root) error {
	all, err := fs.ReadDir(root.FS(), refusedDir)
	if err != nil {
		return fmt.Errorf("list what was set aside: %w", err)
	}
	type old struct {
		name string
		at   time.Time
	}
	var found []old
	for _, e := range all {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), reasonEnd) {
			found = append(found, old{strings.TrimSuffix(e.Name(), reasonEnd), info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b old) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name)) })
	var errs []error
	for _, f := range found[min(len(found), maxRefused):] {
		for _, name := range []string{f.name, f.name + reasonEnd} {
			if err := root.Remove(path.Join(refusedDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Refused tells how many were set aside, and of the newest its path and why.
func Refused(dir string) (n int, newest, reason string) {
	dir = filepath.Join(dir, refusedDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, "", ""
	}
	var last time.Time
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), reasonEnd) || info.Size() > maxReason+1 {
			continue
		}
		n++
		if info.ModTime().After(last) {
			if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
				last, newest, reason = info.ModTime(), filepath.Join(dir, strings.TrimSuffix(e.Name(), reasonEnd)), strings.TrimSpace(string(text))
			}
		}
	}
	return n, newest, reason
}

// Sweep removes temporaries that a crash of a writer left.
func Sweep(dir string, now time.Time) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing of it is written through
	_, err = atomicfile.SweepFolder(root, ".", now.Add(-sweepAge))
	return err
}
