package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
)

const (
	// roomLeast is what intake leaves free of the cache's file system, or
	// 1/roomShare of it if that is more: other programs need room too, and
	// ours needs some for its WAL. Of a small file system it is 1/roomSmall.
	roomLeast = 200 << 20
	roomShare = 100
	roomSmall = 10

	roomPoll = time.Second     // between looks for room; a look is one call
	fullMost = 4 * time.Second // between tries to write a cache that couldn't be written
)

// needed is pure: how many bytes intake leaves free of a file system.
func needed(total int64) int64 { return min(max(roomLeast, total/roomShare), total/roomSmall) }

// Paused says that intake waits, and why.
type Paused struct {
	Reason string    `json:"reason"` // empty: it doesn't
	Since  time.Time `json:"since"`
}

// gate holds intake back while the cache can't take anything in. Whoever writes
// asks it; it speaks once for all of them.
type gate struct {
	dir     string
	patient bool // waits; a command that ends by itself does not
	usage   func(dir string) (disk.Usage, error)
	log     *slog.Logger

	mu     sync.Mutex // guards the rest
	paused Paused
	failed bool // paused because a write failed, not because room ran short
	looked time.Time
}

// through runs a step that writes to the cache as soon as there is room for
// more, and as written does.
func (g *gate) through(ctx context.Context, step func() error) error {
	return g.written(ctx, func() error {
		if err := g.room(ctx); err != nil {
			return err
		}
		return step()
	})
}

// written runs a step that writes to the cache, again for as long as the cache
// can't be written. It returns other errors of the step; nil if ctx ended.
// Without patience it returns all of them.
func (g *gate) written(ctx context.Context, step func() error) error {
	for wait := roomPoll; ; wait = min(2*wait, fullMost) {
		err := step()
		if !errors.Is(err, store.ErrFull) {
			if err == nil {
				g.wrote()
			}
			return err
		}
		if !g.patient {
			return err
		}
		g.full(err)
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// room returns when enough is free.
func (g *gate) room(ctx context.Context) error {
	for {
		short := g.short()
		if short == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // told to stop: the step will tell
		}
		if !g.patient {
			return short
		}
		if !sleep(ctx, roomPoll) {
			return nil
		}
	}
}

// short is why intake has to wait for room; nil if it hasn't. What can't be
// known holds nothing back.
func (g *gate) short() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); !g.looked.IsZero() && now.Sub(g.looked) < roomPoll && (g.paused.Reason == "" || g.failed) {
		return nil // many files, one look
	} else {
		g.looked = now
	}
	u, err := g.usage(g.dir)
	if err != nil || u.Free >= needed(u.Total) {
		if !g.failed {
			g.end()
		}
		return nil //nolint:nilerr // the write itself will tell
	}
	short := shortOf(g.dir, u)
	g.begin(short, false)
	return short
}

func (g *gate) full(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begin(err, true)
}

func (g *gate) wrote() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed {
		g.end()
	}
}

// begin notes a pause, and says so if it is new. The caller holds the lock.
func (g *gate) begin(err error, failed bool) {
	if g.paused.Reason == "" {
		g.paused.Since = time.Now().UTC()
		g.log.Warn("intake waits", "err", err)
	}
	g.paused.Reason, g.failed = err.Error(), failed
}

// end notes that a pause is over. The caller holds the lock.
func (g *gate) end() {
	if g.paused.Reason != "" {
		g.log.Info("intake goes on", "took", time.Since(g.paused.Since))
	}
	g.paused, g.failed = Paused{}, false
}

func (g *gate) state() Paused {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused
}

// Short says that intake would wait now, because too little is free where the
// data folder lies; nil if it wouldn't.
func Short(c config.Config) error {
	u, err := disk.Of(c.Home)
	if err != nil || u.Free >= needed(u.Total) {
		return nil //nolint:nilerr // not there yet, or not known
	}
	return shortOf(c.Home, u)
}

func shortOf(dir string, u disk.Usage) error {
	return fmt.Errorf("%w: only %s are free where %s lies, and intake leaves %s", store.ErrFull, amount(u.Free), dir, amount(needed(u.Total)))
}

// amount writes bytes so that a small file system doesn't read as 0 MB.
func amount(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
