package store

import (
	"context"
	"encoding/json"
	"errors"
)

// Copy is a file of a rollout that is read at another place.
type Copy struct {
	RolloutID  string `json:"rollout_id"`
	Home       string `json:"home"`
	Path       string `json:"path"`
	Of         string `json:"of"`         // the file that is read
	Generation int    `json:"generation"` // of that, when they were compared
	Reason     string `json:"reason"`     // why it is not known to be held whole by the other; empty if it is
	Size       int64  `json:"size"`       // as it looked then
	ModTimeNs  int64  `json:"mtime_ns"`
	CTimeNs    int64  `json:"ctime_ns"`
}

const copyKey = "copy:"

// SaveCopy records how a copy compares with the file that is read.
func (db *DB) SaveCopy(ctx context.Context, c Copy) error {
	text, err := json.Marshal(c)
	if err != nil {
		return db.wrap("save copy "+c.Path, err)
	}
	return db.SetMeta(ctx, copyKey+c.Path, string(text))
}

// Copy gives what was recorded of the copy at a path; ErrNotFound if nothing.
func (db *DB) Copy(ctx context.Context, path string) (c Copy, err error) {
	text, err := db.Meta(ctx, copyKey+path)
	if err == nil && text == "" {
		return c, ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &c)
	}
	return c, db.wrap("read copy "+path, err)
}

// ForgetCopy takes back what SaveCopy recorded.
func (db *DB) ForgetCopy(ctx context.Context, path string) error {
	_, err := db.sql.ExecContext(ctx, "DELETE FROM meta WHERE key=?", copyKey+path)
	return db.wrap("forget copy "+path, err)
}

// Copies gives all copies that were recorded. Some may be gone by now.
func (db *DB) Copies(ctx context.Context) ([]Copy, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT value FROM meta WHERE key>=? AND key<? ORDER BY key", copyKey, "copy;")
	if err != nil {
		return nil, db.wrap("list copies", err)
	}
	defer rows.Close()
	var out []Copy
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, db.wrap("list copies", err)
		}
		var c Copy
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return nil, db.wrap("list copies", err)
		}
		out = append(out, c)
	}
	return out, db.wrap("list copies", errors.Join(rows.Err(), rows.Close()))
}
