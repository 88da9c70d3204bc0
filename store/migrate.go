package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ladder is the numbered steps that bring a file up to the newest schema.
type ladder struct {
	from  fs.FS
	steps []string // the first makes schema 1
}

func (l ladder) top() int { return len(l.steps) }

func ours() (ladder, error) { return newLadder(migrations) }

func newLadder(from fs.FS) (ladder, error) {
	steps, err := fs.Glob(from, "migrations/*.sql")
	if err != nil || len(steps) == 0 {
		return ladder{}, fmt.Errorf("bug: no migrations: %w", err)
	}
	return ladder{from, steps}, nil
}

// migrate runs the steps above the file's schema, each in a transaction of its
// own, after a copy of the file was laid aside.
func (db *DB) migrate(ctx context.Context, from int) error {
	for v := from; v < db.ladder.top(); v++ {
		copied := ""
		if from > 0 {
			var err error
			if copied, err = db.copyBefore(ctx, v); err != nil {
				return err
			}
		}
		text, err := fs.ReadFile(db.ladder.from, db.ladder.steps[v])
		if err != nil {
			return fmt.Errorf("read migration %s: %w", db.ladder.steps[v], err)
		}
		if err := db.step(ctx, string(text), v+1); err != nil {
			if copied != "" {
				err = fmt.Errorf("%w (nothing was changed; a copy of the cache is kept at %s)", err, copied)
			}
			return err
		}
	}
	return nil
}

func (db *DB) step(ctx context.Context, text string, version int) error {
	return db.writeDurable(ctx, fmt.Sprintf("migrate to schema %d", version), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, version))
		return err
	})
}

// keepSchemas is how many copies of caches before a migration are kept.
const keepSchemas = 2

// copyBefore copies the whole cache to backups/ before a migration.
func (db *DB) copyBefore(ctx context.Context, schema int) (string, error) {
	to, err := nextBackup(db.path, backupSchema, db.now())
	if err != nil {
		return "", err
	}
	to = strings.TrimSuffix(to, ".db") + fmt.Sprintf("-schema-%d.db", schema)
	if _, err := db.sql.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return "", db.wrap("copy before a migration", err)
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return "", fmt.Errorf("copy before a migration: %w", err)
	}
	return to, pruneBackups(db.path, backupSchema, keepSchemas)
}

// keepAside is how many damaged caches are kept.
const keepAside = 1

// SetAside moves a cache that can't be used, with its WAL, to
// damaged-<time>/ beside it, and forgets older ones. The next Open starts anew.
func SetAside(path string, at time.Time) (string, error) {
	dir := filepath.Dir(path)
	old, err := filepath.Glob(filepath.Join(dir, "damaged-*"))
	if err != nil {
		return "", fmt.Errorf("list damaged caches: %w", err)
	}
	to := filepath.Join(dir, "damaged-"+at.UTC().Format("20060102T150405.000"))
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", fmt.Errorf("set the damaged cache aside: %w", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(path+suffix, filepath.Join(to, filepath.Base(path)+suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("set the damaged cache aside: %w", err)
		}
	}
	for len(old) > keepAside-1 {
		if err := os.RemoveAll(old[0]); err != nil {
			return to, fmt.Errorf("forget an older damaged cache: %w", err)
		}
		old = old[1:]
	}
	return to, nil
}
