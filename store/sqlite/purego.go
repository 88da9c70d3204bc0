//go:build purego

package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Drivers of database/sql are known by being imported; so is this one, by the
// name that the other has.
func init() { sql.Register("sqlite3", named{&sqlite.Driver{}}) }

// named takes the names of files that the driver in C takes.
type named struct{ *sqlite.Driver }

// Open connects. The names of most parameters are the same in both drivers;
// what is left is the one that isn't, and what the other one does unasked.
func (d named) Open(name string) (driver.Conn, error) {
	file, params, _ := strings.Cut(name, "?")
	q, err := url.ParseQuery(params)
	if err != nil {
		return nil, fmt.Errorf("read the parameters of %s: %w", file, err)
	}
	if size := q.Get("_cache_size"); size != "" {
		q.Del("_cache_size")
		q.Add("_pragma", "cache_size("+size+")")
	}
	for key, value := range map[string]string{"_busy_timeout": "5000", "_synchronous": "NORMAL"} {
		if q.Get(key) == "" {
			q.Set(key, value)
		}
	}
	return d.Driver.Open(file + "?" + q.Encode())
}

// CodeOf gives the code of an error that SQLite gave; false for any other.
func CodeOf(err error) (Extended, bool) {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0, false
	}
	return Extended(e.Code()), true
}

// Version gives SQLite's version, and that it is the one translated to Go.
func Version() (version, driver string) { return sqlite3.SQLITE_VERSION, "modernc.org/sqlite" }
