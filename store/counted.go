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

// Counted gives what a thread counts in a vocabulary, whether or not it has
// changed since; ErrNotFound if it was never counted.
func (db *DB) Counted(ctx context.Context, threadID, vocabulary string) (c transcript.Counted, err error) {
	if has, err := db.hasCounted(ctx); err != nil || !has {
		return c, errOr(err, ErrNotFound)
	}
	c.Vocabulary = vocabulary
	err = db.read.QueryRowContext(ctx, `SELECT c.through_seq, c.messages, c.o200k, c.tokens, c.shrunk FROM counted c JOIN thread t ON t.id=c.thread
		WHERE t.thread_id=? AND c.vocabulary=?`, threadID, vocabulary).Scan(&c.Through, &c.Messages, &c.O200k, &c.Tokens, &c.Shrunk)
	return c, db.wrap("read a count", err)
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// withCounted adds what is known of a thread in imported vocabularies, as far as
// it holds for the thread as it is.
func withCounted(ctx context.Context, q queryer, row int64, t *transcript.Thread) error {
	rows, err := q.QueryContext(ctx, "SELECT vocabulary, through_seq, messages, o200k, tokens, shrunk FROM counted WHERE thread=?", row)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c transcript.Counted
		if err := rows.Scan(&c.Vocabulary, &c.Through, &c.Messages, &c.O200k, &c.Tokens, &c.Shrunk); err != nil {
			return err
		}
		if c.Of(t) {
			t.Tokens[c.Vocabulary], t.ShrunkTokens[c.Vocabulary] = c.Tokens, c.Shrunk
		}
	}
	return rows.Err()
}

// hasCounted tells whether decisions have figures of their own threads: the
// cache may be one of an older daemon.
func (db *DB) hasCounted(ctx context.Context) (has bool, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type='table' AND name='counted')").Scan(&has)
	return has, db.wrap("look for counts", err)
}
