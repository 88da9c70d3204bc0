package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// refresh recomputes a thread's row and its decisions from its rollouts.
func (db *DB) refresh(ctx context.Context, tx *sql.Tx, threadID string, decideAll func(transcript.Thread) []decide.Decision) error {
	var head int64
	var f File
	var state FileState
	err := tx.QueryRowContext(ctx, `SELECT id, rollout_id, path, archived, state FROM rollout WHERE thread_id=?
		ORDER BY state=3, stamp DESC, rollout_id DESC LIMIT 1`, threadID).Scan(&head, &f.RolloutID, &f.Path, &f.Archived, &state)
	if errors.Is(err, sql.ErrNoRows) {
		// Its only rollout turned out to be another thread's.
		_, err := tx.ExecContext(ctx, "DELETE FROM thread WHERE thread_id=?", threadID)
		return err
	}
	if err != nil {
		return err
	}
	segs, missing, err := chain(ctx, tx, head)
	if err != nil {
		return err
	}
	for i := range segs {
		if err := segs[i].read(); err != nil {
			return err
		}
	}
	base, err := db.baseSums(ctx, tx, head, segs, missing)
	if err != nil {
		return err
	}
	t := transcript.Thread{
		ID: threadID, RolloutID: f.RolloutID, Path: f.Path, Archived: f.Archived,
		Gone: state == FileGone, BaseMissing: missing,
	}
	own := segs[len(segs)-1]
	figures(&t, base, own.sums)
	describe(&t, segs)
	if t.Title == "" {
		if t.Title, err = inheritedTitle(ctx, tx, segs); err != nil {
			return err
		}
	}
	if err := db.ownRollouts(ctx, tx, &t); err != nil {
		return err
	}
	if t.State, err = lastState(ctx, tx, segs, own.sums.Turns); err != nil {
		return err
	}
	if err := named(ctx, tx, &t); err != nil {
		return err
	}
	if t.ForkedFrom != "" {
		if t.Untouched, err = untouched(ctx, tx, &own); err != nil {
			return err
		}
	}
	if t.First, err = firstRequest(ctx, tx, segs); err != nil {
		return err
	}
	row, err := db.saveThread(ctx, tx, &t, head)
	if err != nil || decideAll == nil {
		return err
	}
	// For the decisions alone: what the thread's row holds follows from its items.
	if err := withCounted(ctx, tx, row, &t); err != nil {
		return err
	}
	return db.saveDecisions(ctx, tx, row, t, decideAll(t))
}

// baseSums are the figures of what the head inherits through its base: counted
// once, because the bytes before a cut never change.
func (db *DB) baseSums(ctx context.Context, tx *sql.Tx, head int64, segs []segment, missing string) (sums, error) {
	var s sums
	if len(segs) == 1 && missing == "" {
		return s, nil
	}
	var complete bool
	var text string
	if err := tx.QueryRowContext(ctx, "SELECT base_complete, base_sums FROM rollout WHERE id=?", head).Scan(&complete, &text); err != nil {
		return s, err
	}
	if complete {
		return s, json.Unmarshal([]byte(text), &s)
	}
	for i := range segs[:len(segs)-1] {
		t, err := segs[i].tally(ctx, tx)
		if err != nil {
			return s, err
		}
		s.add(t)
	}
	out, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE rollout SET base_complete=?, base_sums=? WHERE id=?", missing == "", string(out), head)
	return s, err
}

func figures(t *transcript.Thread, base, own sums) {
	all := base
	all.add(own)
	t.Turns = all.Turns
	t.LastSeq = all.Items
	t.Migrated = all.Migrated
	t.Tokens = map[string]int64{"o200k_base": all.O200k, "cl100k_base": all.Cl100k}
	t.ShrunkTokens = map[string]int64{"o200k_base": all.Shrunk}
	r := func(x transcript.Role) int { return all.Roles[x] }
	t.Counts.User = r(transcript.RoleUser)
	t.Counts.Assistant = r(transcript.RoleAssistant)
	t.Counts.ToolCalls = r(transcript.RoleToolCall)
	t.Counts.ToolResults = r(transcript.RoleToolResult)
	t.Counts.Reasoning = r(transcript.RoleReasoning)
	t.Counts.Compactions = r(transcript.RoleCompaction)
}

// describe fills what the newest line tells, falling back along the history.
func describe(t *transcript.Thread, segs []segment) {
	head := &segs[len(segs)-1].facts
	t.CLIVersion, t.Originator, t.Source, t.Session = head.CLIVersion, head.Originator, head.Source, head.Session
	t.Parent, t.ForkedFrom, t.Nickname, t.Subagent = head.Parent, head.ForkedFrom, head.Nickname, head.Subagent
	if t.ForkedFrom == "" {
		t.ForkedFrom = head.CopyOf
	}
	first := func(dst *string, get func(*transcript.Facts) string) {
		for i := len(segs) - 1; i >= 0 && *dst == ""; i-- {
			*dst = get(&segs[i].facts)
		}
	}
	first(&t.Cwd, func(f *transcript.Facts) string { return f.Cwd })
	first(&t.Model, func(f *transcript.Facts) string { return f.Model })
	first(&t.GitBranch, func(f *transcript.Facts) string { return f.GitBranch })
	first(&t.GitCommit, func(f *transcript.Facts) string { return f.GitCommit })
	first(&t.GitURL, func(f *transcript.Facts) string { return f.GitURL })
	if t.Model == "" {
		t.Model = "unknown"
	}
	for i := len(segs) - 1; i >= 0; i-- {
		f := &segs[i].facts
		if t.Window == 0 {
			t.Window = f.Window
		}
		if t.AutoCompact == 0 {
			t.AutoCompact = f.AutoCompact
		}
	}
	// Not those of a base: it may have gone on since, with requests of its own.
	t.ContextTokens, t.ContextInput, t.Quotas = head.ContextNow, head.ContextInput, head.Quotas
	t.Rollbacks = head.Rollbacks
	// A branch is named by its own words; one that a revert left without the
	// thread's first request keeps that request as its name.
	sameThread := func(i int) bool { return segs[i].threadID == t.ID }
	for i := range segs {
		if sameThread(i) && t.Title == "" {
			t.Title = segs[i].facts.FirstUser
		}
	}
	t.Workspace = transcript.WorkspaceKey(t.Cwd)
	t.Cwd = transcript.ShownPath(t.Cwd)
}

// inheritedTitle is the first request of another thread that the history begins
// in. What was said there after the cut is none of this thread's.
func inheritedTitle(ctx context.Context, q queryer, segs []segment) (string, error) {
	for i := len(segs) - 2; i >= 0; i-- {
		if segs[i].facts.FirstUser == "" {
			continue
		}
		t, err := segs[i].tally(ctx, q)
		if err != nil {
			return "", err
		}
		if t.Roles[transcript.RoleUser] > 0 {
			return segs[i].facts.FirstUser, nil
		}
	}
	return "", nil
}

// ownRollouts adds up over all files of the thread, abandoned branches
// included: what was spent was spent.
func (db *DB) ownRollouts(ctx context.Context, tx *sql.Tx, t *transcript.Thread) error {
	rows, err := tx.QueryContext(ctx, `SELECT facts, sums, (SELECT coalesce(sum(count),0) FROM unknown u WHERE u.rollout=r.id) FROM rollout r WHERE thread_id=? ORDER BY stamp, rollout_id`, t.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	var inherited transcript.Usage
	for n := 0; rows.Next(); n++ {
		var text, own string
		var unknown int
		if err := rows.Scan(&text, &own, &unknown); err != nil {
			return err
		}
		var f transcript.Facts
		var s sums
		if err := errors.Join(json.Unmarshal([]byte(text), &f), json.Unmarshal([]byte(own), &s)); err != nil {
			return fmt.Errorf("read facts: %w", err)
		}
		t.Counts.Unknown += unknown
		t.Counts.DamagedLines += s.Damaged
		t.OwnUsage = t.OwnUsage.Plus(f.Usage)
		t.ModelCalls += f.ModelCalls
		if n == 0 {
			inherited = f.BaseUsage
		}
		if !f.Created.IsZero() && (t.Created.IsZero() || f.Created.Before(t.Created)) {
			t.Created = f.Created
		}
		if f.Updated.After(t.Updated) {
			t.Updated = f.Updated
		}
	}
	t.Usage = t.OwnUsage.Plus(inherited)
	if t.Updated.IsZero() {
		t.Updated = t.Created
	}
	return rows.Err()
}

// lastState is the state of the branch's last turn.
func lastState(ctx context.Context, q queryer, segs []segment, ownTurns int) (transcript.State, error) {
	for i := len(segs) - 1; i >= 0; i-- {
		turns := ownTurns
		if segs[i].cut != nil {
			t, err := segs[i].tally(ctx, q)
			if err != nil {
				return 0, err
			}
			turns = t.Turns
		}
		if turns == 0 {
			continue
		}
		var s transcript.State
		err := q.QueryRowContext(ctx, "SELECT state FROM turn WHERE rollout=? AND number<=? ORDER BY number DESC LIMIT 1", segs[i].row, turns).Scan(&s)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		return s, err
	}
	return transcript.StateEmpty, nil
}

// untouched tells whether all that a fork's file holds was copied: then so is
// the newest of it.
func untouched(ctx context.Context, q queryer, s *segment) (bool, error) {
	var inherited bool
	where, args := s.where()
	err := q.QueryRowContext(ctx, "SELECT inherited FROM item WHERE "+where+" ORDER BY id DESC LIMIT 1", args...).Scan(&inherited)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return inherited, err
}

// named prefers the name the user gave over the first request.
func named(ctx context.Context, tx *sql.Tx, t *transcript.Thread) error {
	var name string
	err := tx.QueryRowContext(ctx, "SELECT name FROM thread_name WHERE thread_id=?", t.ID).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if name != "" {
		t.Title = name
	}
	return nil
}

func (db *DB) saveThread(ctx context.Context, tx *sql.Tx, t *transcript.Thread, head int64) (int64, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return 0, fmt.Errorf("write thread: %w", err)
	}
	var row int64
	err = tx.QueryRowContext(ctx, `INSERT INTO thread(thread_id, head, workspace, parent, subagent, archived, gone, state, created_ns, updated_ns, tokens, rev, title, body)
		VALUES(?,?,?,?,?,?,?,?,?,?,?,1,?,?)
		ON CONFLICT(thread_id) DO UPDATE SET head=excluded.head, workspace=excluded.workspace, parent=excluded.parent, subagent=excluded.subagent,
			archived=excluded.archived, gone=excluded.gone, state=excluded.state, created_ns=excluded.created_ns, updated_ns=excluded.updated_ns,
			tokens=excluded.tokens, rev=rev+(body<>excluded.body), title=excluded.title, body=excluded.body
		RETURNING id`,
		t.ID, head, t.Workspace, t.Parent, t.Subagent, t.Archived, t.Gone, t.State, ns(t.Created), ns(t.Updated), t.Tokens["o200k_base"], t.Title, string(body)).Scan(&row)
	return row, err
}

// saveDecisions writes the figures that differ from thread to thread; those of
// the target are kept once.
func (db *DB) saveDecisions(ctx context.Context, tx *sql.Tx, thread int64, t transcript.Thread, all []decide.Decision) error {
	st, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO decision VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	defer st.Close()
	stored, err := targets(ctx, tx)
	if err != nil {
		return err
	}
	now := db.now().UnixNano()
	for i := range all {
		d := &all[i]
		target, err := saveTarget(ctx, tx, d, stored[d.TargetModel])
		if err != nil {
			return err
		}
		var budget any
		if d.Budget != nil {
			budget = *d.Budget
		}
		var overhead any
		if d.OverheadSource == decide.OverheadMeasured {
			overhead = d.Overhead
		}
		vocabulary := ""
		if d.Usual != (decide.Basis{}) {
			vocabulary = d.Encoding
		}
		if _, err := st.ExecContext(ctx, thread, target, d.Verdict, d.Strategy, d.Fit, d.SessionTokens, d.TargetTokens, budget, t.Migrated, t.LastSeq, now, overhead, vocabulary); err != nil {
			return err
		}
	}
	return nil
}

// target is the stored figures of one target model.
type target struct {
	id   int64
	body string
}

// targets gives all targets by model: one query for the decisions of a thread.
func targets(ctx context.Context, q queryer) (map[string]target, error) {
	rows, err := q.QueryContext(ctx, "SELECT model, id, body FROM target")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]target{}
	for rows.Next() {
		var model string
		var t target
		if err := rows.Scan(&model, &t.id, &t.body); err != nil {
			return nil, err
		}
		out[model] = t
	}
	return out, rows.Err()
}

// saveTarget gives the row of the decision's target, written anew if its
// figures changed.
func saveTarget(ctx context.Context, tx *sql.Tx, d *decide.Decision, stored target) (id int64, err error) {
	same := *d
	same.SessionTokens, same.TargetTokens, same.Budget = 0, 0, nil
	same.Stand(same.OverheadAssumed, decide.OverheadAssumed)
	if same.Usual != (decide.Basis{}) {
		same.Rest(same.Usual)
	}
	same.Recount()
	same.Verdict, same.Strategy, same.Fit = decide.Direct, 0, decide.Comfortable
	same.KeptTokens, same.KeptMessages, same.OmittedMessages, same.ThroughSeq = 0, 0, 0, 0
	body, err := json.Marshal(same)
	if err != nil {
		return 0, fmt.Errorf("write target: %w", err)
	}
	if stored.body == string(body) {
		return stored.id, nil
	}
	err = tx.QueryRowContext(ctx, "INSERT INTO target(model, body) VALUES(?,?) ON CONFLICT DO UPDATE SET body=excluded.body RETURNING id", d.TargetModel, string(body)).Scan(&id)
	return id, err
}
