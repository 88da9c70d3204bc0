package pipeline

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch/tail"
)

// differs is the reason that status gives for a copy with a life of its own.
const differs = "another file of the same session has other content, and neither continues the other"

// relation is how a file compares with the one that is read for its rollout.
type relation uint8

const (
	moved     relation = iota + 1 // the other is no longer there
	continues                     // it holds what was read, and more
	held                          // the other holds all of it
	apart                         // each holds what the other doesn't
)

// elsewhere tells that f is a copy of a rollout that is read at another place,
// as when a Codex home was copied, and records how the two compare. The one
// that continues the other is read. Of two that went different ways the one
// that was read first stays, and both are named.
func (p *Pipeline) elsewhere(ctx context.Context, cp store.Checkpoint, f store.File) (r Result, yes bool, err error) {
	if cp.Path == f.Path {
		return r, false, nil
	}
	was, err := p.db.Copy(ctx, f.Path)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return r, false, err
	}
	c := store.Copy{
		RolloutID: f.RolloutID, Home: f.Home, Path: f.Path, Of: cp.Path, Generation: cp.Generation,
		Size: f.Size, ModTimeNs: f.ModTimeNs, CTimeNs: f.ChangeTimeNs,
	}
	now, err := tail.StatFile(cp.Path)
	if err == nil {
		c.Reason = was.Reason
		if was == c && cp.State == store.FileOK {
			return Result{ThreadID: cp.ThreadID, Elsewhere: c}, true, nil // compared before
		}
		c.Reason = ""
	}
	rel := moved
	if err == nil {
		rel, err = compare(cp, f, now)
	} else {
		err = nil // it can't be looked at: nothing is given up by reading f
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, false, err
	case err != nil:
		c.Reason = "a copy that can't be compared: " + err.Error()
	case rel == moved:
		return r, false, p.forgetCopy(ctx, f.Path)
	case rel == continues:
		st := store.Copy{RolloutID: cp.RolloutID, Home: cp.Home, Path: cp.Path, Of: f.Path, Generation: cp.Generation, Size: cp.Size, ModTimeNs: cp.ModTimeNs, CTimeNs: cp.ChangeTimeNs}
		return r, false, errors.Join(p.forgetCopy(ctx, f.Path), p.db.SaveCopy(ctx, st))
	case rel == apart:
		c.Reason = differs
	}
	if err := p.db.SaveCopy(ctx, c); err != nil {
		return r, false, err
	}
	return Result{ThreadID: cp.ThreadID, Elsewhere: c}, true, nil
}

func (p *Pipeline) forgetCopy(ctx context.Context, path string) error {
	if _, err := p.db.Copy(ctx, path); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	return p.db.ForgetCopy(ctx, path)
}

// compare looks at the content: f against the file that cp was taken from, which
// looks like now.
func compare(cp store.Checkpoint, f store.File, now tail.Stat) (relation, error) {
	if now.Ino != 0 && now.Ino == f.Ino && now.Dev == f.Dev && cp.Form == f.Form {
		return held, nil // one file under two names
	}
	if cp.Form != f.Form {
		// Codex compresses what it no longer uses, and the other way round: for
		// a moment both are there. The plain one is the one it goes on with.
		if f.Form < cp.Form {
			return continues, nil
		}
		return held, nil
	}
	if f.Form == store.FormDocument {
		if f.Size > now.Size {
			return continues, nil
		}
		return held, nil
	}
	r, err := tail.Open(f.Path, cursorOf(cp.Cursor), tailOptions())
	switch {
	case errors.Is(err, tail.ErrReplaced):
		return apart, nil
	case errors.Is(err, tail.ErrTruncated):
		return shorter(cp, f)
	case err != nil:
		return 0, err
	}
	defer func() { _ = r.Close() }() // only read
	_, err = r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return held, nil
	case err != nil:
		return 0, err
	case now.Size != cp.Size && f.Form == store.FormPlain && f.Size <= now.Size:
		return held, nil // what the other holds wasn't read yet; it is longer
	}
	return continues, nil
}

// shorter compares a file that ends before the cursor: the other holds it, or
// went another way.
func shorter(cp store.Checkpoint, f store.File) (relation, error) {
	r, err := tail.Open(f.Path, tail.Cursor{}, tail.Options{Classify: func([]byte, bool) tail.Want { return tail.WantNone }})
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }() // only read
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	of, err := tail.Open(cp.Path, r.Cursor(), tailOptions())
	if errors.Is(err, tail.ErrReplaced) || errors.Is(err, tail.ErrTruncated) {
		return apart, nil
	}
	if err != nil {
		return 0, err
	}
	return held, of.Close()
}
