package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
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

	mu    sync.Mutex          // guards names
	names map[string][]string // paths of documents by the end of their name; nil: not looked yet
}

const projectsDir = "projects"

// OpenDrop opens the folder and makes it if it isn't there. A folder that
// other users own or may write to is refused: they could put words into the
// mouth of what agents read.
func OpenDrop(dir string) (*Drop, error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return nil, fmt.Errorf("make drop folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open drop folder: %w", err)
	}
	d := &Drop{root: root, dir: dir}
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
func (d *Drop) Name() string { return "drop" }

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
	if a.Last.State == StateEdited {
		return a.Last, nil
	}
	old, found, err := readRegular(d.root, r.Path)
	if err != nil {
		return Receipt{}, fmt.Errorf("read what was put: %w", err)
	}
	r.Hash, r.Size, r.State = hashOf(a.Data), int64(len(a.Data)), StateWritten
	if found {
		is := hashOf(old)
		switch {
		case is == r.Hash:
			r.State = StateUnchanged
		case is != a.Last.Hash && !proves(old, a.ThreadID):
			r.State, r.Hash, r.Size = StateEdited, a.Last.Hash, a.Last.Size
			return r, nil
		}
	}
	if err := atomicfile.MkdirAll(d.root, path.Dir(r.Path)); err != nil {
		return Receipt{}, err
	}
	// Also for what is unchanged: the mode may have to be set right.
	if _, err := atomicfile.WriteIfChanged(d.root, r.Path, a.Data, atomicfile.FileMode); err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// Remove implements Sink. The project's folder goes with its last file.
func (d *Drop) Remove(ctx context.Context, r Receipt) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove %s: %w", r.Path, err)
	}
	if err := checkPath(r.Path); err != nil {
		return fmt.Errorf("remove %q: %w", r.Path, err)
	}
	data, found, err := readRegular(d.root, r.Path)
	switch {
	case err != nil:
		return fmt.Errorf("read what was put: %w", err)
	case !found:
		return nil
	case r.State == StateEdited || hashOf(data) != r.Hash:
		return fmt.Errorf("remove %s: %w", r.Path, ErrEdited)
	}
	if err := d.root.Remove(r.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what was put: %w", err)
	}
	// Fails while anything is in it, which is right.
	_ = d.root.Remove(path.Dir(r.Path))
	return nil
}

// Sweep removes temporaries that a crash left behind before the given time.
func (d *Drop) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep drop folder: %w", err)
	}
	return atomicfile.Sweep(d.root, before)
}

// ProjectDir returns the name of a project's folder: the last element of its
// root, made safe, and the first 8 hex digits of the root's SHA-256.
func ProjectDir(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	base := strings.TrimRight(strings.ReplaceAll(workspace, `\`, "/"), "/")
	base = base[strings.LastIndexByte(base, '/')+1:]
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(base) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			dash = false
		} else {
			dash = true
		}
		if b.Len() >= 40 {
			break
		}
	}
	if b.Len() == 0 {
		b.WriteString("project")
	}
	return b.String() + "-" + hex.EncodeToString(sum[:4])
}

// maxName is what a name may have in bytes, to fit every file system.
const maxName = 100

// checkPath takes projects/<folder>/<file>.md of lower case ASCII. Titles and
// folders of the user never become path elements; this is the second line.
func checkPath(p string) error {
	parts := strings.Split(p, "/")
	if len(parts) != 3 || parts[0] != projectsDir || !strings.HasSuffix(parts[2], ".md") {
		return errors.New("no path of a document")
	}
	for _, part := range parts[1:] {
		if len(part) == 0 || len(part) > maxName || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" ||
			part[0] == '.' || part[0] == '-' || strings.Contains(part, "..") || reserved(part) {
			return fmt.Errorf("unsafe name %q", part)
		}
	}
	return nil
}

// reserved tells the names that Windows keeps for devices, whatever follows
// the first dot, and our own.
func reserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	switch base {
	case "con", "prn", "aux", "nul", "index", "readme":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && base[3] >= '0' && base[3] <= '9'
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
