package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// How shared files are written: rarely, and not while others do.
const (
	maxShared  = 4 << 20          // bytes; a larger file is none that an agent is given whole
	restShared = 5 * time.Second  // since the file was changed last
	paceShared = 10 * time.Minute // between two of our writes to one file
	waitShared = time.Minute      // before it is tried again what others kept from being written
	triesShare = 4
)

var errChanged = errors.New("it changes while it is read")

// spot is a shared file at the end of all links: what is written replaces the
// file that a link leads to, and the link stays.
type spot struct {
	root *os.Root
	name string // slash separated, below root
}

// openSpot finds the file name (slash separated) below the folder root. A link
// that leads out of the folder is refused.
func openSpot(root, name string) (spot, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return spot{}, err
	}
	full := filepath.Join(real, filepath.FromSlash(name))
	target, err := filepath.EvalSymlinks(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(full); err == nil {
			return spot{}, errors.New("it is a link to nothing")
		}
		target = full
	case err != nil:
		return spot{}, err
	}
	rel, err := filepath.Rel(real, target)
	if err != nil || !filepath.IsLocal(rel) {
		return spot{}, fmt.Errorf("it is a link to %s, which is outside of %s", target, root)
	}
	opened, err := os.OpenRoot(real)
	if err != nil {
		return spot{}, err
	}
	return spot{opened, filepath.ToSlash(rel)}, nil
}

// snapshot is a shared file as it was read.
type snapshot struct {
	data  []byte
	found bool
	info  fs.FileInfo
}

func (s spot) read() (snapshot, error) {
	info, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return snapshot{}, nil
	case err != nil:
		return snapshot{}, err
	case !info.Mode().IsRegular():
		return snapshot{}, errors.New("it is no regular file")
	case info.Size() > maxShared:
		return snapshot{}, fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxShared)
	}
	f, err := s.root.Open(s.name)
	if err != nil {
		return snapshot{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxShared+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return snapshot{}, err
	}
	// What changed since the first look shows before the rename.
	return snapshot{data: data, found: true, info: info}, nil
}

// still tells with an error whether the file isn't what was read any more.
func (s spot) still(snap snapshot) error {
	info, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !snap.found:
		return nil
	case err != nil || !snap.found:
		return errChanged
	case !os.SameFile(info, snap.info) || info.Size() != snap.info.Size() || info.Size() != int64(len(snap.data)) || !info.ModTime().Equal(snap.info.ModTime()):
		return errChanged
	}
	return nil
}

// replace puts data in the place of what was read, with its mode.
func (s spot) replace(snap snapshot, data []byte) error {
	mode := atomicfile.FileMode
	if snap.found {
		if mode = snap.info.Mode().Perm(); mode&0o200 == 0 {
			return errors.New("it is read-only")
		}
	} else if err := atomicfile.MkdirAll(s.root, path.Dir(s.name)); err != nil {
		return err
	}
	return atomicfile.Replace(s.root, s.name, data, mode, func() error { return s.still(snap) })
}

// remove deletes what was read.
func (s spot) remove(snap snapshot) error {
	if err := s.still(snap); err != nil {
		return err
	}
	return s.root.Remove(s.name)
}

// young tells until when a file that was just changed is left alone: whoever
// did may not be done. A time ahead of the clock tells nothing.
func (snap snapshot) young(now time.Time) time.Time {
	if !snap.found {
		return time.Time{}
	}
	at := snap.info.ModTime().Add(restShared)
	if at.After(now) && at.Before(now.Add(2*restShared)) {
		return at
	}
	return time.Time{}
}

// edit is what a shared file should become.
type edit struct {
	data    []byte // nil: it stays
	drop    bool   // it is ours and goes
	problem string // for the user
	again   time.Time
	own     bool // the file is ours: nobody else has to be waited for
	soon    bool // what the file says isn't so any more: how often it is written doesn't count
	// done notes in the record what holds when the file is so.
	done func(*SharedFile)
}

// update reads a shared file, asks what should become of it, and does that
// unless somebody changed the file meanwhile: then all of it is done again.
// What keeps it from being done is noted in the record.
func (j *job) update(ctx context.Context, f *SharedFile, name string, compose func(snapshot) edit) {
	f.Problem, f.Note, f.Again, f.Old, f.New = "", "", time.Time{}, nil, nil
	at, err := openSpot(j.place.root, name)
	if err != nil {
		f.Problem = err.Error()
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			f.Problem, f.Again = j.unwritten(name, err), j.now.Add(paceShared)
		}
		return
	}
	defer func() { _ = at.root.Close() }()
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return
		}
		err = j.once(f, at, compose)
		if !errors.Is(err, errChanged) || try == triesShare {
			break
		}
	}
	if err != nil {
		f.Problem, f.Again = j.unwritten(name, err), j.now.Add(waitShared)
		if !errors.Is(err, errChanged) {
			f.Again = j.now.Add(paceShared)
		}
	}
}

func (j *job) once(f *SharedFile, at spot, compose func(snapshot) edit) error {
	snap, err := at.read()
	if err != nil {
		return err
	}
	e := compose(snap)
	f.Problem, f.Again = e.problem, e.again
	switch {
	case j.look:
		f.Old, f.New = snap.data, e.data
		if e.data == nil && !e.drop {
			f.New = snap.data
		}
		return nil
	case e.drop && snap.found:
		if err := at.remove(snap); err != nil {
			return err
		}
		if root, err := os.OpenRoot(j.place.root); err == nil {
			j.place.tidy(root)
			_ = root.Close()
		}
	case e.data == nil || snap.found && bytes.Equal(e.data, snap.data):
	default:
		if wait := j.wait(*f, snap, e.soon); !e.own && !wait.IsZero() {
			f.Again = wait
			return nil
		}
		if err := j.backup(f, at, snap); err != nil {
			return err
		}
		if err := at.replace(snap, e.data); err != nil {
			return err
		}
		f.Ours = f.Ours || !snap.found
		f.Written = j.now
	}
	if e.done != nil {
		e.done(f)
	}
	return nil
}

// wait tells until when a shared file is left alone; zero: it may be written.
func (j *job) wait(f SharedFile, snap snapshot, soon bool) time.Time {
	wait := snap.young(j.now)
	if next := f.Written.Add(paceShared); !soon && !f.Written.IsZero() && next.After(j.now) && next.After(wait) && !f.Written.After(j.now) {
		wait = next
	}
	return wait
}

// backup keeps a file of others as it was before we touched it first.
func (j *job) backup(f *SharedFile, at spot, snap snapshot) error {
	if !snap.found || f.Ours || f.Backup != "" || j.sink.env.Data == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(f.Path))
	name := path.Join("backups", hex.EncodeToString(sum[:8]), path.Base(at.name))
	if err := os.MkdirAll(j.sink.env.Data, atomicfile.DirMode); err != nil {
		return fmt.Errorf("make backup: %w", err)
	}
	root, err := os.OpenRoot(j.sink.env.Data)
	if err != nil {
		return fmt.Errorf("make backup: %w", err)
	}
	defer func() { _ = root.Close() }()
	full := filepath.Join(j.sink.env.Data, filepath.FromSlash(name))
	if _, err := root.Lstat(name); err == nil {
		f.Backup = full // from before the record was lost: the older one counts
		return nil
	}
	if err := atomicfile.MkdirAll(root, path.Dir(name)); err != nil {
		return fmt.Errorf("make backup: %w", err)
	}
	if err := atomicfile.Write(root, name, snap.data, atomicfile.FileMode); err != nil {
		return fmt.Errorf("make backup: %w", err)
	}
	f.Backup = full
	return nil
}

// Unwritten begins the Problem of a shared file that the system keeps from being
// written.
const Unwritten = "not written: "

// unwritten says why a shared file can't be written now, and what helps. name
// is below the place's root, slash separated.
func (j *job) unwritten(name string, err error) string {
	text := Unwritten + plain(err)
	if fix := fixOf(j.place.root, name); fix != "" && !errors.Is(err, errChanged) {
		text += "; " + fix
	}
	return text
}

// plain is the last cause of an error, in words for a user.
func plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
