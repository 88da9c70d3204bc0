package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// Drop is the folder of ready documents that is always kept:
//
//	README.md                          what this is
//	INDEX.md, index.json               all sessions, newest first
//	projects/<name>-<hash8>/INDEX.md   those of one project
//	projects/<name>-<hash8>/<file>.md  one session
//
// The methods may be called at the same time, for different threads.
type Drop struct {
	root *os.Root
	dir  string
	sink string                   // name of the sink
	link func(name string) string // to a document in an index, by its path from there

	mu    sync.Mutex          // guards names
	names map[string][]string // paths of documents by the end of their name; nil: not looked yet
}

const projectsDir = "projects"

var drop = Consumer{
	Name:  "drop",
	About: "all documents in the drop folder, with lists",
	Mode:  ModeAlways,
	Open:  func(e Env, _ Choice) (Sink, error) { return asSink(OpenDrop(e.Drop)) },
}

// OpenDrop opens the folder and makes it if it isn't there. A folder that
// other users own or may write to is refused: they could put words into the
// mouth of what agents read.
func OpenDrop(dir string) (*Drop, error) { return openTree("drop", dir, openLink) }

// asSink gives no sink with an error, rather than one that is nil within.
func asSink(d *Drop, err error) (Sink, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

func openTree(name, dir string, link func(string) string) (*Drop, error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return nil, fmt.Errorf("make drop folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open drop folder: %w", err)
	}
	d := &Drop{root: root, dir: dir, sink: name, link: link}
	if err := d.safe(); err != nil {
		return nil, errors.Join(fmt.Errorf("open drop folder %w", err), root.Close())
	}
	return d, nil
}

// safe refuses a folder that others may write to, and one that isn't at its
// place any more: nobody would find there what is written.
func (d *Drop) safe() error {
	// Looked at through the root: what was opened, not what lies there now.
	info, err := d.root.Stat(".")
	if err == nil {
		err = safeFolder(info)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.dir, err)
	}
	now, err := os.Stat(d.dir)
	if err != nil {
		return err
	}
	if !os.SameFile(info, now) {
		return fmt.Errorf("%s: another folder is there by now", d.dir)
	}
	return nil
}

// Close releases the folder.
func (d *Drop) Close() error { return d.root.Close() }

// Name implements Sink.
func (d *Drop) Name() string { return d.sink }

// Limits implements Sink: the folder is ours, there are none.
func (d *Drop) Limits() Limits { return Limits{} }

// Put implements Sink.
func (d *Drop) Put(ctx context.Context, a Artifact) (Receipt, error) {
	r := Receipt{Sink: d.Name(), ThreadID: a.ThreadID, Path: a.Last.Path}
	if r.Path == "" {
		r.Path = path.Join(projectsDir, ProjectDir(a.Workspace), a.Name)
	}
	if err := ctx.Err(); err != nil {
		return Receipt{}, fmt.Errorf("put %s: %w", r.Path, err)
	}
	if err := checkPath(r.Path); err != nil {
		return Receipt{}, fmt.Errorf("put %q: %w", r.Path, err)
	}
	if err := d.safe(); err != nil {
		return Receipt{}, fmt.Errorf("put %s: %w", r.Path, err)
	}
	if a.Last.Path == "" {
		had, err := d.had(a)
		if err != nil {
			return Receipt{}, fmt.Errorf("look for an earlier document: %w", err)
		}
		if had != "" {
			r.Path = had
		}
	}
	return putOwn(d.root, r.Path, a, r)
}

// Remove implements Sink. The project's folder goes with its last file.
func (d *Drop) Remove(ctx context.Context, r Receipt) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove %s: %w", r.Path, err)
	}
	if err := checkPath(r.Path); err != nil {
		return fmt.Errorf("remove %q: %w", r.Path, err)
	}
	if err := removeOwn(d.root, r.Path, r); err != nil {
		return err
	}
	// Fails while anything is in it, which is right.
	_ = d.root.Remove(path.Dir(r.Path))
	return nil
}

// Clear removes the lists and README.md, as far as they are generated, and the
// folders of projects that are empty then.
func (d *Drop) Clear(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove indexes: %w", err)
	}
	errs := []error{d.dropStale(nil)}
	_ = d.root.Remove(projectsDir) // fails while anything is in it, which is right
	for _, name := range []string{"README.md", indexName, "index.json"} {
		errs = append(errs, dropGenerated(d.root, name))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove indexes: %w", err)
	}
	return nil
}

// Sweep removes temporaries that a crash left behind before the given time.
func (d *Drop) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep drop folder: %w", err)
	}
	return atomicfile.Sweep(d.root, before)
}

// Begun tells whether indexes were ever written to the folder: else it is new,
// or was emptied.
func (d *Drop) Begun() (bool, error) { return d.lies("index.json") }

// Has tells whether a document lies at the path of a receipt.
func (d *Drop) Has(name string) (bool, error) {
	if err := checkPath(name); err != nil {
		return false, fmt.Errorf("look for %q: %w", name, err)
	}
	return d.lies(name)
}

func (d *Drop) lies(name string) (bool, error) {
	_, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
