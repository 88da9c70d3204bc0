package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// applicationID marks a file as ours: "SMig".
	applicationID = 0x534D6967
	// schemaVersion is what this program writes; older files are brought up to it.
	schemaVersion = 1

	readers = 2 // connections to read with

	writerBusy = 5 * time.Second
	readerBusy = 250 * time.Millisecond
)

var (
	// ErrNone means that there is no cache at the path yet.
	ErrNone = errors.New("no session cache yet")
	// ErrForeign means that the file is not a cache of this program.
	ErrForeign = errors.New("not a session-migrator cache")
	// ErrDamaged means that SQLite can't read the file.
	ErrDamaged = errors.New("the cache is damaged")
	// ErrFolder means that the file's folder doesn't let us in.
	ErrFolder = errors.New("the cache's folder can't be read or written")
	// ErrNotFound means that no row answers to the question.
	ErrNotFound = errors.New("not found")
	// ErrBusy means that another process held the cache too long: try again.
	ErrBusy = errors.New("the cache is busy")
	// ErrFull means that the disk is full, read-only or failing: worth a pause,
	// not a rebuild.
	ErrFull = errors.New("the cache can't be written")
)

// NewerError means that a newer program wrote the cache.
type NewerError struct{ Schema, Known int }

// Error names both versions.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the cache has schema %d, this program reads up to %d", e.Schema, e.Known)
}

// DB is an open cache, safe for concurrent use. A writer has one connection to
// write with; what it reads doesn't wait for that.
type DB struct {
	sql    *sql.DB // writes; of a reader the same as read
	read   *sql.DB
	path   string
	file   os.FileInfo // of path when it was opened
	writer bool
	now    func() time.Time
}

// Open opens the cache at path for writing, creating or migrating it. The
// caller holds the data folder's lock. Errors: ErrForeign, ErrDamaged,
// *NewerError, and those of the file system.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	q := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_foreign_keys": {"1"},
		"_busy_timeout": {ms(writerBusy)}, "_txlock": {"immediate"}, "_stmt_cache_size": {"64"},
	}
	db, err := connect(path, q, 1)
	if err != nil {
		return nil, err
	}
	db.writer = true
	if err := db.gate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if _, err := db.sql.ExecContext(ctx, "PRAGMA journal_size_limit=8388608"); err != nil {
		return nil, errors.Join(db.wrap("set the journal limit", err), db.Close())
	}
	r, err := connect(path, readerQuery(writerBusy), readers)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.read = r.sql
	return db, nil
}

func readerQuery(busy time.Duration) url.Values {
	return url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {ms(busy)}, "_stmt_cache_size": {"64"}}
}

// OpenReader opens the cache at path for reading only. Errors: ErrNone,
// ErrForeign, ErrDamaged, *NewerError, and those of the file system.
func OpenReader(ctx context.Context, path string) (*DB, error) {
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open cache %s: %w", path, ErrNone)
	case err != nil:
		return nil, fmt.Errorf("open cache: %w", err)
	case st.Size() == 0:
		return nil, fmt.Errorf("open cache %s: %w", path, ErrNone)
	}
	db, err := connect(path, readerQuery(readerBusy), readers)
	if err != nil {
		return nil, err
	}
	if err := db.gate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// create makes the file with mode 0600 before SQLite would with the umask's.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create cache: %w", err)
	}
	return f.Close()
}

func connect(path string, q url.Values, conns int) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find cache: %w", err)
	}
	p := filepath.ToSlash(abs)
	if p[0] != '/' { // a drive letter
		p = "/" + p
	}
	dsn := "file:" + (&url.URL{Path: p}).EscapedPath() + "?" + q.Encode()
	s, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, fmt.Errorf("open cache %s: %w", path, err)
	}
	s.SetMaxOpenConns(conns)
	s.SetMaxIdleConns(conns)
	st, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open cache: %w", err), s.Close())
	}
	return &DB{sql: s, read: s, path: path, file: st, now: time.Now}, nil
}

// gate refuses files that aren't ours or are too new, and migrates old ones.
func (db *DB) gate(ctx context.Context) error {
	var app, schema, tables int
	err := db.sql.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema)").Scan(&tables)
	if err != nil {
		return db.wrap("read the schema", err)
	}
	if err := db.sql.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return db.wrap("read the application id", err)
	}
	if err := db.sql.QueryRowContext(ctx, "PRAGMA user_version").Scan(&schema); err != nil {
		return db.wrap("read the schema version", err)
	}
	switch {
	case tables == 0 && app == 0:
		if !db.writer {
			return fmt.Errorf("open cache %s: %w", db.path, ErrNone)
		}
	case app != applicationID:
		return fmt.Errorf("open cache %s: %w", db.path, ErrForeign)
	}
	if schema > schemaVersion {
		return db.readableNewer(ctx, schema)
	}
	if db.writer {
		return db.migrate(ctx, schema)
	}
	return nil
}

// readableNewer lets a reader go on if the newer program says that it may.
func (db *DB) readableNewer(ctx context.Context, schema int) error {
	newer := fmt.Errorf("open cache %s: %w", db.path, &NewerError{Schema: schema, Known: schemaVersion})
	if db.writer {
		return newer
	}
	var least int
	err := db.sql.QueryRowContext(ctx, "SELECT CAST(value AS INTEGER) FROM meta WHERE key='min_reader'").Scan(&least)
	if err != nil || least > schemaVersion {
		return newer
	}
	return nil
}

// Close closes the cache. A writer leaves a short WAL behind.
func (db *DB) Close() error {
	if !db.writer {
		return db.sql.Close()
	}
	var err error
	if db.read != db.sql {
		err = db.read.Close()
	}
	// Best effort: a reader's snapshot may hold the WAL, the next start tries again.
	_, _ = db.sql.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.sql.Close())
}

// Commits counts the writer's changes since it opened the cache.
func (db *DB) Commits(ctx context.Context) (n int64, err error) {
	err = db.sql.QueryRowContext(ctx, "SELECT total_changes()").Scan(&n)
	return n, db.wrap("count changes", err)
}

// Replaced tells whether the path no longer leads to the open file: what is
// written then is lost.
func (db *DB) Replaced() bool {
	st, err := os.Stat(db.path)
	return err != nil || !os.SameFile(st, db.file)
}

// Path is where the cache lies.
func (db *DB) Path() string { return db.path }

// Check asks SQLite for damage it can see; ErrDamaged if there is any.
func (db *DB) Check(ctx context.Context) error {
	var answer string
	if err := db.sql.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer); err != nil {
		return db.wrap("check the cache", err)
	}
	if answer != "ok" {
		return fmt.Errorf("check cache %s: %w: %s", db.path, ErrDamaged, answer)
	}
	return nil
}

// Checkpoint moves the WAL into the file while nothing else is to be done.
func (db *DB) Checkpoint(ctx context.Context) error {
	_, err := db.sql.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return db.wrap("checkpoint", err)
}

// wrap turns SQLite's codes into our sentinels.
func (db *DB) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if kind := sqliteKind(err); kind != nil {
		return fmt.Errorf("%s of cache %s: %w: %w", what, db.path, kind, err)
	}
	return fmt.Errorf("%s of cache %s: %w", what, db.path, err)
}
