package search

import (
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/sqlite"
)

// kind turns SQLite's codes into the cache's sentinels; nil for one that has
// none.
func kind(err error) error {
	code, ok := sqlite.CodeOf(err)
	if !ok {
		return nil
	}
	switch code.Code() {
	case sqlite.Corrupt, sqlite.NotADB, sqlite.Format:
		return store.ErrDamaged
	case sqlite.Busy, sqlite.Locked, sqlite.Protocol:
		return store.ErrBusy
	case sqlite.Full, sqlite.ReadOnly, sqlite.IOErr, sqlite.NoLFS:
		return store.ErrFull
	case sqlite.CantOpen, sqlite.Perm:
		return store.ErrFolder
	case sqlite.Error:
		// A table that isn't there, or has other columns: every statement is ours.
		return errShape
	}
	return nil
}
