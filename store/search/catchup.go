package search

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// bounds are those of a transaction: whoever waits for the processor or the disk
// waits no longer than for one.
type bounds struct {
	bytes   int // of text as the cache has it
	items   int
	deletes int64 // item numbers taken out
	time    time.Duration
}

func defaultBounds() bounds {
	return bounds{bytes: 8 << 20, items: 20000, deletes: 5000, time: 500 * time.Millisecond}
}

// tuning is of FTS5, by BenchmarkIndex: what is to be written fits the
// processor's cache, and pieces are joined by settle, in steps that nobody waits
// for, and not a second time.
const tuning = `
INSERT INTO words(words, rank) VALUES('hashsize', 4194304);
INSERT INTO words(words, rank) VALUES('automerge', 0);
INSERT INTO words(words, rank) VALUES('crisismerge', 100);
`

// Progress tells what a CatchUp did.
type Progress struct {
	Items int64 // taken in
	Bytes int64 // of text, of these
}

// CatchUp takes in what db holds and the index doesn't, newest threads first,
// in small transactions; between two of them it calls pause (nil: nothing),
// whose error ends it. It goes on where an earlier one ended. An index that
// turns out to be damaged is made anew. Errors: those of db and of pause,
// store.ErrFull and store.ErrFolder if the index can't be written.
func (x *Index) CatchUp(ctx context.Context, db *store.DB, pause func(context.Context) error) (Progress, error) {
	x.catching.Lock()
	defer x.catching.Unlock()
	c := &catchUp{x: x, db: db, pause: pause}
	err := x.reconnect(ctx, false)
	if err == nil {
		err = c.run(ctx)
	}
	if broken(err) && c.own {
		if err = x.reconnect(ctx, true); err == nil {
			err = c.run(ctx)
		}
	}
	return c.done, err
}

// reconnect makes the index anew; without force only if there is none since an
// attempt to do so failed.
func (x *Index) reconnect(ctx context.Context, force bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil && !force {
		return nil
	}
	err := x.anew(ctx)
	if err != nil {
		err = errors.Join(err, x.disconnect())
	}
	return err
}

// catchUp is one CatchUp.
type catchUp struct {
	x     *Index
	db    *store.DB
	pause func(context.Context) error
	done  Progress
	own   bool // the last error is the index's
	begun bool // a transaction was made
}

// holding is what the index has of a rollout.
type holding struct{ mark, through int64 }

func (c *catchUp) run(ctx context.Context) error {
	stale, behind, err := c.compare(ctx)
	if err != nil {
		return err
	}
	for row, h := range stale {
		if err := c.drop(ctx, row, h); err != nil {
			return err
		}
	}
	if err := c.db.SortNewest(ctx, behind); err != nil {
		return err
	}
	for n := 1; len(behind) > 0; n++ {
		if behind, err = c.step(ctx, behind); err != nil {
			return err
		}
		if n%settleSteps == 0 {
			if err := c.settle(ctx); err != nil {
				return err
			}
		}
	}
	if c.begun {
		if err := c.settle(ctx); err != nil {
			return err
		}
		err := c.x.vacuum(ctx)
		if c.own = err != nil; err != nil {
			return err
		}
	}
	return c.check(ctx)
}

const (
	// settlePages is how much is joined in one transaction: some 1 MiB.
	settlePages = 256
	// settleSteps is after how many steps it is, while much is taken in: each
	// leaves a piece.
	settleSteps = 48
	// freePart of the pages may be free.
	freePart = 8
)

// settle joins pieces of the index of which there are several of a size: a
// question looks into each of them. Nothing is written where there is nothing
// to join.
func (c *catchUp) settle(ctx context.Context) error {
	for joined := true; joined; {
		err := c.write(ctx, "join pieces", func(tx *sql.Tx) error {
			var before, after int64
			if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO words(words, rank) VALUES('merge', ?)", settlePages); err != nil {
				return err
			}
			err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after)
			joined = after-before >= 2 // one is the command's own
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// vacuum gives pages back to the disk when many are free.
func (x *Index) vacuum(ctx context.Context) error {
	var free, all int64
	if err := x.db.QueryRowContext(ctx, "SELECT (SELECT * FROM pragma_freelist_count), (SELECT * FROM pragma_page_count)").Scan(&free, &all); err != nil {
		return x.wrap("count the pages", err)
	}
	if free*freePart < all {
		return nil
	}
	rows, err := x.db.QueryContext(ctx, "PRAGMA incremental_vacuum") // a step a page
	if err != nil {
		return x.wrap("give back pages", err)
	}
	defer rows.Close()
	for rows.Next() {
		continue
	}
	return x.wrap("give back pages", rows.Err())
}

// check looks for damage that nothing met.
func (c *catchUp) check(ctx context.Context) error {
	due, err := c.x.unchecked(ctx)
	if err == nil && due {
		if c.begun && c.pause != nil {
			if err := c.pause(ctx); err != nil {
				return err
			}
		}
		err = c.x.check(ctx)
	}
	c.own = err != nil
	return err
}

// compare gives what is held of rollouts that no longer say so, and the rows of
// those of which something is missing.
func (c *catchUp) compare(ctx context.Context) (stale map[int64]holding, behind []int64, err error) {
	held, err := c.x.held(ctx, c.x.db)
	if c.own = err != nil; err != nil {
		return nil, nil, err
	}
	err = c.db.Marks(ctx, func(row, mark, last int64) {
		h, ok := held[row]
		if ok && h.mark == mark && h.through <= last {
			delete(held, row)
		} else {
			h.through = 0
		}
		if h.through < last {
			behind = append(behind, row)
		}
	})
	return held, behind, err
}

func (x *Index) held(ctx context.Context, q querier) (map[int64]holding, error) {
	out, err := holdings(ctx, q, "SELECT rollout, mark, through FROM held")
	return out, x.wrap("list rollouts", err)
}

// holdings reads what is held, by rollout.
func holdings(ctx context.Context, q querier, query string, args ...any) (map[int64]holding, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]holding{}
	for rows.Next() {
		var row int64
		var h holding
		if err := rows.Scan(&row, &h.mark, &h.through); err != nil {
			return nil, err
		}
		out[row] = h
	}
	return out, rows.Err()
}

// write runs f in a transaction of the index, after a pause if there was one
// before.
func (c *catchUp) write(ctx context.Context, what string, f func(*sql.Tx) error) error {
	c.own = false
	if c.begun && c.pause != nil {
		if err := c.pause(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.begun = true
	err := c.x.write(ctx, what, f)
	c.own = err != nil
	return err
}

// drop takes a rollout out, last items first.
func (c *catchUp) drop(ctx context.Context, row int64, h holding) error {
	for {
		rest := max(0, h.through-c.x.bounds.deletes)
		err := c.write(ctx, "take a rollout out", func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid BETWEEN ? AND ?", row<<32|rest+1, row<<32|h.through); err != nil {
				return err
			}
			if rest == 0 {
				_, err := tx.ExecContext(ctx, "DELETE FROM held WHERE rollout=?", row)
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE held SET through=? WHERE rollout=?", rest, row)
			return err
		})
		if err != nil || rest == 0 {
			return err
		}
		h.through = rest
	}
}

// errCache carries an error of the cache through a transaction of the index.
type errCache struct{ error }

// step takes in as much as a transaction may, and gives the rollouts of which
// something is left.
func (c *catchUp) step(ctx context.Context, behind []int64) (left []int64, err error) {
	var did Progress
	err = c.write(ctx, "take items in", func(tx *sql.Tx) error {
		left, did = behind, Progress{}
		st, err := tx.PrepareContext(ctx, "INSERT INTO words(rowid, said) VALUES(?, ?)")
		if err != nil {
			return err
		}
		defer st.Close()
		most := c.x.bounds
		start, budget := time.Now(), most.bytes
		for len(left) > 0 && budget > 0 && did.Items < int64(most.items) && time.Since(start) < most.time {
			row := left[0]
			whole, used, err := c.rollout(ctx, tx, st, row, budget, &did)
			if err != nil {
				return err
			}
			if budget -= used; whole {
				left = left[1:]
			}
		}
		return nil
	})
	if e, ok := errors.AsType[errCache](err); ok {
		c.own, err = false, e.error
	}
	if err != nil {
		return nil, err
	}
	c.done.Items += did.Items
	c.done.Bytes += did.Bytes
	return left, nil
}

// rollout takes in the next items of one; whole if that was all, or if what is
// held of it is to be taken out first.
func (c *catchUp) rollout(ctx context.Context, tx *sql.Tx, st *sql.Stmt, row int64, budget int, did *Progress) (whole bool, used int, err error) {
	var h holding
	held := true
	err = tx.QueryRowContext(ctx, "SELECT mark, through FROM held WHERE rollout=?", row).Scan(&h.mark, &h.through)
	if errors.Is(err, sql.ErrNoRows) {
		held, err = false, nil
	}
	if err != nil {
		return false, 0, err
	}
	// The driver starts a goroutine for each row and statement that may be
	// cancelled. What follows is short.
	ctx = context.WithoutCancel(ctx)
	items, bytes := min(1000, c.x.bounds.items), min(budget, 1<<20)
	ms, through, mark, err := c.db.Items(ctx, row, h.through, bytes, items)
	if errors.Is(err, store.ErrNotFound) {
		return true, 0, nil // dropped by the next CatchUp
	}
	if err != nil {
		return false, 0, errCache{err}
	}
	if held && (mark != h.mark || through < h.through) {
		return true, 0, nil // changed meanwhile: the same
	}
	for i := range ms {
		m := &ms[i]
		used += len(m.Args) + len(m.Text)
		n := c.x.seg.item(m)
		if n < 0 {
			continue
		}
		if _, err := st.ExecContext(ctx, m.ID, view(c.x.seg.out)); err != nil {
			return false, 0, err
		}
		did.Items++
		did.Bytes += int64(n)
	}
	if through > h.through {
		if _, err := tx.ExecContext(ctx, "INSERT INTO held VALUES(?,?,?) ON CONFLICT DO UPDATE SET through=excluded.through", row, mark, through); err != nil {
			return false, 0, err
		}
	}
	return len(ms) < items && used < bytes, used, nil
}

// Behind counts the items that db holds and the index doesn't; items that are
// never taken in are among them.
func (x *Index) Behind(ctx context.Context, db *store.DB) (n int64, err error) {
	tx, release, err := x.view(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	err = x.gaps(ctx, tx, db, func(_, after, last int64) { n += last - after })
	return n, err
}

// gaps calls f with each rollout of which the index doesn't hold all: it has
// the items up to number after of last. What it has of other numbers says
// nothing. f asks neither the index nor the cache.
func (x *Index) gaps(ctx context.Context, tx *sql.Tx, db *store.DB, f func(row, after, last int64)) error {
	held, err := x.held(ctx, tx)
	if err != nil {
		return err
	}
	return db.Marks(ctx, func(row, mark, last int64) {
		h := held[row]
		if h.mark != mark || h.through > last {
			h.through = 0
		}
		if h.through < last {
			f(row, h.through, last)
		}
	})
}
