package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	sessionsDir = "sessions"
	archivedDir = "archived_sessions"
	indexFile   = "session_index.jsonl"
)

// List lists the rollout files under one Codex home, those begun first at the
// front. The home and its two roots may be links; below them links are not
// followed. What cannot be read, or is missing, is a Problem. The error is
// that of ctx and nothing else.
func List(ctx context.Context, home string) ([]File, []Problem, error) {
	l, err := list(ctx, []string{home}, systemEyes())
	if err != nil {
		return nil, nil, fmt.Errorf("list rollouts in %s: %w", home, err)
	}
	return l.files(), l.problems, nil
}

// folder is one directory that was listed.
type folder struct {
	path     string
	home     int  // index in the list of homes
	archived bool // below archived_sessions
	depth    int  // homeDepth for the home, 0 for a root, 3 for a day folder
	entries  int  // names in it
}

const (
	homeDepth = -1
	dayDepth  = 3
)

// found is one rollout file and the home it is in.
type found struct {
	home int
	file File
}

// listing is what one walk over all homes saw.
type listing struct {
	found    []found
	folders  []folder
	problems []Problem
	reals    []string // by home: its path with links resolved, "" if missing
	// unclean: at and below these paths, and in these homes, a file that was
	// not seen may still exist.
	unclean      map[string]bool
	uncleanHomes []int

	see  eyes
	seen map[string]bool // real paths of roots
}

func (l *listing) files() []File {
	files := make([]File, len(l.found))
	for i, f := range l.found {
		files[i] = f.file
	}
	return files
}

// misses says whether path, in a home of this listing, can be taken to be
// missing if the listing does not have it.
func (l *listing) misses(home int, path string) bool {
	if slices.Contains(l.uncleanHomes, home) {
		return false
	}
	if len(l.unclean) == 0 {
		return true
	}
	for p := path; !l.unclean[p]; p = filepath.Dir(p) {
		if p == filepath.Dir(p) {
			return true
		}
	}
	return false
}

func list(ctx context.Context, homes []string, see eyes) (*listing, error) {
	l := &listing{see: see, reals: make([]string, len(homes)), seen: make(map[string]bool), unclean: make(map[string]bool)}
	for i, home := range homes {
		if err := l.home(ctx, i, home); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.file.Name.Stamp, b.file.Name.Stamp), cmp.Compare(a.file.Path, b.file.Path))
	})
	return l, nil
}

func (l *listing) home(ctx context.Context, i int, home string) error {
	real, err := realDir(home)
	if err != nil {
		l.problems = append(l.problems, problem(home, err))
		if !errors.Is(err, fs.ErrNotExist) {
			l.uncleanHomes = append(l.uncleanHomes, i)
		}
		return ctx.Err()
	}
	if l.seen[real] {
		l.problems = append(l.problems, Problem{Path: home, Err: ErrListedBefore})
		return ctx.Err()
	}
	l.seen[real] = true
	l.reals[i] = real
	l.folders = append(l.folders, folder{path: real, home: i, depth: homeDepth})
	for _, name := range []string{sessionsDir, archivedDir} {
		path := filepath.Join(real, name)
		root, err := realDir(path)
		switch {
		case err != nil:
			l.problems = append(l.problems, problem(path, err))
			if !errors.Is(err, fs.ErrNotExist) {
				// Where the link led before is not known any more.
				l.uncleanHomes = append(l.uncleanHomes, i)
			}
		case l.seen[root]:
			l.problems = append(l.problems, Problem{Path: path, Err: ErrListedBefore})
		default:
			l.seen[root] = true
			if err := l.walk(ctx, folder{path: root, home: i, archived: name == archivedDir}); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// walk lists one folder and what is below.
func (l *listing) walk(ctx context.Context, dir folder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := l.see.readDir(dir.path)
	if errors.Is(err, fs.ErrNotExist) && dir.depth > 0 {
		return nil // removed while we walked
	}
	if err != nil {
		l.problems = append(l.problems, problem(dir.path, err))
		l.unclean[dir.path] = true
	}
	dir.entries = len(entries)
	l.folders = append(l.folders, dir)
	for _, entry := range entries {
		path := filepath.Join(dir.path, entry.Name())
		name, ok := ParseName(entry.Name())
		if entry.IsDir() && !ok {
			sub := folder{path: path, home: dir.home, archived: dir.archived, depth: dir.depth + 1}
			if err := l.walk(ctx, sub); err != nil {
				return err
			}
			continue
		}
		if !ok {
			l.noteLink(path, entry)
			continue
		}
		file, err := l.see.look(path, name, dir.archived)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed while we walked
		case err != nil:
			l.problems = append(l.problems, problem(path, err))
			if !errors.Is(err, ErrNotRegular) {
				l.unclean[path] = true
			}
		default:
			l.found = append(l.found, found{home: dir.home, file: file})
		}
	}
	return nil
}

// noteLink reports a link to a folder: what lies behind it is not listed.
func (l *listing) noteLink(path string, entry fs.DirEntry) {
	if entry.Type()&fs.ModeSymlink == 0 {
		return
	}
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		l.problems = append(l.problems, Problem{Path: path, Err: ErrLink})
	}
}

// eyes are how folders and files are looked at; tests put others before them.
type eyes struct {
	readDir func(path string) ([]os.DirEntry, error)
	look    func(path string, name Name, archived bool) (File, error)
}

func systemEyes() eyes { return eyes{readDir: os.ReadDir, look: look} }

// look describes the file at path. It asks for the path itself: on Windows
// the entry of a folder can be far behind a file that is held open.
func look(path string, name Name, archived bool) (File, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return File{}, err
	}
	if !fi.Mode().IsRegular() {
		return File{}, ErrNotRegular
	}
	return fileOf(path, name, archived, fi), nil
}

// realDir resolves all links of a path that must lead to a folder.
func realDir(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	fi, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", errors.New("not a folder")
	}
	return real, nil
}
