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
	"strings"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// place is where a consumer looks for what is about one workspace, or all.
type place struct {
	root string // absolute; nothing outside of it is written, whatever links there are
	dir  string // folder of the consumer below root, slash separated; "." is root itself
	need string // folder below root that must be there: it is the consumer's to make
}

// spec is what a consumer declares.
type spec struct {
	name   string
	limits Limits
	// find gives the place for a workspace and a folder that a thread worked
	// in; false if the consumer isn't there.
	find func(workspace, cwd string) (place, bool)
	// at gives the place whose folder this is, absolute; false if it can't be
	// one. It answers for places of former times too.
	at func(dir string) (place, bool)
	// file makes the name of a thread's file from that of the artifact; nil:
	// the consumer has no files of single threads.
	file func(name string) string
	mark string // part of every name that file makes
	sub  string // folder of the files, below the place's; made and removed by us
	list bool   // with an INDEX.md beside the files
	all  bool   // its shared files are about all workspaces
	keep []keeper
}

// keeper keeps one kind of shared file.
type keeper interface {
	// share brings the file up to date and returns what is known of it.
	share(ctx context.Context, j *job, last []SharedFile) []SharedFile
	// keeps tells whether a file of that name in a place is one of its own.
	keeps(name string) bool
	// main is the name of the file that a user is told of; empty: none.
	main() string
	// unshare takes our part out.
	unshare(at spot, snap snapshot, f SharedFile) error
}

// placed is the sink of a consumer that has places of its own. The methods may
// be called at the same time, for different threads.
type placed struct {
	spec
	env    Env
	choice Choice

	sharing sync.Mutex // lets one Share at a time

	mu    sync.Mutex      // guards swept
	swept map[string]bool // folders in which the temporaries of a crash were looked for
}

// sharer is a placed sink with shared files.
type sharer struct{ *placed }

func open(s spec, e Env, c Choice) Sink {
	if e.Zone == nil {
		e.Zone = time.UTC
	}
	p := &placed{spec: s, env: e, choice: c, swept: map[string]bool{}}
	if len(s.keep) > 0 {
		return sharer{p}
	}
	return p
}

// Name implements Sink.
func (p *placed) Name() string { return p.name }

// Limits implements Sink.
func (p *placed) Limits() Limits { return p.limits }

// Put implements Sink. The path of a receipt is absolute: a sink has as many
// folders as there are workspaces.
func (p *placed) Put(ctx context.Context, a Artifact) (Receipt, error) {
	r := Receipt{Sink: p.name, ThreadID: a.ThreadID, Path: a.Last.Path}
	if err := ctx.Err(); err != nil {
		return Receipt{}, fmt.Errorf("put %s: %w", a.Name, err)
	}
	if p.file == nil {
		return Receipt{Sink: p.name, ThreadID: a.ThreadID, State: StateNone}, nil
	}
	at, name, found, err := p.where(a)
	if err != nil {
		return Receipt{}, fmt.Errorf("put %q: %w", a.Name, err)
	}
	if !found {
		return Receipt{Sink: p.name, ThreadID: a.ThreadID, State: StateNone}, nil
	}
	if err := p.limits.check(a.Data); err != nil {
		return Receipt{}, fmt.Errorf("put %s for %s: %w", a.Name, p.name, err)
	}
	dir := path.Join(at.dir, p.sub)
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return Receipt{}, at.here(path.Join(dir, name), err)
	}
	defer func() { _ = root.Close() }()
	p.sweep(root, at, dir)
	if a.Last.Path == "" {
		if name, err = p.had(root, dir, name, a.ThreadID); err != nil {
			return Receipt{}, at.here(path.Join(dir, name), err)
		}
	}
	r.Path = filepath.ToSlash(filepath.Join(at.root, filepath.FromSlash(dir), name))
	r, err = putOwn(root, path.Join(dir, name), a, r)
	return r, at.here(path.Join(dir, name), err)
}

// where gives the place of a thread's file and its name there. The file stays
// where the receipt says as long as the consumer is there.
func (p *placed) where(a Artifact) (at place, name string, found bool, err error) {
	if a.Last.Path != "" {
		at, name, err = p.locate(a.Last.Path)
		if err != nil || at.there() {
			return at, name, err == nil, err
		}
	}
	if err := checkName(a.Name); err != nil {
		return at, "", false, err
	}
	name = p.file(a.Name)
	if err := checkName(name); err != nil {
		return at, "", false, err
	}
	at, found = p.find(a.Workspace, a.Cwd)
	return at, name, found && at.there(), nil
}

// locate takes the path of a receipt apart.
func (p *placed) locate(name string) (place, string, error) {
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) || filepath.Clean(abs) != abs {
		return place{}, "", fmt.Errorf("%q: %w", name, ErrPath)
	}
	dir, base := filepath.Split(abs)
	dir = filepath.Clean(dir)
	if err := checkName(base); err != nil {
		return place{}, "", fmt.Errorf("%w: %w", ErrPath, err)
	}
	if p.sub != "" {
		if filepath.Base(dir) != p.sub {
			return place{}, "", fmt.Errorf("%q: %w", name, ErrPath)
		}
		dir = filepath.Dir(dir)
	}
	at, ok := p.at(dir)
	if !ok || p.file == nil || !strings.Contains(base, p.mark) {
		return place{}, "", fmt.Errorf("%s is no place for documents of %s", name, p.name)
	}
	return at, base, nil
}

// there tells whether the consumer's folder is there.
func (at place) there() bool {
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(path.Join(".", at.need))
	return err == nil && info.IsDir()
}

// had gives the name of the document of a thread whose receipt is lost; name if
// there is none.
func (p *placed) had(root *os.Root, dir, name, threadID string) (string, error) {
	files, err := fs.ReadDir(root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return name, nil
	}
	if err != nil {
		return name, err
	}
	var names []string
	for _, f := range files {
		if checkName(f.Name()) == nil && nameEnd(f.Name()) == nameEnd(name) && strings.Contains(f.Name(), p.mark) {
			names = append(names, path.Join(dir, f.Name()))
		}
	}
	had, err := ofThread(root, names, threadID)
	if err != nil || had == "" {
		return name, err
	}
	return path.Base(had), nil
}

// Remove implements Sink. The list and the folder of ours go with the last file.
func (p *placed) Remove(ctx context.Context, r Receipt) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove %s: %w", r.Path, err)
	}
	if r.Path == "" && r.State == StateNone {
		return nil
	}
	at, name, err := p.locate(r.Path)
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	root, err := os.OpenRoot(at.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir := path.Join(at.dir, p.sub)
	if err != nil {
		return at.here(path.Join(dir, name), err)
	}
	defer func() { _ = root.Close() }()
	if err := removeOwn(root, path.Join(dir, name), r); err != nil {
		return at.here(path.Join(dir, name), err)
	}
	if p.sub != "" {
		if err := dropEmpty(root, dir); err != nil {
			return err
		}
	}
	at.tidy(root)
	return nil
}

// tidy removes the place's folder and those above it that hold nothing any more,
// up to the one that is the consumer's to make.
func (at place) tidy(root *os.Root) {
	for dir, need := path.Clean(at.dir), path.Join(".", at.need); dir != need && dir != "."; dir = path.Dir(dir) {
		info, err := root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !info.IsDir() || root.Remove(dir) != nil { // fails while anything is in it, which is right
			return
		}
	}
}

// dropEmpty removes a folder of ours that holds nothing but its list.
func dropEmpty(root *os.Root, dir string) error {
	files, err := fs.ReadDir(root.FS(), dir)
	if err != nil || slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() != indexName }) {
		return nil //nolint:nilerr // gone, or not empty
	}
	if err := dropGenerated(root, path.Join(dir, indexName)); err != nil {
		return err
	}
	_ = root.Remove(dir) // fails while anything is in it, which is right
	return nil
}

// WriteIndexes writes the list beside the documents in each of their folders.
func (p *placed) WriteIndexes(ctx context.Context, entries []Entry) error {
	if !p.list {
		return nil
	}
	folders := map[place][]Entry{}
	for _, e := range entries {
		if at, _, err := p.locate(e.Path); err == nil && at.there() {
			folders[at] = append(folders[at], e)
		}
	}
	var errs []error
	for at, list := range folders {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("write indexes: %w", err)
		}
		newestFirst(list)
		errs = append(errs, at.here(path.Join(at.dir, p.sub, indexName), p.writeIndex(at, list)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write indexes: %w", err)
	}
	return nil
}

func (p *placed) writeIndex(at place, list []Entry) error {
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	dir := path.Join(at.dir, p.sub)
	if err := atomicfile.MkdirAll(root, dir); err != nil {
		return err
	}
	text := indexOf("Codex sessions: "+baseName(at.root), list, maxProjectLines, "ask the MCP tool list_sessions", func(p string) string { return openLink(path.Base(p)) })
	return generate(root, path.Join(dir, indexName), text)
}

// sweep removes the temporaries that a crash left in a folder, the first time
// that something is written there.
func (p *placed) sweep(root *os.Root, at place, dir string) {
	key := filepath.Join(at.root, filepath.FromSlash(dir))
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.swept[key] {
		p.swept[key] = true
		// What can't be removed does no harm: no reader takes it for a document.
		_, _ = atomicfile.SweepFolder(root, dir, time.Now().Add(-sweepAge))
	}
}

// sweepAge is how old a temporary of ours is before it is taken for left over.
const sweepAge = 10 * time.Minute

// check tells whether a document keeps to the limits.
func (l Limits) check(data []byte) error {
	if n := units(string(data)); l.Units > 0 && n > l.Units {
		return fmt.Errorf("the document has %d UTF-16 units, the most is %d", n, l.Units)
	}
	if l.Bytes > 0 && len(data) > l.Bytes {
		return fmt.Errorf("the document has %d bytes, the most is %d", len(data), l.Bytes)
	}
	return nil
}
