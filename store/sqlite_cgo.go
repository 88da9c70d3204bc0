//go:build cgo

package store

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// What SQLite tells of a page whose checksum, or whose file system, is wrong;
// the driver has no names for them.
const (
	ioErrData      sqlite3.ErrNoExtended = 10 | 32<<8
	ioErrCorruptFS sqlite3.ErrNoExtended = 10 | 33<<8
)

// sqliteKind turns SQLite's codes into our sentinels; nil for one that has
// none.
func sqliteKind(err error) error {
	se, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return nil
	}
	switch se.ExtendedCode {
	case ioErrData, ioErrCorruptFS:
		return ErrDamaged
	case sqlite3.ErrReadonlyRollback:
		// Its making was cut short: only then a cache has a rollback journal.
		// Who only reads can't undo it; who writes does.
		return ErrNone
	}
	switch se.Code {
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return ErrDamaged
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return ErrBusy
	case sqlite3.ErrFull, sqlite3.ErrReadonly, sqlite3.ErrIoErr, sqlite3.ErrNoLFS:
		// A quota that is used up comes as an I/O error, a file system that
		// became read-only as either.
		return ErrFull
	case sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return ErrFolder
	}
	return nil
}
