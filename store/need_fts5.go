//go:build !sqlite_fts5 && !libsqlite3 && !purego

package store

// Without full-text search in SQLite the cache can't be opened by a build that
// has it. Build with "make build" or: go build -tags sqlite_fts5 ./cmd/session-migrator
var _ = build_needs_the_tag_sqlite_fts5__run_make_build_or_go_build_tags_sqlite_fts5
