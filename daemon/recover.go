package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// The ladder, from the top:
//
//	[1] a cache that is damaged or another program's is set aside, one is kept;
//	[2] a new one takes over of it what no rollout can give again, as far as it
//	    can be read, and what is missing from the newest backup;
//	[3] everything else is read from the rollouts; answers say so meanwhile.

// Recovered says when the cache was last made anew, and why.
type Recovered struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Aside  string    `json:"set_aside,omitempty"` // where the damaged one lies
	Backup string    `json:"backup,omitempty"`    // what was missing came from here
	Kept   int       `json:"kept"`                // rollouts that are in no file any more
	Unread bool      `json:"unread,omitempty"`    // not all of the damaged one could be looked through
}

const recoveredKey = "recovered"

// openCache opens the cache and, if it can't be used, sets it aside and makes
// a new one [1].
func (e *engine) openCache(ctx context.Context) (db *store.DB, cause error, err error) {
	path := e.opt.Config.DB()
	db, err = store.Open(ctx, path)
	if err == nil {
		err = e.checked(ctx, db)
	}
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrForeign) {
		cause = err
		if e.aside, err = store.SetAside(path, time.Now()); err != nil {
			return nil, cause, err
		}
		e.log.Log(ctx, e.healing(), "the cache can't be used: it was set aside and is made anew", "path", path, "aside", e.aside, "err", cause)
		db, err = store.Open(ctx, path)
	}
	return db, cause, err
}

// refill begins to fill a cache that was just made [2]. cause is why the one
// before could not be used; nil if there was none.
func (e *engine) refill(ctx context.Context, cause error) error {
	r := &pipeline.Rebuild{Since: time.Now().UTC()}
	done := Recovered{At: r.Since, Reason: "there was no cache", Aside: e.aside}
	if cause != nil {
		r.Reason = cause.Error()
		done.Reason = r.Reason
	}
	if err := pipeline.SetRebuilding(ctx, e.db, r); err != nil {
		return err
	}
	if e.aside != "" {
		n, err := e.db.Rescue(ctx, filepath.Join(e.aside, filepath.Base(e.db.Path())))
		done.Unread = err != nil
		if err := e.rescued(ctx, "the damaged cache", err); err != nil {
			return err
		}
		done.Kept = n
	}
	n, from, err := e.db.Restore(ctx)
	if err := e.rescued(ctx, "the backups", err); err != nil {
		return err
	}
	if err == nil {
		done.Backup, done.Kept = from, max(done.Kept, n)
	}
	if cause == nil && from == "" {
		return nil // the first start
	}
	e.log.Info("the cache is made anew from the rollouts", "reason", done.Reason, "aside", done.Aside, "backup", done.Backup, "kept", done.Kept)
	if e.opt.Healed != nil && e.aside != "" {
		e.opt.Healed(done)
	}
	return e.setMeta(ctx, recoveredKey, done)
}

// healing is the level of what the log says of a heal: who is told besides
// needs it for details only.
func (e *engine) healing() slog.Level {
	if e.opt.Healed != nil {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// rescued tells whether making the cache anew can't go on. That nothing can be
// read where damage is, is no reason.
func (e *engine) rescued(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, store.ErrFull) {
		return err
	}
	e.log.Log(ctx, e.healing(), "not all could be taken over", "from", what, "err", err)
	return nil
}

func (e *engine) setMeta(ctx context.Context, key string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return e.db.SetMeta(ctx, key, string(text))
}

// sayEvery is how often a filling says how far it is.
const sayEvery = 500 * time.Millisecond

// saying records how far t is while a new cache is being filled [3], until the
// function it gives is called: with true if all is there.
func (e *engine) saying(ctx context.Context, t *tally) (end func(whole bool) error) {
	r, err := pipeline.Rebuilding(ctx, e.db)
	if err != nil || r == nil {
		return func(bool) error { return err }
	}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		failed := false
		for sleep(ctx, sayEvery) {
			t.mu.Lock()
			p := t.progress
			t.mu.Unlock()
			r.Files, r.FilesDone, r.Bytes, r.BytesDone = p.Files, p.FilesDone, p.Bytes, p.BytesDone
			err := pipeline.SetRebuilding(ctx, e.db, r)
			if err != nil && ctx.Err() == nil && !failed {
				e.log.Warn("can't say how far the cache is", "err", err)
			}
			failed = err != nil // a full disk is said once
		}
	}()
	return func(whole bool) error {
		outer := context.WithoutCancel(ctx)
		cancel()
		<-done
		if !whole {
			return nil
		}
		return pipeline.SetRebuilding(outer, e.db, nil)
	}
}

// taken is for a cache whose file was taken away from under us: what is open
// still has all, so what no rollout can give again goes to a backup, and what
// lies in its place is looked over before it is used.
func (e *engine) taken(ctx context.Context) error {
	if _, err := e.db.Backup(ctx); err != nil {
		e.log.Warn("not all could be taken over", "from", "the open cache", "err", err)
	}
	if _, err := os.Stat(e.db.Path()); err == nil {
		return markSuspect(e.opt.Config)
	}
	return nil
}

// suspected looks the cache over if someone asked for that.
func (e *engine) suspected(ctx context.Context) error {
	mark := filepath.Join(e.opt.Config.Run(), suspectFile)
	if _, err := os.Stat(mark); err != nil {
		return nil //nolint:nilerr // nobody did
	}
	if err := e.db.CheckAll(ctx); err != nil {
		return err
	}
	if err := os.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget to check the cache: %w", err)
	}
	return nil
}

// diagnose looks the cache over if err is none that is expected now and then,
// and joins what it finds: damage shows in many ways.
func diagnose(ctx context.Context, db *store.DB, err error) error {
	_, newer := errors.AsType[*store.NewerError](err)
	if err == nil || newer || ctx.Err() != nil {
		return err
	}
	for _, known := range []error{store.ErrDamaged, store.ErrFull, store.ErrBusy, store.ErrFolder, errReplaced, ErrNoHome, fs.ErrPermission} {
		if errors.Is(err, known) {
			return err
		}
	}
	return errors.Join(err, db.CheckAll(ctx))
}
