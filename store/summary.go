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

// summaryBody is what of a summary is looked for by nobody.
type summaryBody struct {
	Client string `json:"client,omitempty"`
	Text   string `json:"text"`
}

// SaveSummary keeps a summary in place of the one that its source wrote before,
// and makes the thread's documents due. What is stored goes only for one that
// covers as much: summary.ErrCoversLess, unless it covers more than the thread has by
// now. ErrNotFound if there is no such thread. The same again changes nothing.
func (db *DB) SaveSummary(ctx context.Context, s summary.Summary) error {
	body, err := json.Marshal(summaryBody{s.Client, s.Text})
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
		case s.Through < through && through <= t.LastSeq:
			return fmt.Errorf("%w: message %d, not %d", summary.ErrCoversLess, s.Through, through)
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO summary VALUES(?,?,?,?,?,?)",
			s.ThreadID, s.Source, s.Model, s.Through, ns(s.Created), string(body)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE thread SET rev=rev+1 WHERE thread_id=?", s.ThreadID)
		return err
	})
	if errors.Is(err, errSame) {
		return nil
	}
	return err
}

// Summary gives the newest summary of a thread; ErrNotFound if there is none.
func (db *DB) Summary(ctx context.Context, threadID string) (s summary.Summary, err error) {
	// An older daemon may run beside this reader: there are none then.
	if v, err := db.Schema(ctx); err != nil || v < summarySchema {
		return s, errors.Join(err, ErrNotFound)
	}
	var created int64
	var text string
	err = db.read.QueryRowContext(ctx, "SELECT thread_id, source, model, through, created_ns, body FROM summary WHERE thread_id=? ORDER BY through DESC, created_ns DESC LIMIT 1", threadID).
		Scan(&s.ThreadID, &s.Source, &s.Model, &s.Through, &created, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return s, ErrNotFound
	}
	if err != nil {
		return s, db.wrap("read a summary", err)
	}
	var body summaryBody
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return s, fmt.Errorf("read a summary: %w", err)
	}
	s.Client, s.Text, s.Created = body.Client, body.Text, at(created)
	return s, nil
}
