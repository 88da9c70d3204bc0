package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
)

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

// proves tells whether a document says itself that it is ours, of this
// thread, and untouched: its front matter names the thread and the hash of
// all that follows. It stands in for a receipt that is lost, as after the
// loss of the database.
func proves(data []byte, threadID string) bool {
	const fence = "---\n"
	rest, ok := bytes.CutPrefix(data, []byte(fence))
	if !ok {
		return false
	}
	front, body, ok := bytes.Cut(rest, []byte("\n"+fence))
	if !ok {
		return false
	}
	sum := sha256.Sum256(body)
	var ours, thread, hash bool
	for _, l := range strings.Split(string(front), "\n") {
		key, value, _ := strings.Cut(l, ": ")
		value = strings.Trim(value, `"`)
		switch key {
		case "generator":
			ours = strings.HasPrefix(value, "session-migrator")
		case "session_id":
			thread = value == threadID && threadID != ""
		case "hash":
			hash = value == hex.EncodeToString(sum[:8])
		}
	}
	return ours && thread && hash
}
