package search

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

	"github.com/session-migrator/session-migrator/store"
)

const (
	// applicationID marks a file as an index of ours: "SMix".
	applicationID = 0x534D6978
	// format is what the file looks like and how text is cut into words: an index
	// of another one is made anew. It rises with every change of segment or spoken.
	format = 1

	readers    = 2
	writerBusy = 5 * time.Second
	readerBusy = 250 * time.Millisecond
	// journalKept is what is left of a WAL that was long.
	journalKept = 4 << 20
	// checkEvery is how often the whole file is looked at: a reader that meets
	// damage can't tell the writer.
	checkEvery = 24 * time.Hour
)

// schema is all that the file has. Of a rollout that held names, the index has
// the items up to number through, and of no other rollout any: rowid is the
// item's id.
const schema = `
CREATE VIRTUAL TABLE words USING fts5(said, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE TABLE held(rollout INTEGER PRIMARY KEY, mark INTEGER NOT NULL, through INTEGER NOT NULL);
CREATE TABLE checked(id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL);`

var (
	// ErrNone means that there is no index yet.
	ErrNone = errors.New("no search index yet")
	// errShape means that the file is an index that isn't like ours.
	errShape = errors.New("the search index is of another form")
)

// Index is an open search index. It is safe for concurrent use.
type Index struct {
	path   string
	writer bool

	catching sync.Mutex // held by the one CatchUp
	seg      segmenter  // of CatchUp
	bounds   bounds     // of its transactions
	now      func() time.Time

	mu   sync.RWMutex // held to change what follows, shared to use it
	db   *sql.DB      // writes; nil of a reader
	read *sql.DB
	file os.FileInfo // of path when it was opened
}

// Open opens the index at path for writing: one process does. One that is
// missing, damaged, foreign or of another version is made anew.
func Open(ctx context.Context, path string) (*Index, error) {
	x := &Index{path: path, writer: true, bounds: defaultBounds(), now: time.Now}
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.connect(ctx)
	if broken(err) {
		err = x.anew(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, x.disconnect())
	}
	return x, nil
}

// OpenReader opens the index at path to ask it. ErrNone if there is none that
// this program can read.
func OpenReader(ctx context.Context, path string) (*Index, error) {
	x := &Index{path: path}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.connect(ctx); err != nil {
		return nil, errors.Join(useless(err), x.disconnect())
	}
	return x, nil
}

// useless tells a reader that there is no index if there is none for it: the
// writer will make it anew.
func useless(err error) error {
	if broken(err) {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return err
}

// Close frees the files.
func (x *Index) Close() error {
	x.catching.Lock()
	defer x.catching.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.disconnect()
}

// broken tells whether only an index made anew helps.
func broken(err error) bool {
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrForeign) || errors.Is(err, errShape)
}

// wrap turns SQLite's codes into sentinels.
func (x *Index) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if k := kind(err); k != nil {
		return fmt.Errorf("%s of search index %s: %w: %w", what, x.path, k, err)
	}
	return fmt.Errorf("%s of search index %s: %w", what, x.path, err)
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// connect opens the file and looks whether it is ours.
func (x *Index) connect(ctx context.Context) (err error) {
	if err := x.look(); err != nil {
		return err
	}
	q := url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {ms(readerBusy)}, "_stmt_cache_size": {"16"}, "_cache_size": {"-16000"}}
	if !x.writer {
		err := x.connectReader(ctx, q)
		if !errors.Is(err, store.ErrFolder) || x.walled() {
			return err
		}
		// A file system that can't be written has no room for the memory that
		// readers of a WAL share. Without a WAL none is needed.
		if err := x.disconnect(); err != nil {
			return err
		}
		q.Set("immutable", "1")
		return x.connectReader(ctx, q)
	}
	w := url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_busy_timeout": {ms(writerBusy)}, "_txlock": {"immediate"}, "_stmt_cache_size": {"16"}, "_auto_vacuum": {"incremental"}, "_cache_size": {"-16000"}}
	if x.db, err = x.pool(w, 1); err != nil {
		return err
	}
	if err := x.prepare(ctx); err != nil {
		return err
	}
	x.read = x.db // a writer is seldom asked, and descriptors may be few
	return nil
}

func (x *Index) connectReader(ctx context.Context, q url.Values) (err error) {
	if x.read, err = x.pool(q, readers); err != nil {
		return err
	}
	if err := x.identify(ctx, x.read); err != nil {
		return err
	}
	return x.all(ctx)
}

// walled tells whether something may stand in the WAL.
func (x *Index) walled() bool {
	st, err := os.Stat(x.path + "-wal")
	return err == nil && st.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// look looks at the file before SQLite does, and makes it with mode 0600.
func (x *Index) look() error {
	st, err := os.Stat(x.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && x.writer:
		if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
			return fmt.Errorf("create data folder: %w", err)
		}
		f, err := os.OpenFile(x.path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("create search index: %w", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("create search index: %w", err)
		}
		if st, err = os.Stat(x.path); err != nil {
			return fmt.Errorf("create search index: %w", err)
		}
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open search index %s: %w", x.path, ErrNone)
	case err != nil:
		return fmt.Errorf("open search index: %w", err)
	case !st.Mode().IsRegular():
		return fmt.Errorf("open search index %s: not a file: %w", x.path, fs.ErrInvalid)
	}
	x.file = st
	return nil
}

func (x *Index) pool(q url.Values, conns int) (*sql.DB, error) {
	abs, err := filepath.Abs(x.path)
	if err != nil {
		return nil, fmt.Errorf("find search index: %w", err)
	}
	p := filepath.ToSlash(abs)
	if p[0] != '/' { // a drive letter
		p = "/" + p
	}
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: p}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open search index %s: %w", x.path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// all opens the readers' connections now: see connectAll of the cache.
func (x *Index) all(ctx context.Context) (err error) {
	var cs []*sql.Conn
	defer func() {
		for _, c := range cs {
			err = errors.Join(err, c.Close()) // gives it back
		}
	}()
	for range readers {
		c, err := x.read.Conn(ctx)
		if err != nil {
			return x.wrap("connect", err)
		}
		cs = append(cs, c)
		var n int
		if err := c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
			return x.wrap("connect", err)
		}
	}
	return nil
}

// querier is what a pool and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// identify refuses files that aren't ours: ErrNone for an empty one,
// store.ErrForeign, errShape for another format.
func (x *Index) identify(ctx context.Context, q querier) error {
	var app, version, tables int
	if err := q.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version)").Scan(&tables, &app, &version); err != nil {
		return x.wrap("read the format", err)
	}
	switch {
	case tables == 0 && app == 0:
		return fmt.Errorf("open search index %s: %w", x.path, ErrNone)
	case app != applicationID:
		return fmt.Errorf("open search index %s: %w", x.path, store.ErrForeign)
	case version != format:
		return fmt.Errorf("open search index %s: format %d: %w", x.path, version, errShape)
	}
	return nil
}

// prepare makes the tables in a file that has none.
func (x *Index) prepare(ctx context.Context) error {
	if _, err := x.db.ExecContext(ctx, "PRAGMA journal_size_limit="+strconv.Itoa(journalKept)); err != nil {
		return x.wrap("set the journal limit", err)
	}
	switch err := x.identify(ctx, x.db); {
	case err == nil:
		return nil
	case !errors.Is(err, ErrNone):
		return err
	}
	return x.write(ctx, "make the tables", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema+tuning+fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, format))
		return err
	})
}

// anew takes the file away and makes it again. Who still reads the old one
// keeps it until the next question.
func (x *Index) anew(ctx context.Context) error {
	if err := x.disconnect(); err != nil {
		return err
	}
	// The shared memory goes before there is a file that could take it for its own.
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(x.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the search index: %w", err)
		}
	}
	return x.connect(ctx)
}

func (x *Index) disconnect() (err error) {
	for _, db := range []*sql.DB{x.read, x.db} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	x.read, x.db = nil, nil
	return err
}

// write runs f in a transaction.
func (x *Index) write(ctx context.Context, what string, f func(*sql.Tx) error) error {
	return x.wrap(what, inTx(ctx, x.db, f))
}

// inTx runs f in a transaction: all of it is done, or nothing.
func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		if rb := tx.Rollback(); rb != nil && !errors.Is(rb, sql.ErrTxDone) {
			err = errors.Join(err, rb)
		}
		return err
	}
	return tx.Commit()
}

// view gives the index as it stands, to be asked and then released. A reader
// follows when the index was made anew. ErrNone if there is none.
func (x *Index) view(ctx context.Context) (tx *sql.Tx, release func(), err error) {
	if err := x.follow(ctx); err != nil {
		return nil, nil, err
	}
	x.mu.RLock()
	if x.read == nil {
		x.mu.RUnlock()
		return nil, nil, fmt.Errorf("ask search index %s: %w", x.path, ErrNone)
	}
	tx, err = x.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		if err = x.identify(ctx, tx); err != nil {
			_ = tx.Rollback() // nothing was written
		}
	}
	if err != nil {
		x.mu.RUnlock()
		return nil, nil, useless(x.wrap("ask", err))
	}
	return tx, func() {
		_ = tx.Rollback() // nothing was written
		x.mu.RUnlock()
	}, nil
}

// follow opens the file again that is at the path now.
func (x *Index) follow(ctx context.Context) error {
	if x.writer {
		return nil
	}
	st, err := os.Stat(x.path)
	x.mu.RLock()
	same := err == nil && x.read != nil && os.SameFile(st, x.file)
	x.mu.RUnlock()
	if same {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.disconnect(); err != nil {
		return err
	}
	if err := x.connect(ctx); err != nil {
		return errors.Join(useless(err), x.disconnect())
	}
	return nil
}

// check looks at the whole file. It is for times when nothing else is to do.
func (x *Index) check(ctx context.Context) error {
	var first string
	if err := x.read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&first); err != nil {
		return x.wrap("check", err)
	}
	if first != "ok" {
		return fmt.Errorf("check of search index %s: %w: %s", x.path, store.ErrDamaged, first)
	}
	_, err := x.db.ExecContext(ctx, "INSERT OR REPLACE INTO checked VALUES(1, ?)", x.now().UnixNano())
	return x.wrap("save the check", err)
}

// unchecked tells whether the last check is a day ago, or lies ahead.
func (x *Index) unchecked(ctx context.Context) (bool, error) {
	var at int64
	err := x.db.QueryRowContext(ctx, "SELECT at_ns FROM checked").Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	age := x.now().Sub(time.Unix(0, at))
	return age < 0 || age > checkEvery, x.wrap("look for the last check", err)
}
