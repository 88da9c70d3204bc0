// Package disk tells what a folder lies on: how much room is left there, and
// whether a database may be kept there.
package disk

// Usage is how full a file system is, for a user without special rights.
type Usage struct {
	Free, Total int64 // bytes
}

// Of tells about the file system that dir lies on.
func Of(dir string) (Usage, error) { return usage(dir) }

// Shared names the kind of file system if it is one whose locks and shared
// memory can't be relied on between machines, so that SQLite's WAL must not lie
// there; empty if it isn't, or if that can't be told.
func Shared(dir string) string { return shared(dir) }
