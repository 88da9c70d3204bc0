package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const messageColumns = `id, role, turn, ts_ns, off, size, ordinal, inherited, phase, exit_code, images, tok_o200k, key, hash, turn_id, name, call_id, args, text`

// Messages gives the thread's current branch, oldest first, each item once:
// those after position after, at most limit (0: all). ErrNotFound if the
// thread is not here.
func (db *DB) Messages(ctx context.Context, threadID string, after int64, limit int) ([]transcript.Message, error) {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, db.wrap("read messages", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	segs, err := threadChain(ctx, tx, threadID)
	if err != nil {
		return nil, db.wrap("read messages", err)
	}
	ps, err := places(ctx, tx, segs)
	if err != nil {
		return nil, db.wrap("read messages", err)
	}
	var out []transcript.Message
	for i := range segs {
		out, err = segs[i].messages(ctx, tx, threadID, ps[i], after, limit, out)
		if err != nil {
			return nil, db.wrap("read messages", err)
		}
	}
	return out, nil
}

// threadChain gives the segments of a thread's current branch, all read.
func threadChain(ctx context.Context, q queryer, threadID string) ([]segment, error) {
	segs, err := threadSegments(ctx, q, threadID)
	for i := range segs {
		if err := segs[i].read(); err != nil {
			return nil, err
		}
	}
	return segs, err
}

// threadSegments gives them without what is stored as JSON.
func threadSegments(ctx context.Context, q queryer, threadID string) ([]segment, error) {
	var head int64
	if err := q.QueryRowContext(ctx, "SELECT head FROM thread WHERE thread_id=?", threadID).Scan(&head); err != nil {
		return nil, err
	}
	segs, _, err := chain(ctx, q, head)
	return segs, err
}

func (s *segment) messages(ctx context.Context, q queryer, threadID string, p place, after int64, limit int, out []transcript.Message) ([]transcript.Message, error) {
	where, args := s.where()
	if from := after - p.items; from > 0 {
		where += " AND id > ?"
		args = append(args, itemID(s.row, s.genSeq+from))
	}
	query := "SELECT " + messageColumns + " FROM item WHERE " + where + " ORDER BY id"
	if limit > 0 {
		query += " LIMIT ?"
		args = append(args, limit-len(out))
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, err
		}
		m.RolloutID = s.rolloutID
		s.place(&m, p)
		m.Inherited = m.Inherited || s.threadID != threadID
		m.Ref = m.RefIn(s.rolloutID)
		out = append(out, m)
	}
	return out, rows.Err()
}

func scanMessage(rows *sql.Rows) (m transcript.Message, err error) {
	var tsNs, key int64
	var exit sql.NullInt64
	var hash []byte
	err = rows.Scan(&m.ID, &m.Role, &m.Turn, &tsNs, &m.Offset, &m.Size, &m.Ordinal, &m.Inherited, &m.Phase, &exit, &m.Images,
		&m.Tokens, &key, &hash, &m.TurnID, &m.Name, &m.CallID, &m.Args, &m.Text)
	m.Seq = m.ID & (1<<seqBits - 1)
	m.Time = at(tsNs)
	m.ExitCode, m.HasExit = int(exit.Int64), exit.Valid
	m.Key = uint64(key)
	m.Hash = hex.EncodeToString(hash)
	return m, unscanned(err)
}

// ChangedError means that the text in the cache is not the one that its hash
// was made of.
type ChangedError struct{ Ref string }

// Error says what to do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the text behind %s no longer has the hash it was stored with; run: session-migrator rebuild", e.Ref)
}

// Original gives the items that om_<id8>.<seq> names: one, or more if several
// rollouts end in the same eight characters. Each is proved by its hash.
// Rewritten-away and rolled-back items are found too. With a workspace, only
// items of threads in it. ErrNotFound, *ChangedError.
func (db *DB) Original(ctx context.Context, id8 string, seq int64, workspace string) ([]transcript.Message, error) {
	rows, err := db.read.QueryContext(ctx, `SELECT r.id, r.rollout_id, r.thread_id, r.gen_seq FROM rollout r JOIN thread t ON t.thread_id=r.thread_id
		WHERE substr(r.rollout_id, -8)=? AND (?2='' OR t.workspace=?2)`, id8, workspace)
	if err != nil {
		return nil, db.wrap("find an original", err)
	}
	defer rows.Close()
	type found struct {
		row, genSeq int64
		id, thread  string
	}
	var all []found
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.row, &f.id, &f.thread, &f.genSeq); err != nil {
			return nil, db.wrap("find an original", err)
		}
		all = append(all, f)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, db.wrap("find an original", err)
	}
	var out []transcript.Message
	for _, f := range all {
		m, err := db.item(ctx, itemID(f.row, seq))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.RolloutID, m.Ref = f.id, m.RefIn(f.id)
		here := m // where its file says the same now
		if seq <= f.genSeq {
			if here, err = db.saidAgain(ctx, f.row, f.genSeq, &m); err != nil {
				return nil, err
			}
		}
		if m.Gone = here.Seq == 0; !m.Gone {
			if err := db.locate(ctx, f.thread, f.row, &here); err != nil {
				return nil, err
			}
			m.Position, m.ThreadTurn = here.Position, here.ThreadTurn
		}
		if m.BodyHash().String() != m.Hash {
			return nil, &ChangedError{Ref: m.Ref}
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("original om_%s.%d: %w", id8, seq, ErrNotFound)
	}
	return out, nil
}

// saidAgain finds an item of an earlier generation in the current one: a file
// is often rewritten with most of what it held. The zero Message if it isn't
// there.
func (db *DB) saidAgain(ctx context.Context, row, genSeq int64, m *transcript.Message) (transcript.Message, error) {
	hash, err := hex.DecodeString(m.Hash)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("bug: hash %q", m.Hash)
	}
	var id int64
	err = db.read.QueryRowContext(ctx, "SELECT id FROM item WHERE id BETWEEN ? AND ? AND role=? AND hash=? AND dead_off IS NULL ORDER BY id LIMIT 1",
		itemID(row, genSeq+1), itemID(row, 1<<seqBits-1), m.Role, hash).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return transcript.Message{}, nil
	}
	if err != nil {
		return transcript.Message{}, db.wrap("find an item again", err)
	}
	return db.item(ctx, id)
}

// locate says where in its thread an item stands.
func (db *DB) locate(ctx context.Context, threadID string, row int64, m *transcript.Message) error {
	segs, err := threadChain(ctx, db.read, threadID)
	if err != nil {
		return db.wrap("place an item", err)
	}
	ps, err := places(ctx, db.read, segs)
	if err != nil {
		return db.wrap("place an item", err)
	}
	for i := range segs {
		if segs[i].row == row {
			segs[i].place(m, ps[i])
		}
	}
	return nil
}

// place numbers a message through the thread.
func (s *segment) place(m *transcript.Message, p place) {
	m.Position = p.items + m.Seq - s.genSeq
	if m.Turn > 0 {
		m.ThreadTurn = int(p.turns) + m.Turn
	}
}

func (db *DB) item(ctx context.Context, id int64) (transcript.Message, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT "+messageColumns+" FROM item WHERE id=?", id)
	if err != nil {
		return transcript.Message{}, db.wrap("read an item", err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return transcript.Message{}, db.wrap("read an item", err)
		}
		return transcript.Message{}, ErrNotFound
	}
	m, err := scanMessage(rows)
	return m, db.wrap("read an item", err)
}

// Ancestor is what is needed to recognise a copied item.
type Ancestor struct {
	Key  uint64
	Role transcript.Role
	Dead bool
}

// Lineage gives the items of a thread's first file in file order, rolled-back
// ones included, for the recognition of copies, and the file as last looked at
// (its Size is negative until it was read to its end). ErrNotFound if the
// thread isn't here.
func (db *DB) Lineage(ctx context.Context, threadID string) ([]Ancestor, Checkpoint, error) {
	var f Checkpoint
	var row, genSeq, lastSeq int64
	err := db.read.QueryRowContext(ctx, "SELECT id, gen_seq, last_seq, path, form, size, state FROM rollout WHERE thread_id=? AND off>0 ORDER BY stamp, rollout_id LIMIT 1", threadID).
		Scan(&row, &genSeq, &lastSeq, &f.Path, &f.Form, &f.Size, &f.State)
	if err != nil {
		return nil, f, db.wrap("read a lineage", err)
	}
	rows, err := db.read.QueryContext(ctx, "SELECT key, role, dead_off IS NOT NULL FROM item WHERE id BETWEEN ? AND ? ORDER BY id",
		itemID(row, genSeq+1), itemID(row, lastSeq))
	if err != nil {
		return nil, f, db.wrap("read a lineage", err)
	}
	defer rows.Close()
	var out []Ancestor
	for rows.Next() {
		var a Ancestor
		var key int64
		if err := rows.Scan(&key, &a.Role, &a.Dead); err != nil {
			return nil, f, db.wrap("read a lineage", err)
		}
		a.Key = uint64(key)
		out = append(out, a)
	}
	return out, f, db.wrap("read a lineage", rows.Err())
}

// Rewritten gives items that the thread's files once held and no longer do,
// because their agent rewrote them: oldest first, each once. What was written
// anew word for word isn't among them.
func (db *DB) Rewritten(ctx context.Context, threadID string) ([]transcript.Message, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT id, rollout_id, gen_seq FROM rollout WHERE thread_id=? AND gen_seq>0 ORDER BY stamp, rollout_id", threadID)
	if err != nil {
		return nil, db.wrap("read rewritten items", err)
	}
	defer rows.Close()
	var segs []segment
	for rows.Next() {
		var s segment
		if err := rows.Scan(&s.row, &s.rolloutID, &s.lastSeq); err != nil {
			return nil, db.wrap("read rewritten items", err)
		}
		s.threadID = threadID
		segs = append(segs, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, db.wrap("read rewritten items", err)
	}
	var out []transcript.Message
	for i := range segs {
		if out, err = db.rewritten(ctx, &segs[i], out); err != nil {
			return nil, db.wrap("read rewritten items", err)
		}
	}
	return out, nil
}

// said is the n-th time that something is said in a generation.
type said struct {
	role transcript.Role
	hash string
	n    int
}

// rewritten adds the items of s, which ends where the current generation
// begins, that are neither in that nor in an earlier one that was added.
func (db *DB) rewritten(ctx context.Context, s *segment, out []transcript.Message) ([]transcript.Message, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT role, hash FROM item WHERE id BETWEEN ? AND ? AND dead_off IS NULL", itemID(s.row, s.lastSeq+1), itemID(s.row, 1<<seqBits-1))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	told, times := map[said]bool{}, map[said]int{}
	count := func(k said) said {
		times[k]++
		k.n = times[k]
		return k
	}
	for rows.Next() {
		var k said
		var hash []byte
		if err := rows.Scan(&k.role, &hash); err != nil {
			return nil, err
		}
		k.hash = hex.EncodeToString(hash)
		told[count(k)] = true
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	old, err := s.messages(ctx, db.read, s.threadID, place{}, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	gens, err := db.generations(ctx, s)
	if err != nil {
		return nil, err
	}
	gen := 0
	for i := range old {
		m := &old[i]
		if g := gens[m.Seq]; g != gen {
			gen = g
			clear(times)
		}
		if k := count(said{role: m.Role, hash: m.Hash}); !told[k] {
			told[k] = true
			m.Gone = true
			out = append(out, *m)
		}
	}
	return out, nil
}

// generations gives the generation of each item of s.
func (db *DB) generations(ctx context.Context, s *segment) (map[int64]int, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT id, gen FROM item WHERE id BETWEEN ? AND ?", itemID(s.row, s.genSeq+1), itemID(s.row, s.lastSeq))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]int{}
	for rows.Next() {
		var id int64
		var gen int
		if err := rows.Scan(&id, &gen); err != nil {
			return nil, err
		}
		out[id&(1<<seqBits-1)] = gen
	}
	return out, rows.Err()
}
