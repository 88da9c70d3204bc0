package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Scope says where a search may look; each field narrows it. The zero value is
// everywhere. What a thread inherits from another's file is within its scope,
// up to where it begins itself.
type Scope struct {
	Within    string    // workspace key
	Workspace string    // workspace key
	Named     []string  // workspaces: a key, or the last folders of one
	Threads   []string  // ids
	Models    []string  // parts of a model's name
	Rollouts  []int64   // rows
	Since     time.Time // of an item
	Roles     []transcript.Role
	Tools     []string // names of tools: their calls and results
}

// Figure is what ranks an item: all but its text.
type Figure struct {
	ID        int64
	Thread    string // id of the thread it is found for
	Role      transcript.Role
	Phase     transcript.Phase
	Time      time.Time
	Hash      string
	Tokens    int // o200k_base, of the body
	Inherited bool
	Dead      bool // rolled back
	Rewritten bool // of an earlier generation of its file
	Aside     bool // not in the file that its thread goes on in
}

// Stretch is a run of items of one rollout: those behind After up to Last.
type Stretch struct {
	Row, After, Last int64
	Newest           time.Time // when its thread was written to last; zero: not known
}

// lookBack is how many items a tool's result stands behind its call at most,
// to be found by the tool's name.
const lookBack = 64

// threads gives the conditions on a thread t and its rollout r.
func (sc *Scope) threads() (string, []any) {
	cond, args := []string{"1"}, []any(nil)
	add := func(c string, a ...any) { cond, args = append(cond, c), append(args, a...) }
	for _, key := range []string{sc.Within, sc.Workspace} {
		if key != "" {
			add("t.workspace=?", key)
		}
	}
	if len(sc.Threads) > 0 {
		add("t.thread_id IN (SELECT value FROM json_each(?))", asJSON(sc.Threads))
	}
	if len(sc.Rollouts) > 0 {
		add("r.id IN (SELECT value FROM json_each(?))", asJSON(sc.Rollouts))
	}
	if !sc.Since.IsZero() {
		add("t.updated_ns>=?", sc.Since.UnixNano())
	}
	any := func(c string, values []string, arg func(string) string) {
		var or []string
		for _, v := range values {
			or = append(or, c)
			args = append(args, arg(v))
		}
		if len(or) > 0 {
			cond = append(cond, "("+strings.Join(or, " OR ")+")")
		}
	}
	any(`'/'||lower(t.workspace) LIKE ? ESCAPE '\'`, sc.Named, func(v string) string {
		v = strings.ToLower(strings.Trim(strings.ReplaceAll(transcript.WorkspaceKey(v), `\`, "/"), "/"))
		return "%/" + escapeLike(v)
	})
	any(`json_extract(t.body, '$.Model') LIKE ? ESCAPE '\'`, sc.Models, func(v string) string { return "%" + escapeLike(v) + "%" })
	return strings.Join(cond, " AND "), args
}

// items gives the conditions on an item i.
func (sc *Scope) items() (string, []any) {
	cond, args := []string{"1"}, []any(nil)
	if !sc.Since.IsZero() {
		cond, args = append(cond, "i.ts_ns>=?"), append(args, sc.Since.UnixNano())
	}
	if len(sc.Roles) > 0 {
		var in []string
		for _, r := range sc.Roles {
			in = append(in, fmt.Sprint(uint8(r)))
		}
		cond = append(cond, "i.role IN ("+strings.Join(in, ",")+")")
	}
	if len(sc.Tools) > 0 {
		cond = append(cond, `(i.name COLLATE NOCASE IN (SELECT value FROM json_each(?)) OR i.role=? AND i.call_id<>'' AND EXISTS
			(SELECT 1 FROM item c WHERE c.id BETWEEN i.id-? AND i.id-1 AND c.id>>32=i.id>>32 AND c.call_id=i.call_id AND c.name COLLATE NOCASE IN (SELECT value FROM json_each(?))))`)
		args = append(args, asJSON(sc.Tools), transcript.RoleToolResult, lookBack, asJSON(sc.Tools))
	}
	return strings.Join(cond, " AND "), args
}

// asJSON writes a list for json_each. It has no values that can't be written.
func asJSON(list any) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return string(b)
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s)
}

// borrowed is a part of another thread's rollout that threads in a scope begin
// with.
type borrowed struct {
	Row    int64  `json:"r"`
	Offset int64  `json:"o"`
	Ord    int64  `json:"n"`
	Thread string `json:"t"`
	last   int64  // number of the rollout's last item
}

// borrows gives what threads within the scope inherit from files of others.
func (db *DB) borrows(ctx context.Context, q queryer, sc *Scope) ([]borrowed, error) {
	own := *sc
	own.Rollouts = nil
	cond, args := own.threads()
	if cond == "1" {
		return nil, nil
	}
	rows, err := q.QueryContext(ctx, `WITH RECURSIVE up(row, thread, base, off, ord, cut_off, cut_ord, depth) AS (
			SELECT r.id, t.thread_id, r.base_rollout, r.base_offset, r.base_ordinal, 0, 0, 0
				FROM rollout r CROSS JOIN thread t ON t.thread_id=r.thread_id WHERE r.base_rollout<>'' AND r.id=t.head AND `+cond+`
			UNION ALL SELECT r.id, up.thread, r.base_rollout, r.base_offset, r.base_ordinal, up.off, up.ord, depth+1
				FROM up CROSS JOIN rollout r ON r.rollout_id=up.base WHERE up.base<>'' AND depth<?)
		SELECT up.row, up.thread, up.cut_off, up.cut_ord, r.last_seq FROM up CROSS JOIN rollout r ON r.id=up.row
			WHERE depth>0 AND r.thread_id<>up.thread ORDER BY up.row, up.cut_off DESC, up.cut_ord DESC`, append(args, maxBases)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []borrowed
	for rows.Next() {
		var b borrowed
		if err := rows.Scan(&b.Row, &b.Thread, &b.Offset, &b.Ord, &b.last); err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].Row != b.Row {
			out = append(out, b) // the longest of them
		}
	}
	if len(sc.Rollouts) > 0 {
		out = only(out, sc.Rollouts)
	}
	return out, rows.Err()
}

func only(list []borrowed, rows []int64) (out []borrowed) {
	in := make(map[int64]bool, len(rows))
	for _, r := range rows {
		in[r] = true
	}
	for _, b := range list {
		if in[b.Row] {
			out = append(out, b)
		}
	}
	return out
}

// beforeCut is the condition that an item i stands before the cut of c, a row
// of json_each over borrowed parts.
const beforeCut = `(c.value->>'o'>0 AND i.off<c.value->>'o' OR c.value->>'o'=0 AND i.ordinal<c.value->>'n')`

// Figures gives the figures of those of ids that are within the scope, in no
// order. What of them isn't in the cache is passed over.
func (db *DB) Figures(ctx context.Context, sc Scope, ids []int64) ([]Figure, error) {
	cond, args := sc.threads()
	of, more := sc.items()
	const columns = "SELECT i.id, i.role, i.phase, i.ts_ns, i.hash, i.tok_o200k, i.inherited, "
	out, err := db.figures(ctx, nil, columns+`t.thread_id, i.dead_off IS NOT NULL, (i.id & 0xffffffff)<=r.gen_seq, r.id<>t.head
		FROM json_each(?) j CROSS JOIN item i ON i.id=j.value CROSS JOIN rollout r ON r.id=i.id>>32 CROSS JOIN thread t ON t.thread_id=r.thread_id
		WHERE `+cond+" AND "+of, join([]any{asJSON(ids)}, args, more)...)
	if err != nil {
		return nil, db.wrap("look up items", err)
	}
	parts, err := db.borrows(ctx, db.read, &sc)
	if err != nil || len(parts) == 0 {
		return out, db.wrap("look up items", err)
	}
	known := make(map[int64]bool, len(out))
	for i := range out {
		known[out[i].ID] = true
	}
	lent, err := db.figures(ctx, nil, columns+`c.value->>'t', i.dead_off IS NOT NULL AND CASE WHEN c.value->>'o'>0 THEN i.dead_off<c.value->>'o' ELSE i.dead_ord<c.value->>'n' END, 0, 0
		FROM json_each(?) c CROSS JOIN json_each(?) j ON j.value>>32=c.value->>'r' CROSS JOIN item i ON i.id=j.value
		WHERE `+beforeCut+" AND "+of, join([]any{asJSON(parts), asJSON(ids)}, more)...)
	if err != nil {
		return nil, db.wrap("look up items", err)
	}
	for _, f := range lent {
		if !known[f.ID] {
			out = append(out, f)
		}
	}
	return out, nil
}

func join(lists ...[]any) (out []any) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func (db *DB) figures(ctx context.Context, out []Figure, query string, args ...any) ([]Figure, error) {
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f Figure
		var tsNs int64
		var hash sql.RawBytes
		if err := rows.Scan(&f.ID, &f.Role, &f.Phase, &tsNs, &hash, &f.Tokens, &f.Inherited, &f.Thread, &f.Dead, &f.Rewritten, &f.Aside); err != nil {
			return nil, unscanned(err)
		}
		f.Time, f.Hash = at(tsNs), hex.EncodeToString(hash)
		out = append(out, f)
	}
	return out, rows.Err()
}

// within is a condition on item.id: those of a JSON list that are in the scope.
func (db *DB) within(ctx context.Context, sc *Scope, list string) (string, []any, error) {
	cond, args := sc.threads()
	of, more := sc.items()
	query := `id IN (SELECT i.id FROM json_each(?) j CROSS JOIN item i ON i.id=j.value CROSS JOIN rollout r ON r.id=i.id>>32
		CROSS JOIN thread t ON t.thread_id=r.thread_id WHERE ` + cond + " AND " + of
	all := join([]any{list}, args, more)
	parts, err := db.borrows(ctx, db.read, sc)
	if err != nil {
		return "", nil, err
	}
	if len(parts) > 0 {
		query += ` UNION SELECT i.id FROM json_each(?) c CROSS JOIN json_each(?) j ON j.value>>32=c.value->>'r' CROSS JOIN item i ON i.id=j.value
			WHERE ` + beforeCut + " AND " + of
		all = join(all, []any{asJSON(parts), list}, more)
	}
	return query + ")", all, nil
}

// ItemsWithin gives those of ids that are within the scope, whole, in the order of
// ids. They have no place in a thread: see Place.
func (db *DB) ItemsWithin(ctx context.Context, sc Scope, ids []int64) ([]transcript.Message, error) {
	where, args, err := db.within(ctx, &sc, asJSON(ids))
	if err != nil {
		return nil, db.wrap("read items", err)
	}
	rows, err := db.read.QueryContext(ctx, "SELECT "+messageColumns+" FROM item WHERE "+where, args...) //nolint:gosec // conditions of ours
	if err != nil {
		return nil, db.wrap("read items", err)
	}
	defer rows.Close()
	found := map[int64]transcript.Message{}
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, db.wrap("read items", err)
		}
		found[m.ID] = m
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, db.wrap("read items", err)
	}
	out := make([]transcript.Message, 0, len(found))
	for _, id := range ids {
		if m, ok := found[id]; ok {
			delete(found, id)
			out = append(out, m)
		}
	}
	return out, nil
}

// Place says of an item where it is written and where it stands in a thread; not
// ok if the thread goes on without it. Whether it was rolled back is another
// question: see Figure. ErrNotFound if either is gone.
func (db *DB) Place(ctx context.Context, threadID string, m *transcript.Message) (ok bool, err error) {
	segs, err := threadSegments(ctx, db.read, threadID)
	if err != nil {
		return false, db.wrap("place an item", err)
	}
	row := m.ID >> seqBits
	k := slices.IndexFunc(segs, func(s segment) bool { return s.row == row })
	if k < 0 {
		if err := db.read.QueryRowContext(ctx, "SELECT rollout_id FROM rollout WHERE id=?", row).Scan(&m.RolloutID); err != nil {
			return false, db.wrap("place an item", err)
		}
		m.Ref = m.RefIn(m.RolloutID)
		return false, nil
	}
	s := &segs[k]
	m.RolloutID, m.Ref = s.rolloutID, m.RefIn(s.rolloutID)
	if m.Seq <= s.genSeq {
		return false, nil
	}
	ps, err := places(ctx, db.read, segs)
	if err != nil {
		return false, db.wrap("place an item", err)
	}
	s.place(m, ps[k])
	m.Inherited = m.Inherited || s.threadID != threadID
	return s.cut == nil || s.cut.Offset > 0 && m.Offset < s.cut.Offset || s.cut.Offset == 0 && m.Ordinal < s.cut.Ordinal, nil
}

// Host gives the thread that an item was found in, without the figures of its
// sub-agents. ErrNotFound if it isn't here.
func (db *DB) Host(ctx context.Context, id string) (transcript.Thread, error) {
	var body string
	if err := db.read.QueryRowContext(ctx, "SELECT body FROM thread WHERE thread_id=?", id).Scan(&body); err != nil {
		return transcript.Thread{}, db.wrap("read thread "+id, err)
	}
	return readThread(body)
}

// Rollouts gives the rollouts that a search in the scope looks into, each as the
// stretch of all its items, those of the newest threads first; at most limit.
func (db *DB) Rollouts(ctx context.Context, sc Scope, limit int) ([]Stretch, error) {
	cond, args := sc.threads()
	query := "SELECT r.id, r.last_seq, t.updated_ns FROM thread t CROSS JOIN rollout r ON r.thread_id=t.thread_id WHERE " + cond + " ORDER BY t.updated_ns DESC, r.id DESC LIMIT ?" //nolint:gosec // conditions of ours
	rows, err := db.read.QueryContext(ctx, query, append(args, limit)...)
	if err != nil {
		return nil, db.wrap("list rollouts", err)
	}
	defer rows.Close()
	var out []Stretch
	for rows.Next() {
		var s Stretch
		var ns int64
		if err := rows.Scan(&s.Row, &s.Last, &ns); err != nil {
			return nil, db.wrap("list rollouts", err)
		}
		s.Newest = at(ns)
		out = append(out, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, db.wrap("list rollouts", err)
	}
	parts, err := db.borrows(ctx, db.read, &sc)
	if err != nil {
		return nil, db.wrap("list rollouts", err)
	}
	known := make(map[int64]bool, len(out))
	for _, s := range out {
		known[s.Row] = true
	}
	for _, b := range parts {
		if !known[b.Row] && len(out) < limit {
			out = append(out, Stretch{Row: b.Row, Last: b.last})
		}
	}
	return out, nil
}

// Latest gives the ids of the newest items of a stretch, newest first, at most
// limit. Only what the scope says of items holds of them: what it says of threads
// is for Figures to tell.
func (db *DB) Latest(ctx context.Context, sc Scope, s Stretch, limit int) ([]int64, error) {
	of, args := sc.items()
	query := "SELECT i.id FROM item i WHERE i.id BETWEEN ? AND ? AND " + of + " ORDER BY i.id DESC LIMIT ?" //nolint:gosec // conditions of ours
	rows, err := db.read.QueryContext(ctx, query, join([]any{itemID(s.Row, s.After+1), itemID(s.Row, s.Last)}, args, []any{limit})...)
	if err != nil {
		return nil, db.wrap("read recent items", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, db.wrap("read recent items", err)
		}
		ids = append(ids, id)
	}
	return ids, db.wrap("read recent items", rows.Err())
}

// Recent gives the newest items of a stretch within the scope, newest first: at
// most limit.
func (db *DB) Recent(ctx context.Context, sc Scope, s Stretch, limit int) ([]transcript.Message, error) {
	ids, err := db.Latest(ctx, sc, s, limit)
	if err != nil {
		return nil, err
	}
	return db.ItemsWithin(ctx, sc, ids)
}
