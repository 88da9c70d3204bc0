package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// putOwn brings a file of ours up to date by the rules that all sinks keep: what
// somebody else wrote or changed is theirs, what is equal stays as it is. name
// is the file below root, r the receipt so far, with its path.
func putOwn(root *os.Root, name string, a Artifact, r Receipt) (Receipt, error) {
	if a.Last.State == StateEdited {
		return a.Last, nil
	}
	old, found, err := readRegular(root, name)
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
	if err := atomicfile.MkdirAll(root, path.Dir(name)); err != nil {
		return Receipt{}, err
	}
	// Also for what is unchanged: the mode may have to be set right.
	if _, err := atomicfile.WriteIfChanged(root, name, a.Data, atomicfile.FileMode); err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// removeOwn deletes a file of ours that nobody edited.
func removeOwn(root *os.Root, name string, r Receipt) error {
	data, found, err := readRegular(root, name)
	switch {
	case err != nil:
		return fmt.Errorf("read what was put: %w", err)
	case !found:
		return nil
	case r.State == StateEdited || hashOf(data) != r.Hash && !proves(data, r.ThreadID):
		return fmt.Errorf("remove %s: %w", r.Path, ErrEdited)
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what was put: %w", err)
	}
	return nil
}

// maxOwn bounds what is read of a file to see whose it is, bytes. Documents
// are far smaller; what is larger is none of ours.
const maxOwn = 64 << 20

// readRegular reads a regular file inside root. found is false if there is
// none, or something else in its place, like a link: that is not opened.
func readRegular(root *os.Root, name string) (data []byte, found bool, err error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, nil
	case info.Size() > maxOwn:
		return nil, true, nil
	}
	data, err = root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// proves tells whether a document says itself that it is ours, of this thread,
// and untouched: its front matter names the thread and the hash of all but that
// line. It stands in for a receipt that is lost or older, as after the loss of
// the database.
func proves(data []byte, threadID string) bool {
	if !of(data, threadID) {
		return false
	}
	front, _, _ := bytes.Cut(data, []byte("\n---\n"))
	start, end := []byte("\nhash: \""), []byte("\"\n")
	at := bytes.LastIndex(front, start)
	if at < 0 || !bytes.Contains(front[at:], []byte("\ngenerator: \"session-migrator")) {
		return false
	}
	hash, after, _ := bytes.Cut(data[at+len(start):], end)
	h := sha256.New()
	h.Write(data[:at+1])
	h.Write(after)
	return string(hash) == hex.EncodeToString(h.Sum(nil)[:8])
}
