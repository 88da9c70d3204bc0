//go:build !cgo && !purego

package sqlite

// Without cgo there is no SQLite: the driver answers every call with an error
// that says so. The rest of the program can still be checked for such systems.
import _ "github.com/mattn/go-sqlite3"

// CodeOf knows no code.
func CodeOf(error) (Extended, bool) { return 0, false }

// Version is empty: there is none.
func Version() (version, driver string) { return "", "none" }
