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
	"sync"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

const (
	// vectorsID marks a file of vectors as ours: "SMiv".
	vectorsID     = 0x534D6976
	vectorsFormat = 1
)

// vectorsSchema is all that the file has. A passage's vector is shared by all
// passages that say the same. held is like that of the index, for each model.
// What was taken away since shows in dropped, what was added in the passages'
// ids: who has read all up to one of them need read only what follows.
const vectorsSchema = `
CREATE TABLE model(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dims INTEGER NOT NULL, dropped INTEGER NOT NULL DEFAULT 0);
CREATE TABLE vector(id INTEGER PRIMARY KEY, model INTEGER NOT NULL, hash BLOB NOT NULL, scale REAL NOT NULL, data BLOB NOT NULL, UNIQUE(model, hash));
CREATE TABLE passage(id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL, model INTEGER NOT NULL, vector INTEGER NOT NULL);
CREATE INDEX passage_item ON passage(item);
CREATE INDEX passage_vector ON passage(vector);
CREATE TABLE held(rollout INTEGER NOT NULL, model INTEGER NOT NULL, mark INTEGER NOT NULL, through INTEGER NOT NULL, PRIMARY KEY(rollout, model)) WITHOUT ROWID;`

// Vectors are what passages of items mean, as numbers, in a file of their own:
// they may have cost money, so they don't go when the index of words is made
// anew. It is safe for concurrent use.
type Vectors struct {
	path   string
	writer bool

	mu     sync.Mutex // guards the rest; of db only its change by a reader
	db     *sql.DB
	file   os.FileInfo // of path when it was opened
	loaded *matrix     // of the model that was asked for last
}

// OpenVectors opens the file at path for writing: one process does. One that is
// missing is made; one that is damaged or foreign is made anew.
func OpenVectors(ctx context.Context, path string) (*Vectors, error) {
	v, err := connectVectors(ctx, path, true)
	if !broken(err) {
		return v, err
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := gone(os.Remove(path + suffix)); err != nil {
			return nil, fmt.Errorf("remove damaged vectors: %w", err)
		}
	}
	return connectVectors(ctx, path, true)
}

// OpenVectorsReader opens the file at path to ask it. ErrNone if there is none
// that this program can read.
func OpenVectorsReader(ctx context.Context, path string) (*Vectors, error) {
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open vectors %s: %w", path, ErrNone)
	case err != nil:
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	v, err := connectVectors(ctx, path, false)
	if broken(err) {
		return nil, fmt.Errorf("open vectors %s: %w", path, errors.Join(ErrNone, err))
	}
	return v, err
}

func connectVectors(ctx context.Context, path string, writer bool) (*Vectors, error) {
	q := url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {ms(readerBusy)}, "_stmt_cache_size": {"16"}}
	if writer {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("create data folder: %w", err)
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			// What lay beside an old file is not for the new one.
			if err := errors.Join(gone(os.Remove(path+"-wal")), gone(os.Remove(path+"-shm"))); err != nil {
				return nil, fmt.Errorf("create vectors: %w", err)
			}
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("create vectors: %w", err)
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("create vectors: %w", err)
		}
		q = url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_busy_timeout": {ms(writerBusy)}, "_txlock": {"immediate"}, "_stmt_cache_size": {"16"}}
	}
	db, err := (&Index{path: path}).pool(q, 1)
	if err != nil {
		return nil, err
	}
	v := &Vectors{path: path, writer: writer, db: db}
	if v.file, err = os.Stat(path); err != nil {
		return nil, errors.Join(fmt.Errorf("open vectors: %w", err), db.Close())
	}
	err = v.identify(ctx, writer)
	if err == nil && writer {
		err = v.check(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return v, nil
}

// identify refuses files that aren't ours, and makes the tables in an empty one.
func (v *Vectors) identify(ctx context.Context, writer bool) error {
	var app, version, tables int
	if err := v.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version)").Scan(&tables, &app, &version); err != nil {
		return v.wrap("read the format", err)
	}
	switch {
	case tables == 0 && app == 0 && writer:
		return v.write(ctx, "make the tables", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, vectorsSchema+fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", vectorsID, vectorsFormat))
			return err
		})
	case tables == 0 && app == 0:
		return fmt.Errorf("open vectors %s: %w", v.path, ErrNone)
	case app != vectorsID:
		return fmt.Errorf("open vectors %s: %w", v.path, store.ErrForeign)
	case version != vectorsFormat:
		return fmt.Errorf("open vectors %s: format %d: %w", v.path, version, errShape)
	}
	return nil
}

// check looks the file over: what is damaged must not be asked again and again.
func (v *Vectors) check(ctx context.Context) error {
	var found string
	if err := v.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return v.wrap("check", err)
	}
	if found != "ok" {
		return fmt.Errorf("check vectors %s: %s: %w", v.path, found, store.ErrDamaged)
	}
	return nil
}

// gone forgives that there was nothing to remove.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Replaced tells whether the path no longer leads to the open file: what is
// written then is lost.
func (v *Vectors) Replaced() bool {
	st, err := os.Stat(v.path)
	return err != nil || !os.SameFile(st, v.file)
}

// Close frees the file.
func (v *Vectors) Close() error { return v.db.Close() }

func (v *Vectors) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if k := kind(err); k != nil {
		return fmt.Errorf("%s of vectors %s: %w: %w", what, v.path, k, err)
	}
	return fmt.Errorf("%s of vectors %s: %w", what, v.path, err)
}

// write runs f in a transaction.
func (v *Vectors) write(ctx context.Context, what string, f func(*sql.Tx) error) error {
	return v.wrap(what, inTx(ctx, v.db, f))
}

// model gives the number and the length of the vectors of a model; zeros for
// one that has none.
func (v *Vectors) model(ctx context.Context, q querier, name string) (id int64, dims int, err error) {
	err = q.QueryRowContext(ctx, "SELECT id, dims FROM model WHERE name=?", name).Scan(&id, &dims)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return id, dims, v.wrap("find a model", err)
}

// Holding is how far the vectors of a rollout go.
type Holding struct{ Row, Mark, Through int64 }

// Missing gives the rollouts of db that a model has no, or not all, vectors for,
// those of the newest threads first. What is held of rollouts that no longer say
// so is taken out first.
func (v *Vectors) Missing(ctx context.Context, db *store.DB, model string) ([]Holding, error) {
	id, _, err := v.model(ctx, v.db, model)
	if err != nil {
		return nil, err
	}
	held, err := v.held(ctx, id)
	if err != nil {
		return nil, err
	}
	behind := map[int64]Holding{}
	var rows []int64
	err = db.Marks(ctx, func(row, mark, last int64) {
		h, ok := held[row]
		if ok && h.mark == mark && h.through <= last {
			delete(held, row)
		} else {
			h.through = 0
		}
		if h.through < last {
			behind[row] = Holding{Row: row, Mark: mark, Through: h.through}
			rows = append(rows, row)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := v.drop(ctx, id, held); err != nil {
		return nil, err
	}
	if err := db.SortNewest(ctx, rows); err != nil {
		return nil, err
	}
	out := make([]Holding, len(rows))
	for i, row := range rows {
		out[i] = behind[row]
	}
	return out, nil
}

func (v *Vectors) held(ctx context.Context, model int64) (map[int64]holding, error) {
	out, err := holdings(ctx, v.db, "SELECT rollout, mark, through FROM held WHERE model=?", model)
	return out, v.wrap("list rollouts", err)
}

// drop takes out what rollouts were said to hold. Their vectors stay until
// Sweep: most of it is said again.
func (v *Vectors) drop(ctx context.Context, model int64, stale map[int64]holding) error {
	if len(stale) == 0 {
		return nil
	}
	return v.write(ctx, "take out passages", func(tx *sql.Tx) error {
		for row := range stale {
			if _, err := tx.ExecContext(ctx, "DELETE FROM passage WHERE model=? AND item BETWEEN ? AND ?", model, row<<32, row<<32|(1<<32-1)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "DELETE FROM held WHERE model=? AND rollout=?", model, row); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "UPDATE model SET dropped=dropped+1 WHERE id=?", model)
		return err
	})
}

// Known gives those of the passages that a model has vectors for.
func (v *Vectors) Known(ctx context.Context, model string, hashes []transcript.Hash) (map[transcript.Hash]bool, error) {
	out := map[transcript.Hash]bool{}
	id, _, err := v.model(ctx, v.db, model)
	if err != nil || id == 0 {
		return out, err
	}
	for _, h := range hashes {
		var is bool
		if err := v.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM vector WHERE model=? AND hash=?)", id, h[:]).Scan(&is); err != nil {
			return nil, v.wrap("look for vectors", err)
		}
		if is {
			out[h] = true
		}
	}
	return out, nil
}

// Taken is what Put takes in of a rollout: all of its items up to Through that
// are to be found have their passages in it, or were taken in before.
type Taken struct {
	Holding
	Items []Item
}

// Item is an item with its passages.
type Item struct {
	ID       int64
	Passages []transcript.Hash
}

// Put takes in passages and the vectors, normalised, that are new. A nil vector
// is of a passage that its model can't take: it is not asked again. Passages
// without a vector are passed over. Vectors of another length than before mean
// that the model is another one by the same name: what it had goes, nothing is
// taken in, and an error says so.
func (v *Vectors) Put(ctx context.Context, model string, vectors map[transcript.Hash][]float32, taken []Taken) error {
	dims := 0
	for _, vec := range vectors {
		if dims = max(dims, len(vec)); vec != nil && len(vec) != dims {
			return fmt.Errorf("bug: vectors of %d and %d dimensions", len(vec), dims)
		}
	}
	if err := v.fits(ctx, model, dims); err != nil {
		return err
	}
	return v.write(ctx, "take in vectors", func(tx *sql.Tx) error {
		id, err := v.modelFor(ctx, tx, model, dims)
		if err != nil {
			return err
		}
		for h, vec := range vectors {
			scale, data := quantise(vec)
			if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO vector(model, hash, scale, data) VALUES(?,?,?,?)", id, h[:], scale, data); err != nil {
				return err
			}
		}
		for _, t := range taken {
			for _, it := range t.Items {
				for _, h := range it.Passages {
					if _, err := tx.ExecContext(ctx, "INSERT INTO passage(item, model, vector) SELECT ?, model, id FROM vector WHERE model=? AND hash=? AND length(data)>0", it.ID, id, h[:]); err != nil {
						return err
					}
				}
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO held(rollout, model, mark, through) VALUES(?,?,?,?)", t.Row, id, t.Mark, t.Through); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *Vectors) modelFor(ctx context.Context, tx *sql.Tx, name string, dims int) (int64, error) {
	if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO model(name, dims) VALUES(?,?)", name, dims); err != nil {
		return 0, err
	}
	id, was, err := v.model(ctx, tx, name)
	if err == nil && was == 0 && dims > 0 {
		_, err = tx.ExecContext(ctx, "UPDATE model SET dims=? WHERE id=?", dims, id)
	}
	return id, err
}

// fits empties a model whose vectors have another length by now.
func (v *Vectors) fits(ctx context.Context, name string, dims int) error {
	id, was, err := v.model(ctx, v.db, name)
	if err != nil || was == 0 || dims == 0 || was == dims {
		return err
	}
	err = v.write(ctx, "forget a model", func(tx *sql.Tx) error {
		for _, q := range []string{"UPDATE model SET dims=0, dropped=dropped+1 WHERE id=?", "DELETE FROM held WHERE model=?", "DELETE FROM passage WHERE model=?", "DELETE FROM vector WHERE model=?"} {
			if _, err := tx.ExecContext(ctx, q, id); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, fmt.Errorf("%s gives %d dimensions where it gave %d: all vectors are made anew", name, dims, was))
}

// Sweep takes out what belongs to no item any more, and what other models made.
// It is for when nothing is missing: until then what was dropped may come back.
func (v *Vectors) Sweep(ctx context.Context, model string) (n int64, err error) {
	err = v.write(ctx, "sweep", func(tx *sql.Tx) error {
		id, _, err := v.model(ctx, tx, model)
		if err != nil || id == 0 {
			return err
		}
		for _, q := range []string{
			"DELETE FROM held WHERE model<>?",
			"DELETE FROM passage WHERE model<>?",
			"DELETE FROM vector WHERE model<>?1 OR length(data)>0 AND NOT EXISTS (SELECT 1 FROM passage WHERE vector=vector.id)",
			"DELETE FROM model WHERE id<>?",
		} {
			r, err := tx.ExecContext(ctx, q, id)
			if err != nil {
				return err
			}
			of, err := r.RowsAffected()
			if err != nil {
				return err
			}
			n += of
		}
		return nil
	})
	return n, err
}

// Count is the number of passages that a model has vectors for.
func (v *Vectors) Count(ctx context.Context, model string) (n int64, err error) {
	err = v.db.QueryRowContext(ctx, "SELECT count(*) FROM passage WHERE model=(SELECT id FROM model WHERE name=?)", model).Scan(&n)
	return n, v.wrap("count passages", err)
}
