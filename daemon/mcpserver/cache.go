package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// retargetEvery is how often what sessions reported of windows is read anew.
const retargetEvery = time.Minute

// cache opens the store at the first question, and again when another file
// stands in its place or its schema moved.
type cache struct {
	open func(context.Context) (*store.DB, error)
	opt  pipeline.Options
	log  *slog.Logger
	now  func() time.Time
	// gate is held while looking and opening; mu is never held that long.
	gate chan struct{}
	bare *pipeline.Pipeline // without a store: knows models only; the gate guards it

	mu     sync.Mutex // guards the fields below, and users and old of handles
	cur    *handle
	closed bool
}

func newCache(d Deps, log *slog.Logger) *cache {
	return &cache{open: d.OpenStore, opt: d.PipelineOptions, log: log, now: time.Now, gate: make(chan struct{}, 1)}
}

// handle is an open store. It is closed when the last user is done with it
// after it was replaced.
type handle struct {
	db     *store.DB
	pipe   *pipeline.Pipeline
	file   os.FileInfo
	schema int
	looked time.Time // when windows were read; the gate guards it
	users  int
	old    bool // replaced: the last user closes it
}

// use gives the open cache until release is called.
func (c *cache) use(ctx context.Context) (h *handle, release func(), err error) {
	if err := c.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer c.leave()
	h = c.take()
	if h != nil && !c.current(ctx, h) {
		c.retire()
		c.release(h)
		h = nil
	}
	if h == nil {
		fresh, err := c.openNow(ctx)
		if err != nil {
			return nil, nil, err
		}
		h = c.install(fresh)
	}
	// A vocabulary that was imported since counts at once.
	if _, err := h.pipe.Follow(ctx); err != nil {
		c.log.Warn("take imported vocabularies in", "err", err)
	}
	if c.now().Sub(h.looked) > retargetEvery {
		h.looked = c.now()
		if err := h.pipe.Retarget(ctx); err != nil {
			c.log.Warn("read reported windows", "err", err)
		}
	}
	return h, func() { c.release(h) }, nil
}

func (c *cache) enter(ctx context.Context) error {
	select {
	case c.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cache) leave() { <-c.gate }

// take gives what is open, with one user more; nil if nothing is.
func (c *cache) take() *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cur != nil {
		c.cur.users++
	}
	return c.cur
}

// install puts h in use, with one user. A server that ended meanwhile lets the
// user close it.
func (c *cache) install(h *handle) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.users = 1
	if c.closed {
		h.old = true
	} else {
		c.cur = h
	}
	return h
}

func (c *cache) openNow(ctx context.Context) (*handle, error) {
	if c.open == nil {
		return nil, store.ErrNone
	}
	db, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	h := &handle{db: db, looked: c.now()}
	if h.file, err = os.Stat(db.Path()); err != nil {
		return nil, errors.Join(fmt.Errorf("look at the cache: %w", err), db.Close())
	}
	if h.schema, err = db.Schema(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if h.pipe, err = pipeline.New(ctx, db, c.opt); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return h, nil
}

// current tells whether what was opened is still what lies there.
func (c *cache) current(ctx context.Context, h *handle) bool {
	file, err := os.Stat(h.db.Path())
	if err != nil || !os.SameFile(file, h.file) {
		return false
	}
	schema, err := h.db.Schema(ctx)
	return errors.Is(err, store.ErrBusy) || ctx.Err() != nil || err == nil && schema == h.schema
}

// retire takes the open store out of use; its last user closes it.
func (c *cache) retire() {
	c.mu.Lock()
	h := c.cur
	c.cur = nil
	if h != nil {
		h.old = true
	}
	idle := h != nil && h.users == 0
	c.mu.Unlock()
	if idle {
		c.closeHandle(h)
	}
}

func (c *cache) release(h *handle) {
	c.mu.Lock()
	h.users--
	idle := h.old && h.users == 0
	c.mu.Unlock()
	if idle {
		c.closeHandle(h)
	}
}

func (c *cache) closeHandle(h *handle) {
	if err := h.db.Close(); err != nil {
		c.log.Warn("close the cache", "err", err)
	}
}

// models gives a pipeline for what needs no session: with what sessions
// reported if there is a cache, without if there is none or it can't be read.
func (c *cache) models(ctx context.Context) (*pipeline.Pipeline, func(), error) {
	h, release, err := c.use(ctx)
	if err == nil {
		return h.pipe, release, nil
	}
	if err := c.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer c.leave()
	if c.bare == nil {
		if c.bare, err = pipeline.New(ctx, nil, c.opt); err != nil {
			return nil, nil, err
		}
	}
	_, err = c.bare.Follow(ctx)
	return c.bare, func() {}, err
}

// close closes what is open and in nobody's use; what is in use is closed by
// its last user.
func (c *cache) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.retire()
}
