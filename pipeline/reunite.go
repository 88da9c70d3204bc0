package pipeline

import (
	"context"
	"errors"
	"io/fs"

	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/failpoint"
	"github.com/session-migrator/session-migrator/watch/tail"
)

// readWhole tells whether a parent's file is taken in up to its end. One that is
// not where it was is about to be found elsewhere, with more in it maybe.
func readWhole(c store.Checkpoint) bool {
	now, err := tail.StatFile(c.Path)
	if c.State == store.FileGone {
		return errors.Is(err, fs.ErrNotExist) // then there will never be more; else it is back
	}
	return err == nil && now.Size == c.Size
}

// waiting finds the rollouts that could not tell copied lines from own ones
// before this thread was here. This one is among them if its parent was read
// beside it: then neither could see that the other had got there.
func (g *reading) waiting() error {
	cps, err := g.p.db.AwaitingParent(g.ctx, g.res.ThreadID)
	if err != nil {
		return err
	}
	if parent := g.parser.AwaitsParent(); parent != "" && parent != g.res.ThreadID {
		if _, f, err := g.p.db.Lineage(g.ctx, parent); err == nil && readWhole(f) {
			own, err := g.p.db.Rollout(g.ctx, g.file.RolloutID)
			if err != nil {
				return err
			}
			cps = append(cps, own)
		}
	}
	for _, cp := range cps {
		if err := g.p.db.ForgetRollout(g.ctx, cp.RolloutID); err != nil {
			return err
		}
		failpoint.Hit(failpoint.AfterForget)
		g.res.Waiting = append(g.res.Waiting, cp.File)
	}
	return nil
}

// Reunite makes the rollouts be read again that wait for a parent which is here
// by now, as when a run was killed before it came to that. What it changes in
// the cache it changes in known.
func (p *Pipeline) Reunite(ctx context.Context, known []store.Checkpoint) error {
	for i := range known {
		c := &known[i]
		if c.AwaitsParent == "" || c.State == store.FileGone {
			continue
		}
		_, f, err := p.db.Lineage(ctx, c.AwaitsParent)
		if errors.Is(err, store.ErrNotFound) || err == nil && !readWhole(f) {
			continue
		}
		if err != nil {
			return err
		}
		if err := p.db.ForgetRollout(ctx, c.RolloutID); err != nil {
			return err
		}
		c.Size, c.ParserVersion = -1, -1
	}
	return nil
}
