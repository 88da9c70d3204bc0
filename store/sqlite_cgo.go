//go:build cgo

package store

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// sqliteKind turns SQLite's codes into our sentinels; nil for one that has
// none.
func sqliteKind(err error) error {
	se, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return nil
	}
	switch se.Code {
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return ErrDamaged
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return ErrBusy
	case sqlite3.ErrFull, sqlite3.ErrReadonly, sqlite3.ErrIoErr:
		return ErrFull
	case sqlite3.ErrCantOpen:
		return ErrFolder
	}
	return nil
}
