//go:build cgo && !purego

package sqlite

import (
	"errors"

	"github.com/mattn/go-sqlite3" // registers the driver
)

// CodeOf gives the code of an error that SQLite gave; false for any other.
func CodeOf(err error) (Extended, bool) {
	e, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return 0, false
	}
	// What more is known is of the connection's last call, which may be another.
	if more := Extended(e.ExtendedCode); more.Code() == Code(e.Code) {
		return more, true
	}
	return Extended(e.Code), true
}

// Version gives SQLite's version, and that it is the one in C.
func Version() (version, driver string) {
	v, _, _ := sqlite3.Version()
	return v, "mattn/go-sqlite3"
}
