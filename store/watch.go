package store

import (
	"context"
	"database/sql"
)

// DataVersion is a number that differs from the one before if anybody else
// committed since; it is no count. A reader that asks every second costs nothing
// but a look at shared memory.
func (db *DB) DataVersion(ctx context.Context) (v int64, err error) {
	w, err := db.watched()
	if err != nil {
		return 0, db.wrap("watch for changes", err)
	}
	err = w.QueryRowContext(ctx, "PRAGMA data_version").Scan(&v)
	return v, db.wrap("watch for changes", err)
}

// watched gives the connection whose answers can be compared: each counts for
// itself what others did.
func (db *DB) watched() (*sql.DB, error) {
	db.watching.Lock()
	defer db.watching.Unlock()
	if db.watch != nil {
		return db.watch, nil
	}
	w, err := sql.Open("sqlite3", db.dsn)
	if err != nil {
		return nil, err
	}
	w.SetMaxOpenConns(1)
	w.SetMaxIdleConns(1)
	db.watch = w
	return w, nil
}

func (db *DB) unwatch() error {
	db.watching.Lock()
	defer db.watching.Unlock()
	if db.watch == nil {
		return nil
	}
	return db.watch.Close()
}
