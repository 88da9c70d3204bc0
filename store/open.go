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
	"sync"
	"time"
)

const (
	// applicationID marks a file as ours: "SMig".
	applicationID = 0x534D6967

	readers = 2 // connections to read with
	// readerCache is what each of a reader's connections keeps of the file, in
	// KiB. There is a reader per agent, and the system keeps the file for all.
	readerCache = 256

	// The writer waits for a reader that clears up after a crash; who asks from
	// outside is told to try again before it gets impatient.
	writerBusy = 5 * time.Second
	readerBusy = 250 * time.Millisecond
	// checkpointBusy is short: live lines wait behind a checkpoint.
	checkpointBusy = 50 * time.Millisecond
	// journalKept is what is left of a WAL that was long.
	journalKept = 8 << 20
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
	dsn    string
	file   os.FileInfo // of path when it was opened
	wal    os.FileInfo // the same of a writer's WAL
	size   int64       // of the file, never shrinking; of the one who asks Replaced
	writer bool
	fresh  bool // made by Open
	ladder ladder
	now    func() time.Time

	watching sync.Mutex // guards watch
	watch    *sql.DB    // the one connection that DataVersion asks; nil before
}

// Open opens the cache at path for writing, creating or migrating it. The
// caller holds the data folder's lock. A file that is refused is left as it is,
// to the byte. Errors: ErrForeign, ErrDamaged, *NewerError, and those of the
// file system.
func Open(ctx context.Context, path string) (*DB, error) {
	steps, err := ours()
	if err != nil {
		return nil, err
	}
	return open(ctx, path, steps)
}

func open(ctx context.Context, path string, steps ladder) (*DB, error) {
	made, err := create(path)
	if err != nil {
		return nil, err
	}
	if !made {
		// A look before the first write: opening for writing may already change it.
		r, err := openReader(ctx, path, steps)
		if err == nil {
			err = r.Close()
		}
		if err != nil && !errors.Is(err, ErrNone) {
			return nil, err
		}
	}
	q := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_foreign_keys": {"1"},
		"_busy_timeout": {ms(writerBusy)}, "_txlock": {"immediate"}, "_stmt_cache_size": {"64"},
	}
	db, err := connect(path, q, 1)
	if err != nil {
		return nil, err
	}
	db.writer, db.ladder = true, steps
	if err := db.gate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if _, err := db.sql.ExecContext(ctx, "PRAGMA journal_size_limit="+strconv.Itoa(journalKept)); err != nil {
		return nil, errors.Join(db.wrap("set the journal limit", err), db.Close())
	}
	r, err := connect(path, readerQuery(writerBusy), readers)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.read = r.sql
	if err := db.connectAll(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.wal, _ = os.Stat(path + "-wal") // without one it isn't looked after
	return db, nil
}

// connectAll opens the readers' connections now. One that is opened later, when
// another file has taken the path, would take this one's shared memory for its
// own and cut it: that ends the process.
func (db *DB) connectAll(ctx context.Context) (err error) {
	var all []*sql.Conn
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.Close()) // gives it back
		}
	}()
	for range readers {
		c, err := db.read.Conn(ctx)
		if err != nil {
			return db.wrap("connect", err)
		}
		all = append(all, c)
		var n int
		if err := c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
			return db.wrap("connect", err)
		}
	}
	return nil
}

func readerQuery(busy time.Duration) url.Values {
	return url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {ms(busy)}, "_stmt_cache_size": {"64"}}
}

// OpenReader opens the cache at path for reading only. Errors: ErrNone,
// ErrForeign, ErrDamaged, *NewerError, and those of the file system.
func OpenReader(ctx context.Context, path string) (*DB, error) {
	steps, err := ours()
	if err != nil {
		return nil, err
	}
	db, err := openReader(ctx, path, steps)
	if err != nil {
		return nil, err
	}
	if err := db.readable(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openReader leaves it to the caller what to do about a newer schema.
func openReader(ctx context.Context, path string, steps ladder) (*DB, error) {
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open cache %s: %w", path, ErrNone)
	case err != nil:
		return nil, fmt.Errorf("open cache: %w", err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("open cache %s: %w", path, ErrForeign)
	case st.Size() == 0:
		return nil, fmt.Errorf("open cache %s: %w", path, ErrNone)
	}
	q := readerQuery(readerBusy)
	q.Set("_cache_size", strconv.Itoa(-readerCache))
	db, err := identified(ctx, path, steps, q)
	if !errors.Is(err, ErrFolder) {
		return db, err
	}
	// A file system that can't be written has no room for the memory that
	// readers of a WAL share. Without a WAL none is needed.
	if st, statErr := os.Stat(path + "-wal"); statErr == nil && st.Size() > 0 || statErr != nil && !errors.Is(statErr, fs.ErrNotExist) {
		return nil, err
	}
	q.Set("immutable", "1")
	if db, again := identified(ctx, path, steps, q); again == nil {
		return db, nil
	}
	return nil, err
}

// identified connects for reading and looks whether the file is ours.
func identified(ctx context.Context, path string, steps ladder, q url.Values) (*DB, error) {
	db, err := connect(path, q, readers)
	if err != nil {
		return nil, err
	}
	db.ladder = steps
	if _, err := db.identify(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// create makes the file, if it isn't there, with mode 0600 before SQLite would
// with the umask's. A file that is there isn't opened: closing it would take
// away the locks that SQLite holds on it in this process.
func create(path string) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("create data folder: %w", err)
	}
	switch st, err := os.Stat(path); {
	case err == nil && !st.Mode().IsRegular():
		return false, fmt.Errorf("open cache %s: %w", path, ErrForeign)
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("open cache: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("create cache: %w", err)
	}
	return true, f.Close()
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
	return &DB{sql: s, read: s, path: path, dsn: dsn, file: st, now: time.Now}, nil
}

// identify gives the schema of the file and refuses files that aren't ours.
func (db *DB) identify(ctx context.Context) (schema int, err error) {
	var app, tables int
	if err := db.sql.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema)").Scan(&tables); err != nil {
		return 0, db.wrap("read the schema", err)
	}
	if err := db.sql.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, db.wrap("read the application id", err)
	}
	if err := db.sql.QueryRowContext(ctx, "PRAGMA user_version").Scan(&schema); err != nil {
		return 0, db.wrap("read the schema version", err)
	}
	switch {
	case tables == 0 && app == 0:
		if !db.writer {
			return 0, fmt.Errorf("open cache %s: %w", db.path, ErrNone)
		}
	case app != applicationID:
		return 0, fmt.Errorf("open cache %s: %w", db.path, ErrForeign)
	case schema < 0:
		return 0, fmt.Errorf("open cache %s: %w: schema %d", db.path, ErrDamaged, schema)
	}
	return schema, nil
}

// gate is for writers: it refuses files that are too new, and migrates old ones.
func (db *DB) gate(ctx context.Context) error {
	schema, err := db.identify(ctx)
	if err != nil {
		return err
	}
	if schema > db.ladder.top() {
		return db.newer(schema)
	}
	// Each step changes the schema. The last one's with an older number is damage
	// that no step would find its way out of.
	if schema < db.ladder.top() && db.checkSchema(ctx) == nil {
		return fmt.Errorf("open cache %s: %w: its schema is not number %d", db.path, ErrDamaged, schema)
	}
	db.fresh = schema == 0
	return db.migrate(ctx, schema)
}

func (db *DB) newer(schema int) error {
	return fmt.Errorf("open cache %s: %w", db.path, &NewerError{Schema: schema, Known: db.ladder.top()})
}

// Outdated gives *NewerError if a newer program has changed the cache's form: it
// must not be written then, even if it was ours when it was opened.
func (db *DB) Outdated(ctx context.Context) error {
	schema, err := db.Schema(ctx)
	if err != nil {
		return err
	}
	if schema > db.ladder.top() {
		return db.newer(schema)
	}
	return nil
}

// readable lets a reader of a newer cache go on if that says that it may.
func (db *DB) readable(ctx context.Context) error {
	schema, err := db.identify(ctx)
	if err != nil || schema <= db.ladder.top() {
		return err
	}
	var least int
	err = db.sql.QueryRowContext(ctx, "SELECT CAST(value AS INTEGER) FROM meta WHERE key='min_reader'").Scan(&least)
	if err != nil || least > db.ladder.top() {
		return db.newer(schema)
	}
	return nil
}

// Close closes the cache. A writer leaves a short WAL behind.
func (db *DB) Close() error {
	err := db.unwatch()
	if !db.writer {
		return errors.Join(err, db.sql.Close())
	}
	if db.read != db.sql {
		err = errors.Join(err, db.read.Close())
	}
	// Best effort: a reader's snapshot may hold the WAL, the next start tries again.
	_ = db.Checkpoint(context.Background())
	return errors.Join(err, db.sql.Close())
}

// Fresh tells whether Open made the cache: there was none.
func (db *DB) Fresh() bool { return db.fresh }

// Path is where the cache lies.
func (db *DB) Path() string { return db.path }

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
