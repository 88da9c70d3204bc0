//go:build !cgo

package store

// Without cgo there is no SQLite: the driver answers every call with an error
// that says so. The rest of the program can still be checked for such systems.
import _ "github.com/mattn/go-sqlite3"

func sqliteKind(error) error { return nil }
