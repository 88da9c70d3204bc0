package sink

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// had finds the document that an earlier run wrote of the thread and whose
// receipt is lost, as with the database: its name may be another by now, and
// then there would be two. Empty if there is none.
func (d *Drop) had(a Artifact) (string, error) {
	end := nameEnd(a.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names == nil {
		names, err := d.list()
		if err != nil {
			return "", err
		}
		d.names = names
	}
	for _, name := range d.names[end] {
		data, found, err := readRegular(d.root, name)
		if err != nil {
			return "", err
		}
		if found && of(data, a.ThreadID) {
			return name, nil
		}
	}
	return "", nil
}

// list gives the paths of all documents by the end of their names.
func (d *Drop) list() (map[string][]string, error) {
	out := map[string][]string{}
	dirs, err := fs.ReadDir(d.root.FS(), projectsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		files, err := fs.ReadDir(d.root.FS(), path.Join(projectsDir, dir.Name()))
		if err != nil {
			continue // no folder, or none that we may read: none of ours either
		}
		for _, f := range files {
			if name := path.Join(projectsDir, dir.Name(), f.Name()); checkPath(name) == nil {
				out[nameEnd(f.Name())] = append(out[nameEnd(f.Name())], name)
			}
		}
	}
	return out, nil
}

// nameEnd is what a document's name ends with whatever its title is.
func nameEnd(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// of tells whether a document says that it is of the thread, edited or not.
func of(data []byte, threadID string) bool {
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok || threadID == "" {
		return false
	}
	front, _, ok := bytes.Cut(rest, []byte("\n---\n"))
	return ok && bytes.Contains(append([]byte("\n"), append(front, '\n')...), []byte("\nsession_id: \""+threadID+"\"\n"))
}
