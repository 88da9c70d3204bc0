package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Thread gives one thread by its full id; ErrNotFound if it isn't here.
func (db *DB) Thread(ctx context.Context, id string) (transcript.Thread, error) {
	var body string
	if err := db.read.QueryRowContext(ctx, "SELECT body FROM thread WHERE thread_id=?", id).Scan(&body); err != nil {
		return transcript.Thread{}, db.wrap("read thread "+id, err)
	}
	t, err := readThread(body)
	if err != nil {
		return t, err
	}
	return t, db.withSubagents(ctx, &t)
}

func readThread(body string) (t transcript.Thread, err error) {
	if err := json.Unmarshal([]byte(body), &t); err != nil {
		return t, fmt.Errorf("read thread: %w: %w", ErrChanged, err)
	}
	return t, nil
}

// A partial index is used only where the query names its condition, and a loop
// through it stays one only with CROSS JOIN, which SQLite does not turn round.
const subagentsQuery = `WITH RECURSIVE down(id, depth) AS (
		SELECT thread_id, 1 FROM thread WHERE parent=?1 AND parent<>'' AND subagent=1 UNION
		SELECT t.thread_id, depth+1 FROM down CROSS JOIN thread t ON t.parent=down.id WHERE t.parent<>'' AND t.subagent=1 AND depth<64)
	SELECT body FROM thread WHERE thread_id IN (SELECT id FROM down) AND thread_id<>?1`

// withSubagents adds up what the threads spent that t spawned, at any depth.
func (db *DB) withSubagents(ctx context.Context, t *transcript.Thread) error {
	rows, err := db.read.QueryContext(ctx, subagentsQuery, t.ID)
	if err != nil {
		return db.wrap("read sub-agents", err)
	}
	defer rows.Close()
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return db.wrap("read sub-agents", err)
		}
		c, err := readThread(body)
		if err != nil {
			return err
		}
		t.Subagents++
		t.SubagentUsage = t.SubagentUsage.Plus(c.OwnUsage)
	}
	return db.wrap("read sub-agents", rows.Err())
}

// Filter selects threads. The zero value selects all that a person started.
type Filter struct {
	Workspace string // key; empty: all
	Since     time.Time
	Before    int64 // updated before this instant in ns: the next page; 0: newest
	Limit     int   // 0: no limit
	Subagents bool  // also those that another thread spawned
	Archived  bool  // also archived ones
	Parent    string
}

func (f Filter) where() (string, []any) {
	var cond []string
	var args []any
	add := func(c string, a ...any) { cond, args = append(cond, c), append(args, a...) }
	if f.Workspace != "" {
		add("workspace=?", f.Workspace)
	}
	if !f.Since.IsZero() {
		add("updated_ns>=?", f.Since.UnixNano())
	}
	if f.Before != 0 {
		add("updated_ns<?", f.Before)
	}
	if !f.Subagents && f.Parent == "" {
		add("subagent=0")
	}
	if !f.Archived {
		add("archived=0")
	}
	if f.Parent != "" {
		add("parent=?", f.Parent)
	}
	if len(cond) == 0 {
		return "1", nil
	}
	return strings.Join(cond, " AND "), args
}

// Threads lists threads, newest first, and says how many there are without
// the limit and the page.
func (db *DB) Threads(ctx context.Context, f Filter) (list []transcript.Thread, total int, err error) {
	whole := f
	whole.Before = 0
	where, args := whole.where()
	if err := db.read.QueryRowContext(ctx, "SELECT count(*) FROM thread WHERE "+where, args...).Scan(&total); err != nil {
		return nil, 0, db.wrap("count threads", err)
	}
	where, args = f.where()
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	//nolint:gosec // conditions of ours
	rows, err := db.read.QueryContext(ctx, `SELECT body, (SELECT count(*) FROM thread c WHERE c.parent=thread.thread_id AND c.parent<>'' AND c.subagent=1)
		FROM thread WHERE `+where+" ORDER BY updated_ns DESC, thread_id DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, 0, db.wrap("list threads", err)
	}
	defer rows.Close()
	for rows.Next() {
		var body string
		var subs int
		if err := rows.Scan(&body, &subs); err != nil {
			return nil, 0, db.wrap("list threads", err)
		}
		t, err := readThread(body)
		if err != nil {
			return nil, 0, err
		}
		t.Subagents = subs
		list = append(list, t)
	}
	return list, total, db.wrap("list threads", rows.Err())
}

// AmbiguousError lists what an abbreviation matches.
type AmbiguousError struct {
	Arg         string
	IDs, Titles []string // side by side
}

// Error names the candidates.
func (e *AmbiguousError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q matches %d sessions", e.Arg, len(e.IDs))
	for i, id := range e.IDs {
		fmt.Fprintf(&b, "\n  %s  %q", id, e.Titles[i])
	}
	return b.String()
}

// minPrefix is how many characters of an id are needed at least.
const minPrefix = 8

// Resolve finds the thread that arg names: its full id, a unique prefix of at
// least 8 characters, its last 8 or more, "latest", or the path of one of its
// rollouts. With a workspace only threads in it are found, and never the one
// named by except. ErrNotFound, *AmbiguousError.
func (db *DB) Resolve(ctx context.Context, arg, workspace, except string) (string, error) {
	const scope = " AND (?2='' OR t.workspace=?2) AND t.thread_id<>?3"
	key := strings.ToLower(arg)
	var query string
	switch {
	case arg == "latest":
		query = "SELECT t.thread_id, t.title FROM thread t WHERE ?1<>'' AND t.subagent=0 AND t.archived=0" + scope + " ORDER BY t.updated_ns DESC, t.thread_id DESC LIMIT 1"
	case strings.ContainsAny(arg, `/\`) || strings.Contains(arg, ".json"):
		key = arg
		query = "SELECT DISTINCT t.thread_id, t.title FROM thread t JOIN rollout r ON r.thread_id=t.thread_id WHERE r.path=?1" + scope
	case len(arg) < minPrefix:
		return "", fmt.Errorf("session %q: %w (give at least %d characters of its id)", arg, ErrNotFound, minPrefix)
	default:
		query = `SELECT t.thread_id, t.title FROM thread t WHERE (t.thread_id BETWEEN ?1 AND ?1||'~'
			OR (substr(t.thread_id,-8)=substr(?1,-8) AND substr(t.thread_id,-length(?1))=?1))` + scope + " ORDER BY t.thread_id LIMIT 20"
	}
	rows, err := db.read.QueryContext(ctx, query, key, workspace, except)
	if err != nil {
		return "", db.wrap("find session "+arg, err)
	}
	defer rows.Close()
	found := &AmbiguousError{Arg: arg}
	for rows.Next() {
		var id, title string
		if err := rows.Scan(&id, &title); err != nil {
			return "", db.wrap("find session "+arg, err)
		}
		if id == key {
			return id, nil
		}
		found.IDs, found.Titles = append(found.IDs, id), append(found.Titles, title)
	}
	if err := rows.Err(); err != nil {
		return "", db.wrap("find session "+arg, err)
	}
	switch len(found.IDs) {
	case 0:
		return "", fmt.Errorf("session %q: %w", arg, ErrNotFound)
	case 1:
		return found.IDs[0], nil
	}
	return "", found
}

// Decisions gives what was decided for a thread: for one target, or for all
// with an empty model. Kept figures are in where a pack was made.
func (db *DB) Decisions(ctx context.Context, threadID, model string) ([]decide.Decision, error) {
	own := "d.overhead, d.vocabulary"
	if has, err := db.hasCounted(ctx); err != nil {
		return nil, err
	} else if !has {
		own = "NULL, ''"
	}
	rows, err := db.read.QueryContext(ctx, `SELECT g.body, d.verdict, d.strategy, d.fit, d.tokens, d.target_tokens, d.budget, d.messages, d.through_seq, d.computed_ns,
			p.tokens, p.kept, p.omitted, `+own+`
		FROM thread t JOIN decision d ON d.thread=t.id JOIN target g ON g.id=d.target
		LEFT JOIN pack p ON p.thread=t.id AND p.budget=d.budget AND p.through_seq=d.through_seq AND p.strategy=CASE d.strategy WHEN 1 THEN 'shrunk' ELSE 'selected' END
		WHERE t.thread_id=?1 AND (?2='' OR g.model=?2) ORDER BY g.id`, threadID, model)
	if err != nil {
		return nil, db.wrap("read decisions", err)
	}
	defer rows.Close()
	var out []decide.Decision
	for rows.Next() {
		var body string
		var d decide.Decision
		var v, s, fit, tokens, target, messages int
		var through, computed int64
		var budget, kept, keptMessages, omitted, overhead sql.NullInt64
		var vocabulary string
		if err := rows.Scan(&body, &v, &s, &fit, &tokens, &target, &budget, &messages, &through, &computed, &kept, &keptMessages, &omitted, &overhead, &vocabulary); err != nil {
			return nil, db.wrap("read decisions", err)
		}
		if err := json.Unmarshal([]byte(body), &d); err != nil {
			return nil, fmt.Errorf("read target: %w", err)
		}
		d.Verdict, d.Strategy, d.Fit = decide.Verdict(v), decide.Strategy(s), decide.Fit(fit)
		d.SessionTokens, d.TargetTokens, d.ThroughSeq, d.ComputedAt = tokens, target, through, at(computed)
		if d.OverheadSource == 0 { // of a program before this one
			d.OverheadSource, d.OverheadAssumed = decide.OverheadAssumed, d.Overhead
		}
		if overhead.Valid {
			d.Stand(int(overhead.Int64), decide.OverheadMeasured)
		}
		if vocabulary != "" {
			d.Rest(decide.Basis{Encoding: vocabulary, Exact: true, Factor: 1, FactorTypical: 1, FactorLow: 1})
		}
		d.Recount()
		if budget.Valid {
			b := int(budget.Int64)
			d.Budget = &b
		} else {
			d.KeptTokens, d.KeptMessages = tokens, messages
		}
		if kept.Valid {
			d.KeptTokens, d.KeptMessages, d.OmittedMessages = int(kept.Int64), int(keptMessages.Int64), int(omitted.Int64)
		}
		out = append(out, d)
	}
	return out, db.wrap("read decisions", rows.Err())
}

// Pack is what a strategy keeps of a thread within a budget, as figures.
type Pack struct {
	Strategy              string
	Budget                int
	ThroughSeq            int64
	Tokens, Kept, Omitted int
}

// SavePacks remembers packs, so that an answer needn't select again.
func (db *DB) SavePacks(ctx context.Context, threadID string, packs []Pack) error {
	return db.write(ctx, "save packs of "+threadID, func(tx *sql.Tx) error {
		for _, p := range packs {
			if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO pack SELECT id, ?,?,?,?,?,? FROM thread WHERE thread_id=?`,
				p.Strategy, p.Budget, p.ThroughSeq, p.Tokens, p.Kept, p.Omitted, threadID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Rev is the thread's number of changes; ErrNotFound if it isn't here.
func (db *DB) Rev(ctx context.Context, threadID string) (rev int64, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT rev FROM thread WHERE thread_id=?", threadID).Scan(&rev)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNotFound
	}
	return rev, db.wrap("read the revision", err)
}

// Turns gives the turns of a thread's current branch, numbered through it.
func (db *DB) Turns(ctx context.Context, threadID string) ([]transcript.Turn, error) {
	segs, err := threadChain(ctx, db.read, threadID)
	if err != nil {
		return nil, db.wrap("read turns", err)
	}
	ps, err := places(ctx, db.read, segs)
	if err != nil {
		return nil, db.wrap("read turns", err)
	}
	var out []transcript.Turn
	for i := range segs {
		last := segs[i].sums.Turns
		if i+1 < len(segs) {
			last = int(ps[i+1].turns - ps[i].turns)
		}
		if out, err = segs[i].turnsUpTo(ctx, db.read, last, int(ps[i].turns), out); err != nil {
			return nil, db.wrap("read turns", err)
		}
	}
	return out, nil
}

func (s *segment) turnsUpTo(ctx context.Context, q queryer, last, before int, out []transcript.Turn) ([]transcript.Turn, error) {
	rows, err := q.QueryContext(ctx, "SELECT number, turn_id, started_ns, ended_ns, state, error FROM turn WHERE rollout=? AND number BETWEEN 1 AND ? ORDER BY number", s.row, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t transcript.Turn
		var started, ended int64
		if err := rows.Scan(&t.Number, &t.ID, &started, &ended, &t.State, &t.Error); err != nil {
			return nil, unscanned(err)
		}
		t.Number += before
		t.Started, t.Ended = at(started), at(ended)
		out = append(out, t)
	}
	return out, rows.Err()
}

// Workspaces gives the folder of the newest thread in each workspace, as it was
// written, by workspace. Threads that another thread spawned and archived ones
// don't count.
func (db *DB) Workspaces(ctx context.Context) (map[string]string, error) {
	// Beside max() the other columns are those of its row.
	rows, err := db.read.QueryContext(ctx, `SELECT workspace, json_extract(body, '$.Cwd'), max(updated_ns) FROM thread
		WHERE subagent=0 AND archived=0 AND workspace<>'' GROUP BY workspace`)
	if err != nil {
		return nil, db.wrap("list workspaces", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var key, folder string
		var updated int64
		if err := rows.Scan(&key, &folder, &updated); err != nil {
			return nil, db.wrap("list workspaces", err)
		}
		out[key] = folder
	}
	return out, db.wrap("list workspaces", rows.Err())
}

// ThreadOf gives the thread that a rollout's row belongs to; ErrNotFound if it
// isn't here.
func (db *DB) ThreadOf(ctx context.Context, row int64) (transcript.Thread, error) {
	var id string
	if err := db.read.QueryRowContext(ctx, "SELECT thread_id FROM rollout WHERE id=?", row).Scan(&id); err != nil {
		return transcript.Thread{}, db.wrap("find the thread of a rollout", err)
	}
	return db.Thread(ctx, id)
}
