package store

import "github.com/session-migrator/session-migrator/store/sqlite"

// sqliteKind turns SQLite's codes into our sentinels; nil for one that has
// none.
func sqliteKind(err error) error {
	if code, ok := sqlite.CodeOf(err); ok {
		return codeKind(code)
	}
	return nil
}

func codeKind(code sqlite.Extended) error {
	switch code {
	case sqlite.IOErrData, sqlite.IOErrCorruptFS:
		return ErrDamaged
	case sqlite.ReadOnlyRollback:
		// Its making was cut short: only then a cache has a rollback journal.
		// Who only reads can't undo it; who writes does.
		return ErrNone
	}
	switch code.Code() {
	case sqlite.Corrupt, sqlite.NotADB:
		return ErrDamaged
	case sqlite.Busy, sqlite.Locked, sqlite.Protocol:
		return ErrBusy
	case sqlite.Full, sqlite.ReadOnly, sqlite.IOErr, sqlite.NoLFS:
		// A quota that is used up comes as an I/O error, a file system that
		// became read-only as either.
		return ErrFull
	case sqlite.CantOpen, sqlite.Perm:
		return ErrFolder
	case sqlite.Error, sqlite.Format:
	}
	return nil
}
