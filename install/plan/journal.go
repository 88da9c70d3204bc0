package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// Journal is where it is written down what was done under a name: a file in
// the data folder.
type Journal struct {
	Dir string // folder of all journals
}

// Receipt is what a journal holds.
type Receipt struct {
	Schema   int    `json:"schema"`
	Name     string `json:"name"`
	Complete bool   `json:"complete"` // the last Apply came to its end
	Steps    []Done `json:"steps"`
}

// Done is a step that was begun.
type Done struct {
	Step
	Finished bool     `json:"finished"`          // false: it was being done when the program ended
	Folders  []string `json:"folders,omitempty"` // that were made for it
}

const receiptSchema = 1

func (j Journal) path(name string) string { return filepath.Join(j.Dir, name+".json") }

// Load gives what was done under a name; without a journal an empty receipt.
func (j Journal) Load(name string) (Receipt, error) {
	text, err := os.ReadFile(j.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Receipt{Schema: receiptSchema, Name: name, Complete: true}, nil
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("read receipt: %w", err)
	}
	var r Receipt
	if err := json.Unmarshal(text, &r); err != nil {
		return Receipt{}, fmt.Errorf("read receipt %s: %w", j.path(name), err)
	}
	if r.Schema != receiptSchema {
		return Receipt{}, fmt.Errorf("read receipt %s: another version wrote it (schema %d)", j.path(name), r.Schema)
	}
	return r, nil
}

// save writes a receipt; an empty one is removed.
func (j Journal) save(r Receipt) error {
	if len(r.Steps) == 0 {
		if err := os.Remove(j.path(r.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove receipt: %w", err)
		}
		_ = os.Remove(j.Dir) // if it was the last
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	if err := os.MkdirAll(j.Dir, atomicfile.DirMode); err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	root, err := os.OpenRoot(j.Dir)
	if err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	defer func() { _ = root.Close() }()
	return atomicfile.Write(root, r.Name+".json", append(text, '\n'), atomicfile.FileMode)
}

// key says what a step is about; a later step about the same takes its place
// in the receipt.
func (s Step) key() string {
	if s.File != nil {
		return "file " + s.File.Path
	}
	if len(s.Command.Undo) > 0 {
		return "undo " + Quote(s.Command.Undo) // once is enough
	}
	return "run " + Quote(s.Command.Argv)
}

// begin notes that a step is about to be done. Of a file that we wrote before
// and that still holds our bytes, what it held before that stays on record.
func (r *Receipt) begin(d Done) (at int) {
	for i, old := range r.Steps {
		if old.key() != d.key() {
			continue
		}
		if d.File != nil {
			f := *d.File
			if same(old.File.After, f.Before) || !old.Finished && same(old.File.Before, f.Before) {
				f.Before = old.File.Before
				if old.File.Backup != "" {
					f.Backup = old.File.Backup
				}
			}
			d.File = &f
		}
		d.Folders = append(old.Folders, d.Folders...)
		r.Steps[i] = d
		return i
	}
	r.Steps = append(r.Steps, d)
	return len(r.Steps) - 1
}

// leftFor is how long a write takes at most: what lies beside a file for longer
// was left by a process that was killed.
const leftFor = 5 * time.Second

// sweep removes what a process that was killed left beside the files it was
// writing: they hold what these hold, keys included. What can't be removed is
// in nobody's way.
func (r Receipt) sweep(now time.Time) {
	for _, s := range r.Steps {
		if s.File == nil || s.Finished {
			continue
		}
		real, err := target(s.File.Path)
		if err != nil {
			continue
		}
		root, err := os.OpenRoot(filepath.Dir(real))
		if err != nil {
			continue
		}
		_, _ = atomicfile.SweepFolder(root, ".", now.Add(-leftFor))
		_ = root.Close()
	}
}
