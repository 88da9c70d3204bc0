package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Totals are the figures of one home, or of a home's backlog.
type Totals struct {
	Home    string
	Files   int
	Threads int
	Bytes   int64 // of all rollouts on disk when last looked at
	Behind  int64 // bytes not taken in yet, as of the last look
}

// Totals gives figures per home.
func (db *DB) Totals(ctx context.Context) ([]Totals, error) {
	rows, err := db.read.QueryContext(ctx, `SELECT home, count(*), count(DISTINCT thread_id), sum(max(size,0)),
		sum(CASE WHEN form=1 THEN max(0, size-off-pending) WHEN off=0 THEN max(size,0) ELSE 0 END) FROM rollout WHERE state<>3 GROUP BY home ORDER BY home`)
	if err != nil {
		return nil, db.wrap("count rollouts", err)
	}
	defer rows.Close()
	var out []Totals
	for rows.Next() {
		var t Totals
		if err := rows.Scan(&t.Home, &t.Files, &t.Threads, &t.Bytes, &t.Behind); err != nil {
			return nil, db.wrap("count rollouts", err)
		}
		out = append(out, t)
	}
	return out, db.wrap("count rollouts", rows.Err())
}

// Problem is a file that was not fully read, and why.
type Problem struct {
	Home, Path string
	ThreadID   string
	State      FileState
	Reason     string
	Damage     []transcript.Damage // the first ones
	Damaged    int                 // all damaged lines
	Unknown    []transcript.Unknown
	Unread     string // another file of the same rollout that went another way; this one is read

	// An unfinished last line that has not changed for TornAfter.
	TornBytes  int64 // 0 for none
	TornOffset int64 // where it begins
	TornSince  time.Time
}

// TornAfter is how long an unfinished last line is taken to be one that is
// still being written. It is read when it is complete, however late.
const TornAfter = 24 * time.Hour

const problemColumns = `id, home, path, thread_id, state, reason, coalesce(json_extract(sums,'$.d'),0), off, pending, max(mtime_ns, ctime_ns)`

func scanProblem(scan func(...any) error) (p Problem, row int64, err error) {
	var off, pending, changed int64
	err = scan(&row, &p.Home, &p.Path, &p.ThreadID, &p.State, &p.Reason, &p.Damaged, &off, &pending, &changed)
	if t := at(changed); pending > 0 && time.Since(t) >= TornAfter && p.State == FileOK {
		p.TornBytes, p.TornOffset, p.TornSince = pending, off, t
	}
	return p, row, err
}

// Problems names every file that was not fully read.
func (db *DB) Problems(ctx context.Context) ([]Problem, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT "+problemColumns+` FROM rollout r
		WHERE state=2 OR (state=1 AND pending>0 AND max(mtime_ns, ctime_ns)<=?) OR EXISTS(SELECT 1 FROM damage d WHERE d.rollout=r.id) OR EXISTS(SELECT 1 FROM unknown u WHERE u.rollout=r.id) ORDER BY path`, time.Now().Add(-TornAfter).UnixNano())
	if err != nil {
		return nil, db.wrap("list problems", err)
	}
	defer rows.Close()
	var out []Problem
	var ids []int64
	for rows.Next() {
		p, id, err := scanProblem(rows.Scan)
		if err != nil {
			return nil, db.wrap("list problems", err)
		}
		out, ids = append(out, p), append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, db.wrap("list problems", err)
	}
	for i := range out {
		if err := oddities(ctx, db.read, ids[i], &out[i]); err != nil {
			return nil, db.wrap("list problems", err)
		}
	}
	copies, err := db.copyProblems(ctx)
	return append(out, copies...), err
}

// copyProblems names the files of one rollout that went different ways, those
// that are read included.
func (db *DB) copyProblems(ctx context.Context) ([]Problem, error) {
	all, err := db.Copies(ctx)
	if err != nil {
		return nil, err
	}
	var out []Problem
	for _, c := range all {
		if c.Reason == "" {
			continue
		}
		read, err := db.Rollout(ctx, c.RolloutID)
		if errors.Is(err, ErrNotFound) || err == nil && read.Path == c.Path {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(c.Path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		out = append(out,
			Problem{Home: c.Home, Path: c.Path, ThreadID: read.ThreadID, State: FileOK, Reason: c.Reason + ": " + read.Path + " is read"},
			Problem{Home: read.Home, Path: read.Path, ThreadID: read.ThreadID, State: FileOK, Reason: c.Reason + ": not read is " + c.Path, Unread: c.Path})
	}
	return out, nil
}

// Oddities gives the damaged lines and unknown kinds of one rollout.
func (db *DB) Oddities(ctx context.Context, rolloutID string) (Problem, error) {
	p, id, err := scanProblem(db.read.QueryRowContext(ctx, "SELECT "+problemColumns+" FROM rollout WHERE rollout_id=?", rolloutID).Scan)
	if err != nil {
		return p, db.wrap("read oddities", err)
	}
	return p, db.wrap("read oddities", oddities(ctx, db.read, id, &p))
}

func oddities(ctx context.Context, q queryer, row int64, p *Problem) error {
	rows, err := q.QueryContext(ctx, "SELECT line, off, size, cause, detail, salvaged FROM damage WHERE rollout=? ORDER BY line, off", row)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var d transcript.Damage
		if err := rows.Scan(&d.Line, &d.Offset, &d.Size, &d.Cause, &d.Detail, &d.Salvaged); err != nil {
			return unscanned(err)
		}
		p.Damage = append(p.Damage, d)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	kinds, err := q.QueryContext(ctx, "SELECT kind, name, version, count, line FROM unknown WHERE rollout=? ORDER BY kind, name", row)
	if err != nil {
		return err
	}
	defer kinds.Close()
	for kinds.Next() {
		var u transcript.Unknown
		if err := kinds.Scan(&u.Kind, &u.Name, &u.Version, &u.Count, &u.Line); err != nil {
			return unscanned(err)
		}
		p.Unknown = append(p.Unknown, u)
	}
	return kinds.Err()
}

// Size is the bytes of the cache and its WAL on disk.
func (db *DB) Size() int64 {
	var n int64
	for _, suffix := range []string{"", "-wal"} {
		if st, err := os.Stat(db.path + suffix); err == nil {
			n += st.Size()
		}
	}
	return n
}

// Schema is the version of the open file.
func (db *DB) Schema(ctx context.Context) (v int, err error) {
	err = db.read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, db.wrap("read the schema version", err)
}

// Meta reads a value by which runs speak to later runs; empty if unset.
func (db *DB) Meta(ctx context.Context, key string) (v string, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT value FROM meta WHERE key=?", key).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, db.wrap("read "+key, err)
}

// SetMeta writes such a value.
func (db *DB) SetMeta(ctx context.Context, key, value string) error {
	_, err := db.sql.ExecContext(ctx, "INSERT INTO meta VALUES(?,?) ON CONFLICT DO UPDATE SET value=excluded.value", key, value)
	return db.wrap("write "+key, err)
}

// Count is the number of threads.
func (db *DB) Count(ctx context.Context) (n int, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT count(*) FROM thread").Scan(&n)
	return n, db.wrap("count threads", err)
}

// ThreadIDs gives all threads, newest first.
func (db *DB) ThreadIDs(ctx context.Context) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT thread_id FROM thread ORDER BY updated_ns DESC")
	if err != nil {
		return nil, db.wrap("list threads", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, db.wrap("list threads", err)
		}
		out = append(out, id)
	}
	return out, db.wrap("list threads", rows.Err())
}

const targetsKey = "targets"

// Targets is the mark that SetTargets recorded; empty if none.
func (db *DB) Targets(ctx context.Context) (string, error) { return db.Meta(ctx, targetsKey) }

// SetTargets records the mark of the figures that all threads are now decided
// with, and forgets decisions for models that are no target any more.
func (db *DB) SetTargets(ctx context.Context, mark string, models []string) error {
	return db.write(ctx, "save targets", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT id, model FROM target")
		if err != nil {
			return err
		}
		defer rows.Close()
		var old []int64
		for rows.Next() {
			var id int64
			var model string
			if err := rows.Scan(&id, &model); err != nil {
				return err
			}
			if !slices.Contains(models, model) {
				old = append(old, id)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		for _, id := range old {
			for _, q := range []string{"DELETE FROM decision WHERE target=?", "DELETE FROM target WHERE id=?"} {
				if _, err := tx.ExecContext(ctx, q, id); err != nil {
					return err
				}
			}
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO meta VALUES(?,?) ON CONFLICT DO UPDATE SET value=excluded.value", targetsKey, mark)
		return err
	})
}
