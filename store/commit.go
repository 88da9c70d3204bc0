package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/failpoint"
)

// seqBits is how many bits of an item's row id hold its number.
const seqBits = 32

func itemID(row, seq int64) int64 { return row<<seqBits | seq }

// Commit writes b in one transaction. After an error nothing of it is in.
func (db *DB) Commit(ctx context.Context, b *Batch) (err error) {
	if len(b.Counts) != len(b.Delta.Items) {
		return fmt.Errorf("bug: %d counts for %d items", len(b.Counts), len(b.Delta.Items))
	}
	write := db.write
	if b.NewGeneration {
		write = db.writeDurable // from now on what was there is here alone
	}
	return write(ctx, "commit rollout "+b.File.RolloutID, func(tx *sql.Tx) error {
		w := &commit{ctx: ctx, tx: tx, db: db, b: b}
		return w.run()
	})
}

// commit is one Batch on its way into the file.
type commit struct {
	ctx context.Context
	tx  *sql.Tx
	db  *DB
	b   *Batch

	row     int64
	gen     int
	genSeq  int64
	lastSeq int64
	sums    sums
	oldBase transcript.Base
	baseOK  bool
	thread  string // as stored before
}

func (w *commit) exec(q string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, q, args...)
	return err
}

func (w *commit) run() error {
	if err := w.open(); err != nil {
		return err
	}
	for _, step := range []func() error{w.items, w.dead, w.turns, w.oddities, w.windows, w.save} {
		if err := step(); err != nil {
			return err
		}
	}
	if w.b.Quiet {
		return nil
	}
	return w.threads()
}

// open finds or makes the rollout's row and, on a rewrite, starts a generation.
func (w *commit) open() error {
	f := &w.b.File
	var text string
	err := w.tx.QueryRowContext(w.ctx, `SELECT id, gen, gen_seq, last_seq, sums, thread_id, base_rollout, base_ordinal, base_offset, base_complete
		FROM rollout WHERE rollout_id=?`, f.RolloutID).
		Scan(&w.row, &w.gen, &w.genSeq, &w.lastSeq, &text, &w.thread, &w.oldBase.RolloutID, &w.oldBase.Ordinal, &w.oldBase.Offset, &w.baseOK)
	if errors.Is(err, sql.ErrNoRows) {
		w.gen = 1
		r, err := w.tx.ExecContext(w.ctx, `INSERT INTO rollout(rollout_id, thread_id, stamp, home, path, form, mark) VALUES(?,?,?,?,?,?,random())`,
			f.RolloutID, f.ThreadID, f.Stamp, f.Home, f.Path, f.Form)
		if err != nil {
			return err
		}
		w.row, err = r.LastInsertId()
		return err
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &w.sums); err != nil {
		return fmt.Errorf("read sums: %w", err)
	}
	switch {
	case w.b.NewGeneration:
		w.gen++
		w.genSeq = w.lastSeq
	case w.b.Rederive:
		if err := w.exec("DELETE FROM item WHERE id BETWEEN ? AND ?", itemID(w.row, w.genSeq+1), itemID(w.row, w.lastSeq)); err != nil {
			return err
		}
		failpoint.Hit(failpoint.MidRederive)
		w.lastSeq = w.genSeq
	default:
		return nil
	}
	w.sums = sums{}
	w.baseOK = false
	if err := remark(w.ctx, w.tx, w.row); err != nil {
		return err
	}
	if err := w.uncountBases(); err != nil {
		return err
	}
	for _, t := range []string{"turn", "damage", "unknown"} {
		failpoint.Hit(failpoint.MidReset)
		if err := w.exec("DELETE FROM "+t+" WHERE rollout=?", w.row); err != nil { //nolint:gosec // table names of ours
			return err
		}
	}
	return nil
}

const uncountQuery = `UPDATE rollout SET base_complete=0 WHERE base_complete=1 AND rollout_id IN (
	WITH RECURSIVE up(id, depth) AS (
		SELECT rollout_id, 1 FROM rollout WHERE base_rollout=?1 AND base_rollout<>'' UNION
		SELECT r.rollout_id, depth+1 FROM up CROSS JOIN rollout r ON r.base_rollout=up.id WHERE r.base_rollout<>'' AND depth<64)
	SELECT id FROM up)`

// uncountBases has the histories counted again that begin in this rollout: the
// bytes before a cut don't change, but these do.
func (w *commit) uncountBases() error {
	return w.exec(uncountQuery, w.b.File.RolloutID)
}

const insertItem = `INSERT INTO item(id, gen, role, turn, ts_ns, off, size, ordinal, inherited, phase, exit_code, images,
	tok_o200k, tok_cl100k, tok_shrunk, key, hash, turn_id, name, call_id, args, text)
	VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

// items adds the new items. Their numbers count from the start of the
// generation; the row's count from the first generation, so that no number is
// used twice.
func (w *commit) items() error {
	if len(w.b.Delta.Items) == 0 {
		return nil
	}
	st, err := w.tx.PrepareContext(w.ctx, insertItem)
	if err != nil {
		return err
	}
	defer st.Close()
	for i := range w.b.Delta.Items {
		it, c := &w.b.Delta.Items[i], w.b.Counts[i]
		var exit any
		if it.HasExit {
			exit = it.ExitCode
		}
		seq := w.genSeq + it.Seq
		if seq >= 1<<seqBits {
			return fmt.Errorf("bug: item number %d", seq)
		}
		if _, err := st.ExecContext(w.ctx, itemID(w.row, seq), w.gen, it.Role, it.Turn, ns(it.Time), it.Offset, it.Size,
			it.Ordinal, it.Inherited, it.Phase, exit, it.Images, c.O200k, c.Cl100k, c.Shrunk, int64(it.Key), c.Hash[:],
			it.TurnID, it.Name, it.CallID, it.Args, it.Text); err != nil {
			return err
		}
		failpoint.Hit(failpoint.MidBatch)
		w.lastSeq = max(w.lastSeq, seq)
		w.sums.count(it.Role, c, 1)
		w.sums.Turns = max(w.sums.Turns, it.Turn)
	}
	w.sums.Items = w.lastSeq - w.genSeq
	return nil
}

// dead takes rolled-back items off the current branch.
func (w *commit) dead() error {
	if len(w.b.Delta.Dead) == 0 {
		return nil
	}
	for _, d := range w.b.Delta.Dead {
		from, to := itemID(w.row, w.genSeq+d.From), itemID(w.row, w.genSeq+d.To)
		if err := w.uncount(from, to); err != nil {
			return err
		}
		if err := w.exec("UPDATE item SET dead_off=?, dead_ord=? WHERE id BETWEEN ? AND ? AND dead_off IS NULL", d.Offset, d.Ordinal, from, to); err != nil {
			return err
		}
	}
	return w.tx.QueryRowContext(w.ctx, "SELECT coalesce(max(turn),0) FROM item WHERE id BETWEEN ? AND ? AND dead_off IS NULL",
		itemID(w.row, w.genSeq+1), itemID(w.row, w.lastSeq)).Scan(&w.sums.Turns)
}

func (w *commit) uncount(from, to int64) error {
	rows, err := w.tx.QueryContext(w.ctx, "SELECT role, tok_o200k, tok_cl100k, tok_shrunk FROM item WHERE id BETWEEN ? AND ? AND dead_off IS NULL", from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var role transcript.Role
		var c ItemCount
		if err := rows.Scan(&role, &c.O200k, &c.Cl100k, &c.Shrunk); err != nil {
			return err
		}
		w.sums.count(role, c, -1)
	}
	return rows.Err()
}

func (w *commit) turns() error {
	for _, t := range w.b.Delta.Turns {
		if err := w.exec(`INSERT INTO turn VALUES(?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET
			turn_id=excluded.turn_id, started_ns=excluded.started_ns, ended_ns=excluded.ended_ns, state=excluded.state, error=excluded.error`,
			w.row, t.Number, t.ID, ns(t.Started), ns(t.Ended), t.State, t.Error); err != nil {
			return err
		}
	}
	return nil
}

// maxDamageRows bounds how many damaged lines of a file are named; all are
// counted.
const maxDamageRows = 200

func (w *commit) oddities() error {
	for _, d := range w.b.Delta.Damage {
		if w.sums.Damaged++; w.sums.Damaged > maxDamageRows {
			continue
		}
		if err := w.exec("INSERT OR REPLACE INTO damage VALUES(?,?,?,?,?,?,?)", w.row, d.Line, d.Offset, d.Size, d.Cause, d.Detail, d.Salvaged); err != nil {
			return err
		}
	}
	for _, u := range w.b.Delta.Unknown {
		if err := w.exec("INSERT INTO unknown VALUES(?,?,?,?,?,?) ON CONFLICT DO UPDATE SET count=count+excluded.count", w.row, u.Kind, u.Name, u.Version, u.Count, u.Line); err != nil {
			return err
		}
	}
	return nil
}

func (w *commit) windows() error {
	for _, s := range w.b.Delta.Windows {
		if s.Model == "" || s.Tokens <= 0 {
			continue
		}
		if err := w.exec("INSERT INTO window_seen VALUES(?,?,?) ON CONFLICT DO UPDATE SET seen_ns=max(seen_ns, excluded.seen_ns)", s.Model, s.Tokens, ns(s.Time)); err != nil {
			return err
		}
	}
	return nil
}

// save moves the cursor, in the same transaction as the rows it stands for.
func (w *commit) save() error {
	failpoint.Hit(failpoint.BeforeCursor)
	b, c := w.b, w.b.Cursor
	facts, err := json.Marshal(b.Facts)
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	now := &Checkpoint{Generation: w.gen, GenerationSeq: w.genSeq, LastSeq: w.lastSeq, Cursor: c, Parser: b.Parser, ParserVersion: b.ParserVersion}
	w.sums.Seal, w.sums.Parsed = seal(now, string(facts), w.sums), sealParser(now)
	own, err := json.Marshal(w.sums)
	if err != nil {
		return fmt.Errorf("write sums: %w", err)
	}
	base := transcript.Base{}
	if b.Facts.Base != nil {
		base = *b.Facts.Base
	}
	if base != w.oldBase {
		w.baseOK = false
	}
	if base.RolloutID == "" {
		w.baseOK = true
	}
	thread := b.Facts.ThreadID
	if thread == "" {
		thread = b.File.ThreadID
	}
	f := b.File
	return w.exec(`UPDATE rollout SET thread_id=?, stamp=?, home=?, path=?, form=?, archived=?, gen=?, gen_seq=?, last_seq=?,
		off=?, line=?, head_len=?, head=?, tail_len=?, tail=?, size=?, mtime_ns=?, ctime_ns=?, dev=?, ino=?, pending=?, state=?, reason=?,
		facts=?, parser=?, parser_version=?, base_rollout=?, base_ordinal=?, base_offset=?, base_complete=?, sums=?, awaits_parent=? WHERE id=?`,
		thread, f.Stamp, f.Home, f.Path, f.Form, f.Archived, w.gen, w.genSeq, w.lastSeq,
		c.Offset, c.Line, c.HeadLen, c.Head, c.TailLen, c.Tail, f.Size, f.ModTimeNs, f.ChangeTimeNs, int64(f.Dev), int64(f.Ino), b.Pending, b.State, b.Reason,
		string(facts), b.Parser, b.ParserVersion, base.RolloutID, base.Ordinal, base.Offset, w.baseOK, string(own), b.AwaitsParent, w.row)
}

// threads brings every thread up to date that this rollout is part of.
func (w *commit) threads() error {
	thread := w.b.Facts.ThreadID
	if thread == "" {
		thread = w.b.File.ThreadID
	}
	todo := []string{thread}
	if w.thread != "" && w.thread != thread {
		todo = append(todo, w.thread)
	}
	waiting, err := dependents(w.ctx, w.tx, w.b.File.RolloutID)
	if err != nil {
		return err
	}
	for _, id := range append(todo, waiting...) {
		failpoint.Hit(failpoint.BeforeFigures)
		if err := w.db.refresh(w.ctx, w.tx, id, w.b.Decide); err != nil {
			return err
		}
	}
	return nil
}

const dependentsQuery = `WITH RECURSIVE up(id, depth) AS (
		SELECT ?, 0 UNION
		SELECT r.rollout_id, depth+1 FROM up CROSS JOIN rollout r ON r.base_rollout=up.id WHERE (r.base_complete=0 OR coalesce(json_extract(r.sums,'$.t'),0)=0) AND r.base_rollout<>'' AND depth<64)
	SELECT DISTINCT r.thread_id FROM up CROSS JOIN rollout r ON r.rollout_id=up.id WHERE up.depth>0`

// dependents are the threads that wait for lines of this rollout to complete
// their history, through any number of bases, and those without a turn of their
// own: they stand as the turn stands that they begin in.
func dependents(ctx context.Context, tx *sql.Tx, rolloutID string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, dependentsQuery, rolloutID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
