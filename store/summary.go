package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/store/summary"
)

// summarySchema is the first schema with summaries.
const summarySchema = 6

// trySchema is the first schema that knows of attempts.
const trySchema = 7

// summaryBody is what of a summary is looked for by nobody.
type summaryBody struct {
	Client string        `json:"client,omitempty"`
	Text   string        `json:"text,omitempty"`
	Made   *summary.Made `json:"made,omitempty"`
}

// SaveSummary keeps a summary in place of the one that its source wrote before,
// and makes the thread's documents due. What is stored goes only for one that
// covers as much: summary.ErrCoversLess, unless it covers more than the thread has by
// now, or a model writes its own anew. ErrNotFound if there is no such thread. The
// same again changes nothing. A model's summary ends what attempts failed before.
func (db *DB) SaveSummary(ctx context.Context, s summary.Summary) error {
	body, err := json.Marshal(summaryBody{s.Client, s.Text, s.Made})
	if err != nil {
		return fmt.Errorf("save a summary: %w", err)
	}
	err = db.writeDurable(ctx, "save a summary", func(tx *sql.Tx) error {
		var thread string
		if err := tx.QueryRowContext(ctx, "SELECT body FROM thread WHERE thread_id=?", s.ThreadID).Scan(&thread); errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		t, err := readThread(thread)
		if err != nil {
			return err
		}
		var model, was string
		var through int64
		err = tx.QueryRowContext(ctx, "SELECT model, through, body FROM summary WHERE thread_id=? AND source=?", s.ThreadID, s.Source).Scan(&model, &through, &was)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case model == s.Model && through == s.Through && was == string(body):
			return errSame
		case s.Source == summary.ByCaller && s.Through < through && through <= t.LastSeq:
			return fmt.Errorf("%w: message %d, not %d", summary.ErrCoversLess, s.Through, through)
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO summary VALUES(?,?,?,?,?,?)",
			s.ThreadID, s.Source, s.Model, s.Through, ns(s.Created), string(body)); err != nil {
			return err
		}
		if s.Source == summary.ByModel {
			if _, err := tx.ExecContext(ctx, "UPDATE summary_try SET failures=0, reason='' WHERE thread_id=?", s.ThreadID); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE thread SET rev=rev+1 WHERE thread_id=?", s.ThreadID)
		return err
	})
	if errors.Is(err, errSame) {
		return nil
	}
	return err
}

// Summaries gives what is stored of a thread, one of each source at most, without
// those that damage made unreadable.
func (db *DB) Summaries(ctx context.Context, threadID string) (out []summary.Summary, err error) {
	// An older daemon may run beside this reader: there are none then.
	if v, err := db.Schema(ctx); err != nil || v < summarySchema {
		return nil, err
	}
	rows, err := db.read.QueryContext(ctx, "SELECT source, model, through, created_ns, body FROM summary WHERE thread_id=? AND source BETWEEN 0 AND 255 ORDER BY source", threadID)
	if err != nil {
		return nil, db.wrap("read summaries", err)
	}
	defer rows.Close()
	for rows.Next() {
		s := summary.Summary{ThreadID: threadID}
		var created int64
		var text string
		if err := rows.Scan(&s.Source, &s.Model, &s.Through, &created, &text); err != nil {
			return nil, db.wrap("read summaries", err)
		}
		var body summaryBody
		if json.Unmarshal([]byte(text), &body) != nil {
			continue // damage: Sweep takes it away
		}
		s.Client, s.Text, s.Made, s.Created = body.Client, body.Text, body.Made, at(created)
		out = append(out, s)
	}
	return out, db.wrap("read summaries", rows.Err())
}

// Summary gives what a source wrote of a thread; ErrNotFound if that is nothing.
func (db *DB) Summary(ctx context.Context, threadID string, from summary.Source) (summary.Summary, error) {
	all, err := db.Summaries(ctx, threadID)
	for _, s := range all {
		if s.Source == from {
			return s, nil
		}
	}
	if err == nil {
		err = ErrNotFound
	}
	return summary.Summary{}, err
}

// SaveTry keeps how an attempt went. The thread's documents are due if they say
// another reason now.
func (db *DB) SaveTry(ctx context.Context, t summary.Try) error {
	return db.writeDurable(ctx, "keep how a summary went", func(tx *sql.Tx) error {
		var was string
		err := tx.QueryRowContext(ctx, "SELECT reason FROM summary_try WHERE thread_id=?", t.ThreadID).Scan(&was)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO summary_try(thread_id, at_ns, basis, failures, reason) VALUES(?,?,?,?,?)",
			t.ThreadID, ns(t.At), t.Basis, t.Failures, t.Reason); err != nil {
			return err
		}
		if was == t.Reason {
			return nil
		}
		_, err = tx.ExecContext(ctx, "UPDATE thread SET rev=rev+1 WHERE thread_id=?", t.ThreadID)
		return err
	})
}

// Try gives how the newest attempt went to have a model write a summary of a
// thread; ErrNotFound if there was none.
func (db *DB) Try(ctx context.Context, threadID string) (t summary.Try, err error) {
	if v, err := db.Schema(ctx); err != nil || v < trySchema {
		return t, errors.Join(err, ErrNotFound)
	}
	var ns int64
	t.ThreadID = threadID
	err = db.read.QueryRowContext(ctx, "SELECT at_ns, basis, failures, reason FROM summary_try WHERE thread_id=?", threadID).Scan(&ns, &t.Basis, &t.Failures, &t.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return t, ErrNotFound
	}
	t.At = at(ns)
	return t, db.wrap("read how a summary went", err)
}
