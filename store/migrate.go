package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate runs the numbered steps above the file's schema, each in a
// transaction of its own, after a copy of the file was laid aside.
func (db *DB) migrate(ctx context.Context, from int) error {
	steps, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(steps) != schemaVersion {
		return fmt.Errorf("bug: %d migrations for schema %d", len(steps), schemaVersion)
	}
	for v := from; v < schemaVersion; v++ {
		if v > 0 {
			if err := db.backup(ctx, fmt.Sprintf("schema-%d", v)); err != nil {
				return err
			}
		}
		text, err := migrations.ReadFile(steps[v])
		if err != nil {
			return fmt.Errorf("read migration %s: %w", steps[v], err)
		}
		if err := db.step(ctx, string(text), v+1); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) step(ctx context.Context, text string, version int) (err error) {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return db.wrap("begin a migration", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return db.wrap(fmt.Sprintf("migrate to schema %d", version), err)
	}
	pragmas := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, version)
	if _, err := tx.ExecContext(ctx, pragmas); err != nil {
		return db.wrap("record the schema", err)
	}
	return db.wrap("commit a migration", tx.Commit())
}

// backup copies the whole cache to backups/ beside it.
func (db *DB) backup(ctx context.Context, why string) error {
	dir := filepath.Join(filepath.Dir(db.path), "backups")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create backup folder: %w", err)
	}
	to := filepath.Join(dir, fmt.Sprintf("%s-%s.db", why, db.now().UTC().Format("20060102T150405")))
	if _, err := db.sql.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return db.wrap("back up", err)
	}
	return os.Chmod(to, 0o600)
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
