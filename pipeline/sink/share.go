package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// job is what is to be shared in one place.
type job struct {
	sink      *placed
	place     place
	workspace string
	sessions  []Session // newest first
	now       time.Time
	look      bool
	absent    bool // the consumer's folder isn't there
}

// Share implements Sharer.
func (s sharer) Share(ctx context.Context, sh Sharing) ([]SharedFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("share for %s: %w", s.name, err)
	}
	if s.all != (sh.Workspace == "") {
		return nil, nil
	}
	s.sharing.Lock()
	defer s.sharing.Unlock()
	var out []SharedFile
	for _, j := range s.jobs(sh) {
		for _, k := range s.keep {
			if j.absent {
				out = append(out, j.told(k)...)
				continue
			}
			if err := ctx.Err(); err != nil {
				// What isn't reached stays known as it was.
				return append(out, s.rest(sh.Last, out)...), fmt.Errorf("share for %s: %w", s.name, err)
			}
			out = append(out, k.share(ctx, j, s.last(sh.Last, j.place, k))...)
		}
	}
	return out, nil
}

// jobs sorts the sessions by place. Places of last time stay, also with no
// session left, until the consumer is gone from there.
func (s sharer) jobs(sh Sharing) []*job {
	var jobs []*job
	of := func(at place) *job {
		for _, j := range jobs {
			if j.place == at {
				return j
			}
		}
		j := &job{sink: s.placed, place: at, workspace: sh.Workspace, now: sh.Now, look: sh.Look}
		jobs = append(jobs, j)
		return j
	}
	for _, x := range asked(sh.Sessions) {
		workspace := sh.Workspace
		if workspace == "" {
			workspace = x.Workspace
		}
		if at, ok := s.find(workspace, x.Cwd); ok {
			j := of(at)
			j.absent = !at.there()
			j.sessions = append(j.sessions, x)
		}
	}
	for _, f := range sh.Last {
		if at, _, err := s.locateShared(f.Path); err == nil && at.there() {
			of(at)
		}
	}
	for _, j := range jobs {
		if root, err := os.OpenRoot(j.place.root); err == nil && !j.look && !j.absent {
			s.sweep(root, j.place, j.place.dir)
			_ = root.Close()
		}
	}
	return jobs
}

// last gives what is known of the files of a keeper in a place.
func (s sharer) last(files []SharedFile, at place, k keeper) []SharedFile {
	var out []SharedFile
	for _, f := range files {
		if is, name, err := s.locateShared(f.Path); err == nil && is == at && k.keeps(name) {
			out = append(out, f)
		}
	}
	return out
}

func (s sharer) rest(last, done []SharedFile) []SharedFile {
	return slices.DeleteFunc(slices.Clone(last), func(f SharedFile) bool {
		return slices.ContainsFunc(done, func(d SharedFile) bool { return d.Path == f.Path })
	})
}

// locateShared takes the path of a shared file apart.
func (s sharer) locateShared(name string) (place, string, error) {
	if !filepath.IsAbs(name) || filepath.Clean(name) != name {
		return place{}, "", fmt.Errorf("%q is no path of a shared file", name)
	}
	at, ok := s.at(filepath.Dir(name))
	if !ok || !slices.ContainsFunc(s.keep, func(k keeper) bool { return k.keeps(filepath.Base(name)) }) {
		return place{}, "", fmt.Errorf("%s is no shared file of %s", name, s.name)
	}
	return at, filepath.Base(name), nil
}

// Unshare implements Sharer.
func (s sharer) Unshare(ctx context.Context, f SharedFile) error {
	at, name, err := s.locateShared(f.Path)
	if err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	s.sharing.Lock()
	defer s.sharing.Unlock()
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("unshare %s: %w", f.Path, err)
		}
		err := s.unshareOnce(at, name, f)
		switch {
		case err == nil:
			if root, err := os.OpenRoot(at.root); err == nil {
				at.tidy(root)
				_ = root.Close()
			}
			return nil
		case !errors.Is(err, errChanged) || try == triesShare:
			return fmt.Errorf("unshare %s: %w", f.Path, err)
		}
	}
}

func (s sharer) unshareOnce(at place, name string, f SharedFile) error {
	if _, err := os.Stat(at.root); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	spot, err := openSpot(at.root, path.Join(at.dir, name))
	if err != nil {
		return err
	}
	defer func() { _ = spot.root.Close() }()
	snap, err := spot.read()
	if err != nil || !snap.found {
		return err
	}
	for _, k := range s.keep {
		if k.keeps(name) {
			return k.unshare(spot, snap, f)
		}
	}
	return nil
}

// file begins what is known of a file in the job's place; known tells whether
// the caller gave it, so that it may hold something of ours.
func (j *job) file(name string, last []SharedFile) (f SharedFile, known bool) {
	full := filepath.Join(j.place.root, filepath.FromSlash(j.place.dir), name)
	for _, f := range last {
		if f.Path == full {
			return f, true
		}
	}
	return SharedFile{Path: full, Workspace: j.workspace}, false
}

// told says that nothing can be written because the consumer's folder, which is
// never made for it, isn't there.
func (j *job) told(k keeper) []SharedFile {
	if k.main() == "" {
		return nil
	}
	f, _ := j.file(k.main(), nil)
	f.Problem = fmt.Sprintf("%s has no folder %s: make it, and the file is written", j.place.root, j.place.need)
	return []SharedFile{f}
}

// rel is the path of a file of the place below its root.
func (j *job) rel(name string) string { return path.Join(j.place.dir, name) }

// warn notes, the first time, that git would take a path of the place in.
func (j *job) warn(f *SharedFile, first bool, rel string) {
	if !first || j.look {
		return
	}
	full := filepath.Join(j.place.root, filepath.FromSlash(rel))
	if repository, exposed := Exposed(full); exposed {
		f.Note = fmt.Sprintf("%s lies in the git work tree %s and is not ignored: a commit may take it in. To keep it out, add a line for it to .git/info/exclude there.", full, repository)
	}
}
