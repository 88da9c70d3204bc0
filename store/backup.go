package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Copies lie in backups/ beside the cache and are numbered, because clocks may
// jump: kept-000012-20260901T090000.db.
const (
	backupDir    = "backups"
	backupKept   = "kept"   // what can't be derived
	backupSchema = "before" // the whole cache, before a migration

	keepDays   = 7 // of copies of what can't be derived: the newest of each
	keepNewest = 2 // these stay in any case: one may turn out not to be readable
)

// backups gives the copies of a kind, oldest first.
func backups(path, kind string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), backupDir, kind+"-[0-9]*.db"))
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// nextBackup names the next copy of a kind.
func nextBackup(path, kind string, at time.Time) (string, error) {
	old, err := backups(path, kind)
	if err != nil {
		return "", err
	}
	n := 0
	if len(old) > 0 {
		if _, err := fmt.Sscanf(filepath.Base(old[len(old)-1]), kind+"-%06d", &n); err != nil {
			return "", fmt.Errorf("number backup after %s: %w", old[len(old)-1], err)
		}
	}
	dir := filepath.Join(filepath.Dir(path), backupDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create backup folder: %w", err)
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%06d-%s.db", kind, n+1, at.UTC().Format("20060102T150405"))), nil
}

// pruneBackups removes all but the newest copies of a kind.
func pruneBackups(path, kind string, keep int) error {
	old, err := backups(path, kind)
	if err != nil {
		return err
	}
	return forget(old[:max(0, len(old)-keep)])
}

func forget(old []string) error {
	for _, path := range old {
		if err := removeCache(path); err != nil {
			return fmt.Errorf("forget an old backup: %w", err)
		}
	}
	return nil
}

// superfluous is pure: which of the copies, oldest first, go. A day on which the
// cache is healed again and again counts like any other.
func superfluous(copies []string) (out []string) {
	days := map[string]bool{}
	for i, path := range slices.Backward(copies) {
		day := strings.TrimPrefix(filepath.Base(path), backupKept+"-")
		_, day, _ = strings.Cut(day, "-")
		day, _, _ = strings.Cut(day, "T")
		if i >= len(copies)-keepNewest || !days[day] && len(days) < keepDays {
			days[day] = true
		} else {
			out = append(out, path)
		}
	}
	return out
}

// backupKey remembers what the newest backup holds.
const backupKey = "backup_mark"

// Backup copies what no rollout can give again to backups/ beside the cache: to
// a file of its own that is there whole or not at all. It gives where; empty if
// there is nothing, or nothing new.
func (db *DB) Backup(ctx context.Context) (string, error) {
	mark, err := db.irreplaceable(ctx)
	if err != nil || mark == "" {
		return "", err
	}
	last, err := db.Meta(ctx, backupKey)
	if err != nil {
		return "", err
	}
	old, err := backups(db.path, backupKept)
	if err != nil {
		return "", err
	}
	if len(old) > 0 {
		if last == mark {
			return "", nil
		}
		// A cache that was made anew doesn't know what its backups hold.
		if holds(ctx, old[len(old)-1], mark) {
			return "", db.SetMeta(ctx, backupKey, mark)
		}
	}
	to, err := nextBackup(db.path, backupKept, db.now())
	if err != nil {
		return "", err
	}
	tmp := filepath.Join(filepath.Dir(to), ".backup.tmp")
	if err := removeCache(tmp); err != nil {
		return "", err
	}
	if err := db.backUp(ctx, tmp, mark); err != nil {
		return "", errors.Join(fmt.Errorf("back up: %w", err), removeCache(tmp))
	}
	if err := os.Rename(tmp, to); err != nil {
		return "", errors.Join(fmt.Errorf("back up: %w", err), removeCache(tmp))
	}
	if err := db.SetMeta(ctx, backupKey, mark); err != nil {
		return "", err
	}
	if old, err = backups(db.path, backupKept); err != nil {
		return to, err
	}
	return to, forget(superfluous(old))
}

// holds tells whether a copy is whole and was made of what has the mark.
func holds(ctx context.Context, path, mark string) bool {
	db, err := connect(path, copyQuery(path), 1)
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }() // only read
	has, err := db.Meta(ctx, backupKey)
	return err == nil && has == mark && db.check(ctx, "quick_check") == nil
}

// copyQuery is for reading a cache that nobody writes to. Without a WAL it is
// read as it lies: else SQLite would leave files beside it.
func copyQuery(path string) url.Values {
	q := readerQuery(readerBusy)
	if st, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() == 0 {
		q.Set("immutable", "1")
	}
	return q
}

func (db *DB) backUp(ctx context.Context, tmp, mark string) error {
	to, err := Open(ctx, tmp)
	if err != nil {
		return err
	}
	if _, err = to.rescue(ctx, db.read, false); err == nil {
		err = to.SetMeta(ctx, backupKey, mark)
	}
	return errors.Join(err, to.Close()) // the last one to close moves the WAL in, and syncs
}

func removeCache(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a temporary backup: %w", err)
		}
	}
	return nil
}

// irreplaceable is a mark that changes with what a backup would hold; empty for
// nothing.
func (db *DB) irreplaceable(ctx context.Context) (string, error) {
	sum := sha256.New()
	n := 0
	for _, q := range []string{
		"SELECT rollout_id||' '||gen||' '||gen_seq||' '||last_seq||' '||state FROM rollout WHERE state=3 OR gen_seq>0 ORDER BY rollout_id",
		"SELECT sink||' '||thread_id||' '||name||' '||hash||' '||managed FROM receipt ORDER BY sink, thread_id",
		"SELECT sink||' '||path||' '||body FROM shared ORDER BY sink, path",
		"SELECT 'spend '||max(id) FROM spend HAVING count(*)>0",
		"SELECT 'summary '||thread_id||' '||source||' '||through||' '||created_ns FROM summary ORDER BY thread_id, source",
		"SELECT thread_id||' '||name FROM thread_name ORDER BY thread_id",
	} {
		lines, err := texts(ctx, db.read, q)
		if err != nil {
			return "", db.wrap("look for what is to be backed up", err)
		}
		for _, l := range lines {
			n++
			_, _ = fmt.Fprintln(sum, l) // a hash never fails
		}
	}
	if n == 0 {
		return "", nil
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// Restore adds what the newest backup that can be read holds and this cache
// doesn't. It gives the number of rollouts and the backup; empty if there is none.
func (db *DB) Restore(ctx context.Context) (kept int, from string, err error) {
	all, err := backups(db.path, backupKept)
	if err != nil {
		return 0, "", err
	}
	var failed error
	for _, from := range slices.Backward(all) {
		kept, err := db.Rescue(ctx, from)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrFull) {
			return kept, from, err
		}
		failed = errors.Join(failed, err)
	}
	return 0, "", failed
}
