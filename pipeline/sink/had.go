package sink

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
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
	return ofThread(d.root, d.names[end], a.ThreadID)
}

// ofThread finds the document among those of these names that is of the thread.
func ofThread(root *os.Root, names []string, threadID string) (string, error) {
	for _, name := range names {
		data, found, err := readRegular(root, name)
		if err != nil {
			return "", err
		}
		if found && of(data, threadID) {
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

// of tells whether a document says that it is of the thread, edited or not.
func of(data []byte, threadID string) bool {
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok || threadID == "" {
		return false
	}
	front, _, ok := bytes.Cut(rest, []byte("\n---\n"))
	return ok && bytes.Contains(append([]byte("\n"), append(front, '\n')...), []byte("\nsession_id: \""+threadID+"\"\n"))
}
