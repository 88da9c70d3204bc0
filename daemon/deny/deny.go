// Package deny is the list of folders of which nothing is sent to any model.
// What can't be told from them is denied, too.
package deny

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// mostAncestors bounds how far up it is looked for a denied folder.
const mostAncestors = 64

// Folders are those of which nothing is sent, nor of what is below them.
type Folders []string

// New reads the list of the settings. A link counts as what it leads to, too.
func New(folders []string) (d Folders) {
	for _, f := range folders {
		d = append(d, keys(f)...)
	}
	return d
}

// keys are the names by which a folder is compared, rather too alike than too
// different: as it is written, and by the links of this machine. It need not
// exist here.
func keys(folder string) []string {
	folder = strings.TrimSpace(folder)
	out := []string{key(folder)}
	if real, ok := resolved(folder); ok {
		if k := key(real); k != out[0] {
			out = append(out, k)
		}
	}
	return out
}

func key(folder string) string {
	return strings.ToLower(strings.TrimRight(path.Clean(transcript.WorkspaceKey(folder)), "/"))
}

// resolved follows the links in a folder, as far down as it exists.
func resolved(folder string) (string, bool) {
	if !filepath.IsAbs(folder) {
		return "", false
	}
	for at := len(folder); at > 0; at = strings.LastIndexAny(folder[:at], `/`+string(os.PathSeparator)) {
		if real, err := filepath.EvalSymlinks(folder[:at]); err == nil {
			return filepath.Join(real, folder[at:]), true
		}
	}
	return "", false
}

// Whole tells whether a folder is named from the root on.
func Whole(folder string) bool {
	k := transcript.WorkspaceKey(strings.TrimSpace(folder))
	return strings.HasPrefix(k, "/") || len(k) > 1 && k[1] == ':'
}

// Has tells whether a folder is one of them, or below one.
func (d Folders) Has(folder string) bool {
	for _, k := range keys(folder) {
		for _, f := range d {
			if k == f || strings.HasPrefix(k, f+"/") {
				return true
			}
		}
	}
	return false
}

// Thread tells whether a thread is denied by its folders. One whose folder
// nobody knows might be in any.
func (d Folders) Thread(t transcript.Thread) bool {
	if len(d) == 0 {
		return false
	}
	known := false
	for _, f := range []string{t.Workspace, t.Cwd} {
		if f != "" && (!Whole(f) || d.Has(f)) {
			return true
		}
		known = known || f != ""
	}
	return !known
}

// Maybe tells whether a path, which may be of a folder's last parts only, can
// mean one of them or something below it.
func (d Folders) Maybe(p string) bool {
	if Whole(p) && d.Has(p) {
		return true
	}
	parts := strings.Split(strings.Trim(key(strings.ReplaceAll(p, `\`, "/")), "/"), "/")
	for _, f := range d {
		if f == "" {
			return true // the root
		}
		for i := range parts {
			for j := i + 1; j <= len(parts) && !Whole(p); j++ {
				if strings.HasSuffix("/"+f, "/"+strings.Join(parts[i:j], "/")) {
					return true
				}
			}
		}
	}
	return false
}

// Lineage tells whether nothing of a thread may be sent: it, or one that it
// descends from, is in a denied folder.
func (d Folders) Lineage(ctx context.Context, db *store.DB, t transcript.Thread) (bool, error) {
	if len(d) == 0 {
		return false, nil
	}
	seen, next := map[string]bool{}, []transcript.Thread{t}
	for len(next) > 0 {
		t, next = next[0], next[1:]
		if d.Thread(t) || len(seen) > mostAncestors {
			return true, nil
		}
		seen[t.ID] = true
		for _, id := range []string{t.Parent, t.ForkedFrom} {
			if id == "" || seen[id] {
				continue
			}
			up, err := db.Thread(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return false, err
			}
			next = append(next, up)
		}
	}
	return false, nil
}
