//go:build cgo

package search

import (
	"errors"

	"github.com/mattn/go-sqlite3"

	"github.com/session-migrator/session-migrator/store"
)

// kind turns SQLite's codes into the cache's sentinels; nil for one that has
// none.
func kind(err error) error {
	se, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return nil
	}
	switch se.Code {
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrFormat:
		return store.ErrDamaged
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return store.ErrBusy
	case sqlite3.ErrFull, sqlite3.ErrReadonly, sqlite3.ErrIoErr, sqlite3.ErrNoLFS:
		return store.ErrFull
	case sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return store.ErrFolder
	case sqlite3.ErrError:
		// A table that isn't there, or has other columns: every statement is ours.
		return errShape
	}
	return nil
}
