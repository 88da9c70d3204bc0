package store

import (
	"context"
	"database/sql"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// SaveCounted remembers what a thread counts in a vocabulary, and decides for it
// anew. What it replaces is that of the thread as it was before.
func (db *DB) SaveCounted(ctx context.Context, threadID string, c transcript.Counted, decideAll func(transcript.Thread) []decide.Decision) error {
	return db.write(ctx, "save the count of "+threadID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO counted SELECT id, ?,?,?,?,?,? FROM thread WHERE thread_id=?",
			c.Vocabulary, c.Through, c.Messages, c.O200k, c.Tokens, c.Shrunk, threadID); err != nil {
			return err
		}
		return db.refresh(ctx, tx, threadID, decideAll)
	})
}

// ForgetCounted forgets what was counted in other vocabularies than those to keep.
func (db *DB) ForgetCounted(ctx context.Context, keep []string) error {
	stored, err := db.vocabularies(ctx)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, k := range keep {
		kept[k] = true
	}
	for _, v := range stored {
		if kept[v] {
			continue
		}
		if err := db.write(ctx, "forget counts", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM counted WHERE vocabulary=?", v)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) vocabularies(ctx context.Context) ([]string, error) {
	out, err := texts(ctx, db.read, "SELECT DISTINCT vocabulary FROM counted")
	return out, db.wrap("list counts", err)
}

// Counted gives what a thread counted in imported vocabularies, whether or not it
// has changed since.
func (db *DB) Counted(ctx context.Context, threadID string) ([]transcript.Counted, error) {
	if has, err := db.hasCounted(ctx); err != nil || !has {
		return nil, err
	}
	out, err := counts(ctx, db.read, "(SELECT id FROM thread WHERE thread_id=?)", threadID)
	return out, db.wrap("read counts", err)
}

func counts(ctx context.Context, q queryer, thread string, arg any) (out []transcript.Counted, err error) {
	rows, err := q.QueryContext(ctx, "SELECT vocabulary, through_seq, messages, o200k, tokens, shrunk FROM counted WHERE thread="+thread, arg)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c transcript.Counted
		if err := rows.Scan(&c.Vocabulary, &c.Through, &c.Messages, &c.O200k, &c.Tokens, &c.Shrunk); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// withCounted adds what is known of a thread in imported vocabularies, as far as
// it holds for the thread as it is.
func withCounted(ctx context.Context, q queryer, row int64, t *transcript.Thread) error {
	all, err := counts(ctx, q, "?", row)
	for _, c := range all {
		if c.Of(t) {
			t.Tokens[c.Vocabulary], t.ShrunkTokens[c.Vocabulary] = c.Tokens, c.Shrunk
		}
	}
	return err
}

// hasCounted tells whether decisions have figures of their own threads: the
// cache may be one of an older daemon.
func (db *DB) hasCounted(ctx context.Context) (has bool, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type='table' AND name='counted')").Scan(&has)
	return has, db.wrap("look for counts", err)
}
