package choices

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// backupDir holds the copies of what nothing can give again.
const backupDir = "backups"

// BackUp copies the choices of a data folder to backups/ in it. Broken ones are
// not copied: the last good copy stays.
func BackUp(home string) error {
	text, err := os.ReadFile(filepath.Join(home, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("back up choices: %w", err)
	}
	if _, _, err := parse(text); err != nil {
		return nil //nolint:nilerr // who reads them says so
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("back up choices: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing of it is written through
	if err := atomicfile.MkdirAll(root, backupDir); err != nil {
		return fmt.Errorf("back up choices: %w", err)
	}
	if _, err := atomicfile.WriteIfChanged(root, backupDir+"/"+Name, text, atomicfile.FileMode); err != nil {
		return fmt.Errorf("back up choices: %w", err)
	}
	return nil
}

// LoadBackup reads the copy; the zero Choices if there is none.
func LoadBackup(home string) (Choices, error) { return Load(filepath.Join(home, backupDir)) }
