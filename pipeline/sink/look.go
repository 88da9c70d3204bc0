package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Look tells beforehand what Put would do with the artifact and writes nothing:
// StateNone without a place, else the path of the file and StateWritten, or
// StateEdited if it is somebody's own. Hash and size are those of the data;
// without any, of what lies there and is ours. Without a name it tells only of
// the place.
func (p *placed) Look(ctx context.Context, a Artifact) (Receipt, error) {
	r := Receipt{Sink: p.name, ThreadID: a.ThreadID, State: StateNone}
	if err := ctx.Err(); err != nil {
		return Receipt{}, fmt.Errorf("look for the place of %s: %w", a.Name, err)
	}
	if p.file == nil {
		return r, nil
	}
	if a.Name == "" && a.Last.Path == "" {
		if at, found := p.find(a.Workspace, a.Cwd); found && at.there() {
			r.State = StateWritten
		}
		return r, nil
	}
	at, name, found, err := p.where(a)
	if err != nil {
		return Receipt{}, fmt.Errorf("look for the place of %q: %w", a.Name, err)
	}
	if !found {
		return r, nil
	}
	dir := path.Join(at.dir, p.sub)
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return Receipt{}, at.here(path.Join(dir, name), err)
	}
	defer func() { _ = root.Close() }()
	if a.Last.Path == "" {
		if name, err = p.had(root, dir, name, a.ThreadID); err != nil {
			return Receipt{}, at.here(path.Join(dir, name), err)
		}
	}
	r.Path = filepath.ToSlash(filepath.Join(at.root, filepath.FromSlash(dir), name))
	r, err = lookOwn(root, path.Join(dir, name), a, r)
	return r, at.here(path.Join(dir, name), err)
}

// Has tells whether a document lies where a receipt says.
func (p *placed) Has(name string) (bool, error) {
	at, base, err := p.locate(name)
	if err != nil {
		return false, fmt.Errorf("look for %q: %w", name, err)
	}
	_, err = os.Lstat(filepath.Join(at.root, filepath.FromSlash(at.dir), p.sub, base))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, at.here(path.Join(at.dir, p.sub, base), err)
}

// Look tells beforehand what Put would do with the artifact, as that of the
// other sinks does.
func (d *Drop) Look(ctx context.Context, a Artifact) (Receipt, error) {
	r := Receipt{Sink: d.Name(), ThreadID: a.ThreadID, Path: a.Last.Path, State: StateWritten}
	if err := ctx.Err(); err != nil {
		return Receipt{}, fmt.Errorf("look for the place of %s: %w", a.Name, err)
	}
	if a.Name == "" && r.Path == "" {
		return r, nil
	}
	if r.Path == "" {
		r.Path = path.Join(projectsDir, ProjectDir(a.Workspace), a.Name)
		had, err := d.had(a)
		if err != nil {
			return Receipt{}, fmt.Errorf("look for an earlier document: %w", err)
		}
		if had != "" {
			r.Path = had
		}
	}
	if err := checkPath(r.Path); err != nil {
		return Receipt{}, fmt.Errorf("look for the place of %q: %w", r.Path, err)
	}
	return lookOwn(d.root, r.Path, a, r)
}

// lookOwn tells whether a file that putOwn would write is somebody else's by
// now. Whether its bytes change is not looked at. r is the receipt so far.
func lookOwn(root *os.Root, name string, a Artifact, r Receipt) (Receipt, error) {
	r.State = StateEdited
	if a.Last.State == StateEdited {
		return r, nil
	}
	old, found, err := readRegular(root, name)
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("read what was put: %w", err)
	case found && hashOf(old) != a.Last.Hash && !proves(old, a.ThreadID):
		return r, nil
	}
	r.State = StateWritten
	switch {
	case a.Data != nil:
		r.Hash, r.Size = hashOf(a.Data), int64(len(a.Data))
	case found:
		r.Hash, r.Size = hashOf(old), int64(len(old))
	}
	return r, nil
}
