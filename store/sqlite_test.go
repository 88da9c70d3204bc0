//go:build cgo

package store_test

import (
	"testing"

	"github.com/mattn/go-sqlite3"
)

func TestSQLiteIsNewEnough(t *testing.T) {
	// Before 3.51.3 two connections could damage a WAL that one of them resets.
	if _, n, _ := sqlite3.Version(); n < 3_051_003 {
		t.Errorf("SQLite %d is older than 3051003", n)
	}
}
