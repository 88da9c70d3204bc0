// Package vocabs keeps vocabularies that the user imported, below the data
// folder: for each the file as its publisher made it, and a manifest that pins
// the file's SHA-256 and says for which models it counts.
//
//	vocabularies/qwen3.json    the manifest
//	vocabularies/qwen3.vocab   the file
//
// Nothing of a file is read before it is asked to count; then it must have the
// hash that was pinned.
package vocabs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// Entry is an imported vocabulary.
type Entry struct {
	Name string `json:"name"` // also names the encoding in answers
	// Models are normalised ids: "qwen3" is that and "qwen3-max", but not the
	// next version "qwen3-7"; "llama-3*" is all that begins so.
	Models []string `json:"models"`
	SHA256 string   `json:"sha256"`
	Split  string   `json:"split"`
	Tokens int      `json:"tokens"`
	NFC    bool     `json:"nfc"`
	Closed bool     `json:"closed"`
}

// Key tells counts in the vocabulary from those in all others, also from those
// in another file that had its name; empty for none.
func (e Entry) Key() string {
	if e.Name == "" {
		return ""
	}
	return e.Name + "@" + e.SHA256[:min(len(e.SHA256), 16)]
}

// Shelf gives the imported vocabularies of one folder. It is safe for concurrent
// use.
type Shelf struct {
	dir string

	mu      sync.Mutex // guards the rest
	entries []Entry
	seen    string                      // the folder's files when entries were read
	changes int64                       // how often they were others
	open    map[string]*tokens.Imported // by key
	bad     map[string]error            // by key: why one can't be used; nil if its hash is right
}

const (
	manifestExt = ".json"
	fileExt     = ".vocab"
)

// Open lists what is in a folder; one that isn't there is empty. The error names
// manifests that can't be read; the others are there all the same.
func Open(dir string) (*Shelf, error) {
	s := &Shelf{dir: dir, open: map[string]*tokens.Imported{}, bad: map[string]error{}}
	_, err := s.Look()
	return s, err
}

// Look reads the folder again if a file in it is another than the last time. It
// gives a number that rises whenever vocabularies came, went or changed, and the
// error of Open. A nil shelf is empty.
func (s *Shelf) Look() (changes int64, err error) {
	if s == nil {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.changes, fmt.Errorf("list imported vocabularies: %w", err)
	}
	now := look(files)
	if now == s.seen {
		return s.changes, nil
	}
	first := s.seen == ""
	s.seen = now
	var bad []error
	s.entries = nil
	for _, f := range files {
		if filepath.Ext(f.Name()) != manifestExt {
			continue
		}
		e, err := readManifest(s.dir, f.Name())
		if err != nil {
			bad = append(bad, err)
			continue
		}
		s.entries = append(s.entries, e)
	}
	clear(s.bad) // what stands there may be right now
	clear(s.open)
	if !first {
		s.changes++
	}
	return s.changes, errors.Join(bad...)
}

// look tells files from others that took their places.
func look(files []fs.DirEntry) string {
	b := []byte{'-'}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			b = fmt.Appendf(b, "%q %d %d\n", f.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return string(b)
}

func readManifest(dir, name string) (e Entry, err error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err == nil && (e.Name+manifestExt != name || !namePattern().MatchString(e.Name)) {
		err = fmt.Errorf("it names itself %q", e.Name)
	}
	if err != nil {
		return e, fmt.Errorf("read manifest of imported vocabulary %s: %w", name, err)
	}
	return e, nil
}

// Any tells whether there are vocabularies.
func (s *Shelf) Any() bool { return len(s.Entries()) > 0 }

// Entries are sorted by name. A nil shelf has none.
func (s *Shelf) Entries() []Entry {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// For gives the vocabulary of a model by its normalised id; the most specific of
// several. One whose file isn't the one that was pinned is none: the model is
// estimated then. A nil shelf has none.
func (s *Shelf) For(canonical string) (best Entry, ok bool) {
	if s == nil {
		return Entry{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := 0
	for _, e := range s.entries {
		for _, m := range e.Models {
			if len(m) > longest && answers(m, canonical) && s.pinned(e) == nil {
				best, longest, ok = e, len(m), true
			}
		}
	}
	return best, ok
}

// pinned says why a vocabulary's file is not the one that was imported. It is
// read once. The caller holds the lock.
func (s *Shelf) pinned(e Entry) error {
	err, known := s.bad[e.Key()]
	if known {
		return err
	}
	err = s.hashed(e)
	s.bad[e.Key()] = err
	return err
}

func (s *Shelf) hashed(e Entry) error {
	f, err := os.Open(filepath.Join(s.dir, e.Name+fileExt))
	if err != nil {
		return fmt.Errorf("read imported vocabulary: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read imported vocabulary: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != e.SHA256 {
		return fmt.Errorf("imported vocabulary %s has SHA-256 %s, pinned is %s", e.Name, got, e.SHA256)
	}
	return nil
}

// Check says why a vocabulary can't be used; nil if it can.
func (s *Shelf) Check(name string) error {
	_, err := s.Counter(name)
	return err
}

// version is what follows an id where another version of the model is meant.
var version = pattern.Lazy(`^-\d{1,2}(-|$)`)

func answers(pattern, id string) bool {
	if start, any := strings.CutSuffix(pattern, "*"); any {
		return strings.HasPrefix(id, start)
	}
	rest, ok := strings.CutPrefix(id, pattern)
	return ok && (rest == "" || rest[0] == '-' && !version().MatchString(rest))
}

// Counter gives a new counter for an imported vocabulary, which is built on
// first use. The file must be the one that was pinned.
func (s *Shelf) Counter(name string) (*tokens.Counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no vocabulary %q was imported", name)
	}
	e := s.entries[i]
	v := s.open[e.Key()]
	if v == nil {
		if err := s.bad[e.Key()]; err != nil {
			return nil, err
		}
		var err error
		if v, err = s.load(e); err != nil {
			s.bad[e.Key()] = err
			return nil, err
		}
		s.open[e.Key()] = v
	}
	return v.New(), nil
}

func (s *Shelf) load(e Entry) (*tokens.Imported, error) {
	file, err := os.ReadFile(filepath.Join(s.dir, e.Name+fileExt))
	if err != nil {
		return nil, fmt.Errorf("read imported vocabulary: %w", err)
	}
	v, err := tokens.Import(file, e.Split)
	if err != nil {
		return nil, fmt.Errorf("open imported vocabulary %s: %w", e.Name, err)
	}
	if v.SHA256 != e.SHA256 {
		return nil, fmt.Errorf("imported vocabulary %s has SHA-256 %s, pinned is %s", e.Name, v.SHA256, e.SHA256)
	}
	return v, nil
}

// Release lets go of what was built; it is built anew when it is asked for.
func (s *Shelf) Release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.open)
}

// ErrName means that a vocabulary can't have that name.
var ErrName = errors.New("no name for a vocabulary")

var namePattern = pattern.Lazy(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Save puts a vocabulary into a folder. The file goes first: a manifest without
// its file is never there.
func Save(dir string, e Entry, file []byte) error {
	if !namePattern().MatchString(e.Name) {
		return fmt.Errorf("name %q: %w: give small letters, digits, dots and dashes", e.Name, ErrName)
	}
	if _, err := tokens.ParseEncoding(e.Name); err == nil {
		return fmt.Errorf("name %q: %w: it is that of a vocabulary of the program", e.Name, ErrName)
	}
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return fmt.Errorf("make folder of imported vocabularies: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open folder of imported vocabularies: %w", err)
	}
	defer func() { _ = root.Close() }() // a folder: nothing is written through it
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := atomicfile.Write(root, e.Name+fileExt, file, atomicfile.FileMode); err != nil {
		return fmt.Errorf("keep vocabulary: %w", err)
	}
	if err := atomicfile.Write(root, e.Name+manifestExt, append(text, '\n'), atomicfile.FileMode); err != nil {
		return fmt.Errorf("keep manifest of vocabulary: %w", err)
	}
	return nil
}

// Usual gives the name and models that a vocabulary is known to be of, by its
// split and size; empty if it can be several.
func Usual(v *tokens.Imported) (name string, models []string) {
	switch {
	case v.Split == tokens.SplitQwen && v.Tokens == 151_643:
		return "qwen3", []string{"qwen2*", "qwen3", "qwq*", "qvq*", "mimo*"}
	case v.Split == tokens.SplitCl100k && v.Tokens == 128_000:
		return "llama3", []string{"llama-3*", "llama3*"}
	case v.Split == tokens.SplitDeepSeek && v.Tokens == 127_997:
		return "deepseek", []string{"deepseek-v*", "deepseek-chat", "deepseek-reasoner"}
	case v.Split == tokens.SplitKimi && v.Tokens == 163_584:
		return "kimi-k2", []string{"kimi-k2*"}
	}
	return "", nil
}
