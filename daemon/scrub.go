package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

const (
	// checkShare of all rollouts are checked each day: each one within 50 days.
	checkShare = 50
	checkLeast = 5
	// maxFound bounds how many repairs are named.
	maxFound = 10
)

// Check says when rollouts were last derived again and compared with the cache,
// and what was found.
type Check struct {
	At      time.Time `json:"at"`
	Checked int       `json:"checked"` // that day
	Of      int       `json:"of"`
	Repairs int       `json:"repairs"` // ever
	Found   []Repair  `json:"found"`   // the newest first
}

// Repair is a difference that was found and mended.
type Repair struct {
	At     time.Time `json:"at"`
	Path   string    `json:"path"`
	Reason string    `json:"reason"`
}

// share is how many of so many rollouts are checked in a day.
func share(total int) int { return max(checkLeast, (total+checkShare-1)/checkShare) }

// check is a day's share, those first whose last check is longest ago. It gives
// way to live lines, and goes on tomorrow where it was stopped.
func (e *engine) check(ctx context.Context, last *Check) error {
	now := Check{At: e.now().UTC(), Found: []Repair{}}
	if last != nil {
		now.Repairs, now.Found = last.Repairs, last.Found
	}
	if !e.rest(ctx) {
		return ctx.Err()
	}
	if err := e.db.CheckAll(ctx); err != nil {
		return err
	}
	e.troubles.set(e.log, checking, "") // the rest takes long
	_, total, err := e.db.LeastChecked(ctx, 0)
	if err != nil {
		return err
	}
	todo, _, err := e.db.LeastChecked(ctx, share(total))
	if err != nil {
		return err
	}
	now.Of = total
	now.Checked = len(todo)
	for round := 1; len(todo) > 0 && round <= 2; round++ {
		var failed []store.Checkpoint // some for what is only now repaired in another
		for i := range todo {
			if !e.rest(ctx) {
				return ctx.Err()
			}
			ok, err := e.checkRows(ctx, &todo[i], &now)
			if err != nil {
				return err
			}
			if !ok {
				failed = append(failed, todo[i])
			}
		}
		todo = failed
	}
	if n, err := e.db.Sweep(ctx); err != nil {
		return err
	} else if n > 0 {
		now.add("", fmt.Sprintf("%d rows that belonged to nothing or could not be read", n))
	}
	if err := e.pipe.KeepTargets(ctx); err != nil {
		return err
	}
	e.log.Info("checked a share of the cache", "rollouts", now.Checked, "of", now.Of, "repairs", now.Repairs)
	return e.setMeta(ctx, checkKey, now)
}

func (c *Check) add(path, reason string) {
	c.Repairs++
	c.Found = append([]Repair{{c.At, path, reason}}, c.Found[:min(len(c.Found), maxFound-1)]...)
}

// checkRows checks one rollout, and repairs what differs; false if that failed.
func (e *engine) checkRows(ctx context.Context, cp *store.Checkpoint, c *Check) (ok bool, err error) {
	st, err := os.Lstat(cp.Path)
	n, named := watch.ParseName(filepath.Base(cp.Path))
	if cp.State == store.FileGone {
		return e.scrub(ctx, cp, cp.File, c)
	}
	if err != nil || !named {
		return true, e.db.Checked(ctx, cp.Row, e.now()) // moved or deleted: the listing's business
	}
	if n.RolloutID != cp.RolloutID {
		return true, e.misnamed(ctx, cp, n, st, c)
	}
	f := cp.File
	f.Stamp, f.ThreadID, f.Form = n.Stamp, n.ThreadID, formOf(n.Form)
	if home := e.homeOf(f.Path); home != "" {
		f.Home = home
	}
	return e.scrub(ctx, cp, f, c)
}

func (e *engine) scrub(ctx context.Context, cp *store.Checkpoint, f store.File, c *Check) (ok bool, err error) {
	s, failed := e.pipe.Scrub(ctx, f)
	if failed != nil {
		if err := diagnose(ctx, e.db, failed); ctx.Err() != nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrFull) {
			return false, err
		}
		e.log.Warn("a rollout can't be checked", "path", f.Path, "err", failed)
	}
	if len(s.Differs) > 0 {
		e.log.Warn("the cache differed from a rollout and was repaired", "path", f.Path, "differs", s.Differs)
		c.add(f.Path, strings.Join(s.Differs, ", "))
	}
	return failed == nil, e.db.Checked(ctx, cp.Row, e.now())
}

// misnamed takes a row away that stands for another rollout than its file, and
// reads the file in as what it is.
func (e *engine) misnamed(ctx context.Context, cp *store.Checkpoint, n watch.Name, st fs.FileInfo, c *Check) error {
	c.add(cp.Path, "the id of the rollout")
	e.log.Warn("the cache had a rollout under another id; it is read anew", "path", cp.Path)
	if err := e.db.Drop(ctx, cp.Row); err != nil {
		return err
	}
	f := cp.File
	f.RolloutID, f.ThreadID, f.Stamp, f.Form = n.RolloutID, n.ThreadID, n.Stamp, formOf(n.Form)
	f.Size, f.ModTimeNs, f.ChangeTimeNs = st.Size(), st.ModTime().UnixNano(), 0
	_, err := e.pipe.Ingest(ctx, f)
	return err
}

// homeOf is the home that a path lies in; empty for none.
func (e *engine) homeOf(path string) string {
	for _, home := range e.opt.Config.CodexHomes {
		if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
			return home
		}
	}
	return ""
}

// scrubDir holds an empty file for each thread that someone met whose rows
// disagree: readers don't write to the cache.
func scrubDir(c config.Config) string { return filepath.Join(c.Run(), "check") }

// askScrub asks the daemon, now or at its next start, to check a thread. It is
// only a hint: without it the daily check comes to the thread.
func askScrub(c config.Config, threadID string) {
	if len(threadID) == 0 || len(threadID) > 64 || !filepath.IsLocal(threadID) || threadID != filepath.Base(threadID) {
		return
	}
	if os.MkdirAll(scrubDir(c), 0o700) == nil {
		_ = os.WriteFile(filepath.Join(scrubDir(c), threadID), nil, 0o600) // see above
	}
}

// asked checks the threads that someone asked to be checked.
func (e *engine) asked(ctx context.Context) error {
	names, err := os.ReadDir(scrubDir(e.opt.Config))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list what is to be checked: %w", err)
	}
	care, err := CareOf(ctx, e.db)
	if err != nil {
		return err
	}
	c := Check{Found: []Repair{}}
	if care.Check != nil {
		c = *care.Check
	}
	was, repairs := c.At, c.Repairs
	c.At = e.now().UTC()
	for _, n := range names {
		cps, err := e.db.ThreadCheckpoints(ctx, n.Name())
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrChanged) {
			return err
		}
		for i := range cps {
			if _, err := e.checkRows(ctx, &cps[i], &c); err != nil {
				return err
			}
		}
		if err := e.pipe.Recompute(ctx, n.Name()); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := os.Remove(filepath.Join(scrubDir(e.opt.Config), n.Name())); err != nil {
			return fmt.Errorf("forget what was checked: %w", err)
		}
	}
	if c.At = was; c.Repairs == repairs {
		return nil
	}
	return e.setMeta(ctx, checkKey, c)
}
