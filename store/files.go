package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/failpoint"
)

const checkpointColumns = `id, rollout_id, thread_id, stamp, home, path, form, archived, gen, gen_seq, last_seq, off, line, head_len, head, tail_len, tail,
	size, mtime_ns, ctime_ns, dev, ino, pending, state, reason, parser, parser_version, awaits_parent`

// Rollout gives where reading of a rollout stands; ErrNotFound if it was
// never read.
func (db *DB) Rollout(ctx context.Context, rolloutID string) (Checkpoint, error) {
	c, err := checkpoint(ctx, db.read, "rollout_id=?", rolloutID)
	return c, db.wrap("read a checkpoint", err)
}

func checkpoint(ctx context.Context, q queryer, where string, arg any) (c Checkpoint, err error) {
	rows, err := q.QueryContext(ctx, "SELECT "+checkpointColumns+", facts, sums FROM rollout WHERE "+where, arg) //nolint:gosec // conditions of ours
	if err != nil {
		return c, err
	}
	defer rows.Close()
	if !rows.Next() {
		return c, noRow(rows)
	}
	var facts, own string
	c, err = scanCheckpoint(rows, &facts, &own)
	c.Broken = err == nil && broken(&c, facts, own)
	return c, errors.Join(err, rows.Err())
}

// noRow is the error of a query that gave no row: that there is none, but not
// where one can't be read.
func noRow(rows *sql.Rows) error {
	if err := rows.Err(); err != nil {
		return err
	}
	return ErrNotFound
}

// errKind means that a rollout's row has a form, state or mark of archives that
// there is none of. The rest of it was scanned.
var errKind = errors.New("no such form, state or mark of an archive")

// oddKinds is the condition that finds such rows, and those whose other mark is
// neither yes nor no.
const oddKinds = "form NOT BETWEEN 1 AND 3 OR state NOT BETWEEN 1 AND 3 OR archived NOT BETWEEN 0 AND 1 OR base_complete NOT BETWEEN 0 AND 1"

// scanCheckpoint scans checkpointColumns and what more was selected.
func scanCheckpoint(rows *sql.Rows, more ...any) (c Checkpoint, err error) {
	var dev, ino, form, archived, state int64
	err = rows.Scan(append([]any{&c.Row, &c.RolloutID, &c.ThreadID, &c.Stamp, &c.Home, &c.Path, &form, &archived, &c.Generation, &c.GenerationSeq, &c.LastSeq,
		&c.Cursor.Offset, &c.Cursor.Line, &c.Cursor.HeadLen, &c.Cursor.Head, &c.Cursor.TailLen, &c.Cursor.Tail,
		&c.Size, &c.ModTimeNs, &c.ChangeTimeNs, &dev, &ino, &c.Pending, &state, &c.Reason, &c.Parser, &c.ParserVersion, &c.AwaitsParent}, more...)...)
	c.Dev, c.Ino, c.Archived = uint64(dev), uint64(ino), archived != 0
	c.Form = Form(min(max(form, int64(FormPlain)), int64(FormDocument)))
	c.State = FileState(min(max(state, int64(FileOK)), int64(FileGone)))
	if err == nil && (int64(c.Form) != form || int64(c.State) != state || archived&^1 != 0) {
		err = errKind
	}
	return c, unscanned(err)
}

// Checkpoints gives every rollout that was ever read, without parser states.
func (db *DB) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	rows, err := db.read.QueryContext(ctx, `SELECT id, rollout_id, thread_id, stamp, home, path, form, archived, gen, gen_seq, last_seq, off, line, 0, NULL, 0, NULL,
		size, mtime_ns, ctime_ns, dev, ino, pending, state, reason, NULL, parser_version, awaits_parent FROM rollout`)
	if err != nil {
		return nil, db.wrap("list checkpoints", err)
	}
	defer rows.Close()
	var out []Checkpoint
	for rows.Next() {
		c, err := scanCheckpoint(rows)
		if err != nil {
			// What can't be scanned was never written.
			return nil, fmt.Errorf("list checkpoints of cache %s: %w: %w", db.path, ErrDamaged, err)
		}
		out = append(out, c)
	}
	return out, db.wrap("list checkpoints", rows.Err())
}

// ThreadCheckpoints gives where reading of each file of a thread stands, the
// files of other threads that its history begins in included.
func (db *DB) ThreadCheckpoints(ctx context.Context, threadID string) ([]Checkpoint, error) {
	segs, err := threadChain(ctx, db.read, threadID)
	if err != nil {
		return nil, db.wrap("read checkpoints", err)
	}
	var out []Checkpoint
	for i := range segs {
		c, err := checkpoint(ctx, db.read, "id=?", segs[i].row)
		if err != nil {
			return nil, db.wrap("read a checkpoint", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// awaitingQuery names the condition of the index: without it the index isn't used.
const awaitingQuery = "SELECT " + checkpointColumns + " FROM rollout WHERE awaits_parent=? AND awaits_parent<>''"

// AnyUnreadable tells whether a file of the thread's own can't be read.
func (db *DB) AnyUnreadable(ctx context.Context, threadID string) (any bool, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM rollout WHERE thread_id=? AND state=?)", threadID, FileUnreadable).Scan(&any)
	return any, db.wrap("look for unreadable files", err)
}

// AwaitingParent gives the rollouts whose copied lines wait for a thread to be
// read.
func (db *DB) AwaitingParent(ctx context.Context, threadID string) ([]Checkpoint, error) {
	rows, err := db.read.QueryContext(ctx, awaitingQuery, threadID)
	if err != nil {
		return nil, db.wrap("list waiting rollouts", err)
	}
	defer rows.Close()
	var out []Checkpoint
	for rows.Next() {
		c, err := scanCheckpoint(rows)
		if err != nil {
			return nil, db.wrap("list waiting rollouts", err)
		}
		out = append(out, c)
	}
	return out, db.wrap("list waiting rollouts", rows.Err())
}

// Touch records that a rollout moved, or how its file looks now, without
// reading it. The thread's row follows.
func (db *DB) Touch(ctx context.Context, f File, state FileState, reason string, decideAll func(transcript.Thread) []decide.Decision) error {
	write := db.write
	if state == FileGone {
		write = db.writeDurable // from now on the rows are all there is
	}
	return write(ctx, "touch rollout "+f.RolloutID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE rollout SET stamp=?, home=?, path=?, form=?, archived=?, size=?, mtime_ns=?, ctime_ns=?, dev=?, ino=?, state=?, reason=? WHERE rollout_id=?`,
			f.Stamp, f.Home, f.Path, f.Form, f.Archived, f.Size, f.ModTimeNs, f.ChangeTimeNs, int64(f.Dev), int64(f.Ino), state, reason, f.RolloutID); err != nil {
			return err
		}
		failpoint.Hit(failpoint.MidTouch)
		var thread string
		if err := tx.QueryRowContext(ctx, "SELECT thread_id FROM rollout WHERE rollout_id=?", f.RolloutID).Scan(&thread); err != nil {
			return err
		}
		return db.refresh(ctx, tx, thread, decideAll)
	})
}

// Decide writes the decisions of a thread anew, after the targets changed.
func (db *DB) Decide(ctx context.Context, threadID string, decideAll func(transcript.Thread) []decide.Decision) error {
	return db.write(ctx, "decide on "+threadID, func(tx *sql.Tx) error { return db.refresh(ctx, tx, threadID, decideAll) })
}

// SetNames records the names that the user gave to threads.
func (db *DB) SetNames(ctx context.Context, names map[string]string, decideAll func(transcript.Thread) []decide.Decision) error {
	return db.write(ctx, "save thread names", func(tx *sql.Tx) error {
		for id, name := range names {
			var old string
			if err := tx.QueryRowContext(ctx, "SELECT name FROM thread_name WHERE thread_id=?", id).Scan(&old); err == nil && old == name {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO thread_name VALUES(?,?)", id, name); err != nil {
				return err
			}
			var here bool
			if err := tx.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM thread WHERE thread_id=?)", id).Scan(&here); err != nil {
				return err
			}
			if !here {
				continue
			}
			if err := db.refresh(ctx, tx, id, decideAll); err != nil {
				return err
			}
		}
		return nil
	})
}

// Home is a Codex home as last listed.
type Home struct {
	Path    string
	Present bool
	Problem string
	Listed  time.Time
}

// SetHome records how a home looked when it was listed.
func (db *DB) SetHome(ctx context.Context, h Home) error {
	_, err := db.sql.ExecContext(ctx, `INSERT INTO home(path, present, problem, listed_ns) VALUES(?,?,?,?)
		ON CONFLICT DO UPDATE SET present=excluded.present, problem=excluded.problem, listed_ns=excluded.listed_ns`, h.Path, h.Present, h.Problem, ns(h.Listed))
	return db.wrap("save home "+h.Path, err)
}

// Homes gives the homes that were ever listed.
func (db *DB) Homes(ctx context.Context) ([]Home, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT path, present<>0, problem, listed_ns FROM home ORDER BY path")
	if err != nil {
		return nil, db.wrap("list homes", err)
	}
	defer rows.Close()
	var out []Home
	for rows.Next() {
		var h Home
		var listed int64
		if err := rows.Scan(&h.Path, &h.Present, &h.Problem, &listed); err != nil {
			return nil, db.wrap("list homes", err)
		}
		h.Listed = at(listed)
		out = append(out, h)
	}
	return out, db.wrap("list homes", rows.Err())
}

// Windows gives what rollouts reported of models' windows since an instant,
// the newest report of each model first.
func (db *DB) Windows(ctx context.Context, since time.Time) ([]transcript.Window, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT model, tokens, seen_ns FROM window_seen WHERE seen_ns>=? ORDER BY model, seen_ns DESC", ns(since))
	if err != nil {
		return nil, db.wrap("list windows", err)
	}
	defer rows.Close()
	var out []transcript.Window
	for rows.Next() {
		var w transcript.Window
		var seen int64
		if err := rows.Scan(&w.Model, &w.Tokens, &seen); err != nil {
			return nil, db.wrap("list windows", err)
		}
		w.Time = at(seen)
		out = append(out, w)
	}
	return out, db.wrap("list windows", rows.Err())
}

// forgetting is what makes a rollout be read again from its start. The cursor
// stays: it tells whether the file is still the one that the rows are of.
const forgetting = "UPDATE rollout SET size=-1, parser=NULL, parser_version=-1 WHERE state<>3"

// forgotten is the parser version of such a rollout.
const forgotten = -1

// Forget makes the rollouts of the threads given, or all with nil, be read
// again. What is read replaces the rows in place: item numbers, and with them
// refs, stay. Threads whose files are gone, receipts, shared files and names are
// kept.
func (db *DB) Forget(ctx context.Context, threadIDs []string) error {
	return db.write(ctx, "forget derived rows", func(tx *sql.Tx) error {
		if threadIDs == nil {
			_, err := tx.ExecContext(ctx, forgetting)
			return err
		}
		for _, id := range threadIDs {
			if _, err := tx.ExecContext(ctx, forgetting+" AND thread_id=?", id); err != nil {
				return err
			}
		}
		return nil
	})
}

// ForgetRollout makes one rollout be read again.
func (db *DB) ForgetRollout(ctx context.Context, rolloutID string) error {
	_, err := db.sql.ExecContext(ctx, forgetting+" AND rollout_id=?", rolloutID)
	return db.wrap("forget rollout "+rolloutID, err)
}
