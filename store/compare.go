package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Compare derives a rollout again beside its rows and says what differs; nil if
// nothing does. derive gets what is stored and hands over, in the order of the
// file, what its lines before the cursor say; the last batch has the state
// behind them. Nothing is written, and writing goes on meanwhile: what is
// compared is the state when Compare began. What earlier generations held isn't
// derived; its texts are compared with their hashes.
func (db *DB) Compare(ctx context.Context, rolloutID string, derive func(Checkpoint, func(*Batch) error) error) (differs []string, err error) {
	own, err := connect(db.path, readerQuery(writerBusy), 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	tx, err := own.sql.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, db.wrap("compare", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	m := &comparison{ctx: ctx, tx: tx, dead: map[int64]transcript.Dead{}, turns: map[int]transcript.Turn{}, unknown: map[transcript.Unknown]seen{}}
	if err := m.load(rolloutID); err != nil {
		return nil, db.wrap("compare rollout "+rolloutID, err)
	}
	if err := m.open(); err != nil {
		return nil, db.wrap("compare rollout "+rolloutID, err)
	}
	defer m.rows.Close()
	err = derive(m.cp, m.add)
	if err == nil {
		err = m.end()
	}
	switch {
	case err == nil, errors.Is(err, errDiffers):
		return m.differs, nil
	case errors.Is(err, ErrChanged):
		return append(m.differs, err.Error()), nil
	}
	return nil, db.wrap("compare rollout "+rolloutID, err)
}

// maxDiffers bounds how many differences are named.
const maxDiffers = 20

type comparison struct {
	ctx     context.Context
	tx      *sql.Tx
	cp      Checkpoint
	facts   string
	own     string // the rollout's sums, as they stand
	base    transcript.Base
	rows    *sql.Rows // stored items, oldest first
	differs []string

	seq     int64 // of the newest derived item, within the generation
	counted []counted
	deadNow map[int64][2]int64 // stored: offset and ordinal by number within the generation
	dead    map[int64]transcript.Dead
	turns   map[int]transcript.Turn
	damage  []transcript.Damage
	unknown map[transcript.Unknown]seen // Count and Line left out
	last    Batch
}

// seen is how often lines of an unknown kind came, and where first.
type seen struct {
	count int
	line  int64
}

// note adds lines of an unknown kind.
func note(all map[transcript.Unknown]seen, u transcript.Unknown) {
	kind := transcript.Unknown{Kind: u.Kind, Name: u.Name, Version: u.Version}
	s, ok := all[kind]
	if !ok {
		s.line = u.Line
	}
	s.count += u.Count
	all[kind] = s
}

// counted is what an item adds to the sums.
type counted struct {
	seq  int64
	role transcript.Role
	turn int
	n    ItemCount // without its hash
}

func (m *comparison) differ(format string, args ...any) {
	if len(m.differs) < maxDiffers {
		m.differs = append(m.differs, fmt.Sprintf(format, args...))
	}
}

func (m *comparison) load(rolloutID string) error {
	rows, err := m.tx.QueryContext(m.ctx, "SELECT "+checkpointColumns+", facts, sums, base_rollout, base_ordinal, base_offset FROM rollout WHERE rollout_id=?", rolloutID)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return noRow(rows)
	}
	if m.cp, err = scanCheckpoint(rows, &m.facts, &m.own, &m.base.RolloutID, &m.base.Ordinal, &m.base.Offset); err != nil {
		return err
	}
	if m.cp.Broken = broken(&m.cp, m.facts, m.own); m.cp.Broken {
		m.differ("the row of the rollout")
	}
	return rows.Err()
}

// open stands before the first item.
func (m *comparison) open() (err error) {
	m.deadNow = map[int64][2]int64{}
	//nolint:rowserrcheck // next does
	m.rows, err = m.tx.QueryContext(m.ctx, "SELECT "+rescueColumns+" FROM item WHERE id BETWEEN ? AND ? ORDER BY id", itemID(m.cp.Row, 0), itemID(m.cp.Row, 1<<seqBits-1))
	return err
}

// next gives the next stored item of the generation, and its number.
func (m *comparison) next() (it transcript.Item, n ItemCount, gen int, seq int64, ok bool, err error) {
	for m.rows.Next() {
		var id, key, ts int64
		var exit, deadOff, deadOrd sql.NullInt64
		var hash []byte
		if err := m.rows.Scan(&id, &gen, &it.Role, &it.Turn, &ts, &it.Offset, &it.Size, &it.Ordinal, &it.Inherited, &deadOff, &deadOrd, &it.Phase, &exit, &it.Images,
			&n.O200k, &n.Cl100k, &n.Shrunk, &key, &hash, &it.TurnID, &it.Name, &it.CallID, &it.Args, &it.Text); err != nil {
			return it, n, 0, 0, false, unscanned(err)
		}
		copy(n.Hash[:], hash)
		if seq = id - itemID(m.cp.Row, m.cp.GenerationSeq); seq <= 0 {
			continue // Recount's
		}
		it.Key, it.Time, it.ExitCode, it.HasExit = uint64(key), at(ts), int(exit.Int64), exit.Valid
		if deadOff.Valid || deadOrd.Valid {
			m.deadNow[seq] = [2]int64{deadOff.Int64, deadOrd.Int64}
		}
		return it, n, gen, seq, true, nil
	}
	return it, n, 0, 0, false, m.rows.Err()
}

// add compares the items of a batch and notes the rest for the end.
func (m *comparison) add(b *Batch) error {
	if len(b.Counts) != len(b.Delta.Items) {
		return fmt.Errorf("bug: %d counts for %d items", len(b.Counts), len(b.Delta.Items))
	}
	for i := range b.Delta.Items {
		want, n := b.Delta.Items[i], b.Counts[i]
		got, stored, gen, seq, ok, err := m.next()
		if err != nil {
			return err
		}
		m.seq = want.Seq
		m.counted = append(m.counted, counted{want.Seq, want.Role, want.Turn, ItemCount{O200k: n.O200k, Cl100k: n.Cl100k, Shrunk: n.Shrunk}})
		want.Time = at(ns(want.Time))
		got.Seq = seq
		if !want.HasExit {
			want.ExitCode = 0
		}
		if !ok || seq != want.Seq {
			m.differ("item %d is missing", want.Seq)
			return errDiffers
		}
		if gen != m.cp.Generation || stored != n || got != want {
			m.differ("item %d", want.Seq)
		}
	}
	for _, d := range b.Delta.Dead {
		for seq := d.From; seq <= d.To; seq++ {
			if _, ok := m.dead[seq]; !ok && seq <= m.seq {
				m.dead[seq] = d
			}
		}
	}
	for _, t := range b.Delta.Turns {
		m.turns[t.Number] = t
	}
	m.damage = append(m.damage, b.Delta.Damage...)
	for _, u := range b.Delta.Unknown {
		note(m.unknown, u)
	}
	m.last = *b
	return nil
}

// errDiffers ends a comparison early: what comes would differ in all.
var errDiffers = errors.New("differs")

func (m *comparison) end() error {
	switch _, _, _, seq, ok, err := m.next(); {
	case err != nil:
		return err
	case ok:
		m.differ("item %d is too much", seq)
	}
	if err := m.rows.Close(); err != nil {
		return err
	}
	dead := map[int64][2]int64{}
	for seq, d := range m.dead {
		dead[seq] = [2]int64{d.Offset, d.Ordinal}
	}
	if !equalMaps(dead, m.deadNow) {
		m.differ("what was rolled back")
	}
	return errors.Join(m.row(), m.compareTurns(), m.compareOddities())
}

func equalMaps[K, V comparable](a, b map[K]V) bool {
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return len(a) == len(b)
}

// row compares what stands in the rollout's row.
func (m *comparison) row() error {
	facts, err := json.Marshal(m.last.Facts)
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	if string(facts) != m.facts {
		m.differ("the facts of the rollout")
	}
	want := sums{Damaged: len(m.damage), Items: m.seq}
	for _, c := range m.counted {
		if _, ok := m.dead[c.seq]; !ok {
			want.count(c.role, c.n, 1)
			want.Turns = max(want.Turns, c.turn)
		}
	}
	want.Seal, want.Parsed = seal(&m.cp, m.facts, want), sealParser(&m.cp)
	own, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("write sums: %w", err)
	}
	if string(own) != m.own {
		m.differ("the sums of the rollout")
	}
	var base transcript.Base
	if m.last.Facts.Base != nil {
		base = *m.last.Facts.Base
	}
	if base != m.base || m.cp.ThreadID != m.last.Facts.ThreadID {
		m.differ("what the rollout belongs to")
	}
	if m.cp.AwaitsParent != m.last.AwaitsParent || !bytes.Equal(m.cp.Parser, m.last.Parser) {
		m.differ("the state of reading")
	}
	if m.cp.LastSeq != m.cp.GenerationSeq+m.seq {
		m.differ("the number of items")
	}
	c, d := m.cp.Cursor, m.last.Cursor
	if c.Offset != d.Offset || c.Line != d.Line || c.HeadLen != d.HeadLen || c.TailLen != d.TailLen || !bytes.Equal(c.Head, d.Head) || !bytes.Equal(c.Tail, d.Tail) {
		m.differ("the cursor")
	}
	if m.cp.Pending != m.last.Pending {
		m.differ("the length of an unfinished line")
	}
	return nil
}

func (m *comparison) compareTurns() error {
	s := segment{row: m.cp.Row}
	got, err := s.turnsUpTo(m.ctx, m.tx, 1<<31, 0, nil)
	if err != nil {
		return err
	}
	stored := map[int]transcript.Turn{}
	for _, t := range got {
		stored[t.Number] = t
	}
	for n, t := range m.turns {
		t.Started, t.Ended = at(ns(t.Started)), at(ns(t.Ended))
		if stored[n] != t {
			m.differ("turn %d", n)
		}
	}
	if len(stored) != len(m.turns) {
		m.differ("the number of turns")
	}
	return nil
}

func (m *comparison) compareOddities() error {
	var p Problem
	if err := oddities(m.ctx, m.tx, m.cp.Row, &p); err != nil {
		return err
	}
	want, got := map[[2]int64]transcript.Damage{}, map[[2]int64]transcript.Damage{}
	for _, d := range m.damage[:min(len(m.damage), maxDamageRows)] {
		want[[2]int64{d.Line, d.Offset}] = d
	}
	for _, d := range p.Damage {
		got[[2]int64{d.Line, d.Offset}] = d
	}
	if !equalMaps(want, got) {
		m.differ("the damaged lines")
	}
	stored := map[transcript.Unknown]seen{}
	for _, u := range p.Unknown {
		note(stored, u)
	}
	if !equalMaps(m.unknown, stored) {
		m.differ("the lines of unknown kinds")
	}
	return nil
}
