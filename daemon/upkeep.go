package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
)

const (
	// daily is how often the cache is backed up and a share of it checked.
	daily = 24 * time.Hour
	// ahead is how far in the future a last time may lie before the clock is
	// taken for set back.
	ahead = time.Hour
	// quiet is how long nothing must have been written before a check goes on.
	quiet = time.Second
)

// checking is what troubles with the daily check are filed under.
const checking = "checked"

// Care is what was done to keep the cache right.
type Care struct {
	Recovered *Recovered `json:"recovered"` // null: it never had to be made anew
	Backup    *Backup    `json:"backup"`    // null: none was needed yet
	Check     *Check     `json:"check"`     // null: none yet
}

// Backup says when it was last looked whether a backup is needed, and what the
// newest one is.
type Backup struct {
	At   time.Time `json:"at"`
	Path string    `json:"path,omitempty"`
}

const (
	backupKey = "backup"
	checkKey  = "check"
)

// CareOf gives what was done for the cache.
func CareOf(ctx context.Context, db *store.DB) (c Care, err error) {
	var errs [3]error
	c.Recovered, errs[0] = done[Recovered](ctx, db, recoveredKey)
	c.Backup, errs[1] = done[Backup](ctx, db, backupKey)
	c.Check, errs[2] = done[Check](ctx, db, checkKey)
	return c, errors.Join(errs[:]...)
}

// done gives what is kept of something that was done; nil if it never was, or if
// damage made that unreadable: then it is done again.
func done[T any](ctx context.Context, db *store.DB, key string) (*T, error) {
	text, err := db.Meta(ctx, key)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return nil, nil //nolint:nilnil,nilerr // see above
	}
	return v, nil
}

// due tells whether what was last done at a time is to be done again. It is
// pure. A last time in the future is of a clock that was set back.
func due(last, now time.Time) bool {
	return last.IsZero() || now.Sub(last) >= daily || last.Sub(now) > ahead
}

// upkeep keeps the cache right: looks over what somebody
// suspects, backs up what no rollout can give again, and checks a share of all
// rollouts each day. What goes wrong is told, and tried again; only damage ends
// it.
func (e *engine) upkeep(ctx context.Context) error {
	if kind := disk.Shared(e.opt.Config.Home); kind != "" {
		e.troubles.set(e.log, "disk", fmt.Sprintf("the data folder %s lies on %s, where SQLite can't keep several programs apart: give a local folder with --home DIR or SESSION_MIGRATOR_HOME", e.opt.Config.Home, kind))
	}
	for {
		for _, step := range []struct {
			what string
			do   func(context.Context) error
		}{{"looked after", e.lookAfter}, {checking, e.checkDaily}} {
			err := step.do(ctx)
			if errors.Is(err, store.ErrDamaged) || ctx.Err() != nil {
				return err
			}
			text := ""
			if err != nil {
				text = "the cache can't be " + step.what + ": " + err.Error()
			}
			e.troubles.set(e.log, step.what, text)
		}
		if !sleep(ctx, tick) {
			return nil
		}
	}
}

// watchWAL tells of a WAL that can't be moved into the file.
func (e *engine) watchWAL() {
	text := ""
	if n := e.db.WALSize(); n > store.WALAlarm {
		text = fmt.Sprintf("%d MiB wait to be moved into the cache: some program holds an old view of it open (a database tool?); new lines are taken in all the same", n>>20)
	}
	e.troubles.set(e.log, "wal", text)
}

func (e *engine) lookAfter(ctx context.Context) error {
	if err := e.suspected(ctx); err != nil {
		return err
	}
	if err := e.asked(ctx); err != nil {
		return err
	}
	c, err := CareOf(ctx, e.db)
	if err != nil {
		return err
	}
	if c.Backup != nil && !due(c.Backup.At, e.now()) {
		return nil
	}
	if r, err := pipeline.Rebuilding(ctx, e.db); err != nil || r != nil {
		return err // what it is filled from has it; half of it is no backup
	}
	return e.backUp(ctx, c)
}

func (e *engine) checkDaily(ctx context.Context) error {
	c, err := CareOf(ctx, e.db)
	if err != nil {
		return err
	}
	if c.Check == nil || due(c.Check.At, e.now()) {
		return e.check(ctx, c.Check)
	}
	return nil
}

func (e *engine) backUp(ctx context.Context, c Care) error {
	path, err := e.db.Backup(ctx)
	if err == nil {
		err = choices.BackUp(e.opt.Config.Home)
	}
	if err != nil {
		return err
	}
	now := Backup{At: e.now().UTC(), Path: path}
	switch {
	case path != "":
	case c.Backup != nil:
		now.Path = c.Backup.Path // nothing new since
	case c.Recovered != nil:
		now.Path = c.Recovered.Backup
	}
	if path != "" {
		e.log.Info("backed up what is in no rollout", "path", path)
	}
	return e.setMeta(ctx, backupKey, now)
}

// rest waits until nothing was written for a moment; false if ctx ended.
func (e *engine) rest(ctx context.Context) bool {
	for before := int64(-1); ; {
		n, err := e.db.Commits(ctx)
		if err != nil || n == before {
			return ctx.Err() == nil
		}
		before = n
		if !sleep(ctx, e.quiet) {
			return false
		}
	}
}

// troubles are what status shows and the log has once, by what they are of.
type troubles struct {
	mu  sync.Mutex // guards now
	now map[string]string
}

// set says what is wrong with something; empty: nothing any more.
func (t *troubles) set(log *slog.Logger, of, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.now[of]
	switch {
	case text == "" && was != "":
		delete(t.now, of)
		log.Info("no longer a problem", "problem", was)
	case text != "":
		if t.now == nil {
			t.now = map[string]string{}
		}
		t.now[of] = text
		if was == "" {
			log.Warn("a problem", "problem", text)
		}
	}
}

func (t *troubles) list() (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range slices.Sorted(maps.Keys(t.now)) {
		out = append(out, t.now[of])
	}
	return out
}
