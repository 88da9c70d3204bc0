// Package sqlite is the seam between the cache and the library that is SQLite:
// the driver "sqlite3" of database/sql, and what its errors mean.
//
// There are two, one file each. By default it is SQLite in C (mattn/go-sqlite3,
// needs cgo and the tag sqlite_fts5). With the tag purego it is SQLite in C
// translated to Go (modernc.org/sqlite), for systems that are built for without
// a C compiler; it is slower. Both take the same names of files with the same
// parameters. Without either the driver answers every call with an error.
package sqlite

// Code is one of SQLite's primary result codes.
// https://www.sqlite.org/rescode.html
type Code int

// The codes that something is done about.
const (
	Error     Code = 1
	Perm      Code = 3
	Busy      Code = 5
	Locked    Code = 6
	ReadOnly  Code = 8
	IOErr     Code = 10
	Corrupt   Code = 11
	Full      Code = 13
	CantOpen  Code = 14
	Protocol  Code = 15
	NoLFS     Code = 22
	Format    Code = 24
	NotADB    Code = 26
	codeOfAll      = 0xff // the part of an extended code that is the primary one
)

// Extended codes that mean something else than their primary one.
const (
	ReadOnlyRollback = Extended(ReadOnly) | 3<<8
	IOErrData        = Extended(IOErr) | 32<<8
	IOErrCorruptFS   = Extended(IOErr) | 33<<8
)

// Extended is a code with what SQLite knows beyond the primary one.
type Extended int

// Code gives the primary code.
func (e Extended) Code() Code { return Code(e & codeOfAll) }
