package store

import (
	"context"
	"database/sql"
)

// sharedSchema is the first schema with shared files.
const sharedSchema = 3

// SetShared records what is known of files that a sink shares with others: JSON
// by absolute path. An empty one is forgotten. All is recorded or nothing.
func (db *DB) SetShared(ctx context.Context, sink string, files map[string]string) error {
	if len(files) == 0 {
		return nil
	}
	return db.writeDurable(ctx, "record shared files", func(tx *sql.Tx) error {
		for path, body := range files {
			q, args := "INSERT OR REPLACE INTO shared VALUES(?,?,?)", []any{sink, path, body}
			if body == "" {
				q, args = "DELETE FROM shared WHERE sink=? AND path=?", args[:2]
			}
			if _, err := tx.ExecContext(ctx, q, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Shared gives what is known of the files that a sink shares, JSON by path.
func (db *DB) Shared(ctx context.Context, sink string) (map[string]string, error) {
	// An older daemon may run beside this reader: nothing was shared then.
	if v, err := db.Schema(ctx); err != nil || v < sharedSchema {
		return map[string]string{}, err
	}
	rows, err := db.read.QueryContext(ctx, "SELECT path, body FROM shared WHERE sink=? ORDER BY path", sink)
	if err != nil {
		return nil, db.wrap("list shared files", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var path, body string
		if err := rows.Scan(&path, &body); err != nil {
			return nil, db.wrap("list shared files", err)
		}
		out[path] = body
	}
	return out, db.wrap("list shared files", rows.Err())
}
