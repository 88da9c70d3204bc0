package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Rescue copies out of another cache, a damaged one or a backup, what no rollout
// can give again and is not here yet: threads whose files are gone, text that
// its agent rewrote away, names, receipts, shared files, what was spent,
// summaries. Of a
// damaged file that is what can still be read and is proved by its hash. It
// gives the number of rollouts. Nothing that can be derived is copied.
func (db *DB) Rescue(ctx context.Context, from string) (kept int, err error) {
	if st, err := os.Stat(from); err != nil || !st.Mode().IsRegular() {
		return 0, errors.Join(fmt.Errorf("open cache %s: %w", from, ErrForeign), err)
	}
	src, err := connect(from, copyQuery(from), 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if _, err := src.identify(ctx); errors.Is(err, ErrFull) {
		return 0, fmt.Errorf("%w: %s", ErrDamaged, err.Error()) // it is this file, not ours, that can't be read
	} else if err != nil {
		return 0, err
	}
	return db.rescue(ctx, src.sql, true)
}

// rescue does so from any open cache. With lost, also rollouts whose file isn't
// at its place count as gone.
func (db *DB) rescue(ctx context.Context, src *sql.DB, lost bool) (kept int, err error) {
	r := &rescue{ctx: ctx, db: db, src: src, lost: lost, types: map[string][]string{}}
	err = db.writeDurable(ctx, "rescue", func(tx *sql.Tx) error {
		r.tx = tx
		return r.run()
	})
	return r.kept, err
}

// rescue is one such copying.
type rescue struct {
	ctx  context.Context
	db   *DB
	src  *sql.DB
	tx   *sql.Tx
	lost bool
	kept int

	types map[string][]string // of the columns that are copied, by table
}

func (r *rescue) run() error {
	for _, t := range []struct{ table, columns, key, back string }{
		{"thread_name", "thread_id, name", "thread_id", "thread_id DESC"},
		// No revision is known to be published: the document is compared anew.
		{"receipt", "sink, thread_id, name, hash, bytes, 0, managed, written_ns", "sink, thread_id", "sink DESC, thread_id DESC"},
		{"shared", "sink, path, body", "sink, path", "sink DESC, path DESC"},
		{"spend", "id, at_ns, kind, host, model, calls, input, output, exact, micro_usd, thread_id, outcome", "id", "id DESC"},
		{"summary", "thread_id, source, model, through, created_ns, body", "thread_id, source", "thread_id DESC, source DESC"},
		{"window_seen", "model, tokens, seen_ns", "model, tokens", "model DESC, tokens DESC"},
	} {
		q := "SELECT " + t.columns + " FROM " + t.table + " ORDER BY "
		if err := r.insertAll(t.table, r.both(q+t.key, q+t.back)); err != nil {
			return err
		}
	}
	const all = "SELECT id FROM rollout ORDER BY id"
	ids := map[int64]bool{}
	for _, row := range r.both(all, all+" DESC") {
		if id, ok := row[0].(int64); ok {
			ids[id] = true
		}
	}
	threads := map[string]bool{}
	for id := range ids {
		thread, err := r.rollout(id)
		if err != nil {
			return err
		}
		if thread != "" {
			threads[thread] = true
		}
	}
	for id := range threads {
		if err := r.db.refresh(r.ctx, r.tx, id, nil); err != nil {
			return err
		}
	}
	return r.ctx.Err()
}

// rows reads as many rows as can be read.
func (r *rescue) rows(query string, args ...any) (out [][]any, err error) {
	rows, err := r.src.QueryContext(r.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			at[i] = &row[i]
		}
		if err := rows.Scan(at...); err != nil {
			return out, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// both reads a table from its start and, if that fails on the way, from its end.
func (r *rescue) both(forward, backward string) [][]any {
	out, err := r.rows(forward)
	if err != nil {
		rest, _ := r.rows(backward) // what can be read
		out = append(out, rest...)
	}
	return out
}

// insertAll inserts whole rows into a table. Those with a value that is never
// written are left out.
func (r *rescue) insertAll(table string, rows [][]any) error {
	types, err := r.typesOf(table)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !written(row, types) {
			continue
		}
		marks := "?"
		for range len(row) - 1 {
			marks += ",?"
		}
		if _, err := r.tx.ExecContext(r.ctx, "INSERT OR IGNORE INTO "+table+" VALUES("+marks+")", row...); err != nil { //nolint:gosec // table names of ours
			return err
		}
	}
	return nil
}

// typesOf gives the types of a table's columns.
func (r *rescue) typesOf(table string) (types []string, err error) {
	if t, ok := r.types[table]; ok {
		return t, nil
	}
	types, err = texts(r.ctx, r.tx, "SELECT type FROM pragma_table_info(?)", table)
	r.types[table] = types
	return types, err
}

// written tells whether values are of the types that are written.
func written(row []any, types []string) bool {
	for i, v := range row {
		var ok bool
		switch v := v.(type) {
		case int64:
			ok = types[i] == "INTEGER"
		case string:
			ok = types[i] == "TEXT" && utf8.ValidString(v)
		case []byte:
			ok = types[i] == "BLOB"
		default:
			ok = v == nil // no number with a point is
		}
		if !ok {
			return false
		}
	}
	return true
}

// source is a rollout as the other cache has it.
type source struct {
	Checkpoint
	facts, sums string
	base        transcript.Base
	whole       bool // not only what was rewritten away
}

func (r *rescue) read(id int64) (s source, ok bool) {
	rows, err := r.src.QueryContext(r.ctx, "SELECT "+checkpointColumns+", facts, sums, base_rollout, base_ordinal, base_offset FROM rollout WHERE id=?", id)
	if err != nil {
		return s, false
	}
	defer rows.Close()
	if !rows.Next() {
		return s, false
	}
	s.Checkpoint, err = scanCheckpoint(rows, &s.facts, &s.sums, &s.base.RolloutID, &s.base.Ordinal, &s.base.Offset)
	odd := errors.Is(err, errKind)
	if err != nil && !odd || rows.Err() != nil || len(s.RolloutID) != 36 || len(s.ThreadID) != 36 || s.GenerationSeq < 0 || s.GenerationSeq > s.LastSeq {
		return s, false
	}
	s.Broken = broken(&s.Checkpoint, s.facts, s.sums)
	s.whole = s.State == FileGone && !odd
	if _, err := os.Lstat(s.Path); (r.lost || odd) && errors.Is(err, os.ErrNotExist) {
		s.whole = true
	}
	return s, s.whole || s.GenerationSeq > 0
}

// rollout copies one, and gives its thread if that is to be brought up to date.
func (r *rescue) rollout(id int64) (thread string, err error) {
	s, ok := r.read(id)
	if !ok {
		return "", nil
	}
	through := s.GenerationSeq
	if s.whole {
		through = s.LastSeq
	}
	var row, last int64
	err = r.tx.QueryRowContext(r.ctx, "SELECT id, last_seq FROM rollout WHERE rollout_id=?", s.RolloutID).Scan(&row, &last)
	here := err == nil
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if row, err = r.insert(&s, through); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		through = min(through, last)
	}
	if err := r.items(id, row, through); err != nil {
		return "", err
	}
	if here {
		if err := remark(r.ctx, r.tx, row); err != nil {
			return "", err
		}
	}
	r.kept++
	if !s.whole {
		return "", nil
	}
	if !here {
		for table, columns := range map[string]string{
			"turn": "number, turn_id, started_ns, ended_ns, state, error", "damage": "line, off, size, cause, detail, salvaged",
			"unknown": "kind, name, version, count, line",
		} {
			rows, _ := r.rows("SELECT ?, "+columns+" FROM "+table+" WHERE rollout=?", row, id) // what can be read
			if err := r.insertAll(table, rows); err != nil {
				return "", err
			}
		}
	}
	_, err = addUp(r.ctx, r.tx, row, s.sums)
	return s.ThreadID, err
}

// insert makes the row. What can't be relied on is left out: then the file, if
// it turns up, is read from its start, and the items keep their numbers.
func (r *rescue) insert(s *source, through int64) (int64, error) {
	if !s.whole || s.Broken {
		s.Cursor, s.Parser, s.ParserVersion, s.Size = Cursor{}, nil, 0, -1
	}
	var facts transcript.Facts
	if json.Unmarshal([]byte(s.facts), &facts) != nil {
		facts = transcript.Facts{ThreadID: s.ThreadID}
		text, err := json.Marshal(facts)
		if err != nil {
			return 0, fmt.Errorf("write facts: %w", err)
		}
		s.facts = string(text)
	}
	res, err := r.tx.ExecContext(r.ctx, `INSERT INTO rollout(rollout_id, thread_id, stamp, home, path, form, archived, gen, gen_seq, last_seq,
		off, line, head_len, head, tail_len, tail, size, mtime_ns, ctime_ns, dev, ino, pending, state, reason, facts, parser, parser_version,
		base_rollout, base_ordinal, base_offset, base_complete, awaits_parent, mark) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,random())`,
		s.RolloutID, s.ThreadID, s.Stamp, s.Home, s.Path, s.Form, s.Archived, s.Generation, s.GenerationSeq, through,
		s.Cursor.Offset, s.Cursor.Line, s.Cursor.HeadLen, s.Cursor.Head, s.Cursor.TailLen, s.Cursor.Tail,
		s.Size, s.ModTimeNs, s.ChangeTimeNs, int64(s.Dev), int64(s.Ino), s.Pending, s.State, s.Reason, s.facts, s.Parser, s.ParserVersion,
		s.base.RolloutID, s.base.Ordinal, s.base.Offset, s.base.RolloutID == "", s.AwaitsParent)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

const (
	rescueColumns = `id, gen, role, turn, ts_ns, off, size, ordinal, inherited, dead_off, dead_ord, phase, exit_code, images,
		tok_o200k, tok_cl100k, tok_shrunk, key, hash, turn_id, name, call_id, args, text`
	rescueRows  = 50  // at a time
	rescueSkips = 200 // over what can't be read, in one rollout
)

// items copies those up to a number that are whole. Over damage it skips
// farther and farther.
func (r *rescue) items(from, to, through int64) error {
	next, step := int64(1), int64(1)
	for skips := 0; next <= through && skips < rescueSkips && r.ctx.Err() == nil; {
		rows, err := r.rows("SELECT "+rescueColumns+" FROM item WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", itemID(from, next), itemID(from, through), rescueRows)
		for _, row := range rows {
			id, ok := row[0].(int64)
			if !ok {
				continue
			}
			next = id - itemID(from, 0) + 1
			if !proved(row) {
				continue
			}
			row[0] = itemID(to, next-1)
			if err := r.insertAll("item", [][]any{row}); err != nil {
				return err
			}
		}
		switch {
		case err != nil:
			skips++
			next += step
			step *= 2
		case len(rows) < rescueRows:
			return nil
		default:
			step = 1
		}
	}
	return r.ctx.Err()
}

// proved tells whether an item's text has its hash.
func proved(row []any) bool {
	role, ok := row[2].(int64)
	hash, isBytes := row[18].([]byte)
	args, isArgs := row[22].(string)
	text, isText := row[23].(string)
	if !ok || !isBytes || !isArgs || !isText {
		return false
	}
	it := transcript.Item{Role: transcript.Role(role), Args: args, Text: text}
	h := it.BodyHash()
	return string(h[:]) == string(hash)
}
