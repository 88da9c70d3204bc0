package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// Summary is what a run that ends has done.
type Summary struct {
	Homes        []string      `json:"homes"`
	Missing      []string      `json:"missing"`
	Files        int           `json:"files"`             // rollouts found
	Threads      int           `json:"threads"`           // in the cache
	Lines        int64         `json:"lines"`             // read now
	Bytes        int64         `json:"bytes"`             // read now
	Items        int           `json:"items"`             // taken in now
	Written      int           `json:"written"`           // memory files in the drop folder that are new or changed
	Elsewhere    int           `json:"written_elsewhere"` // in all other sinks
	MemoryDir    string        `json:"memory_dir"`
	NotFullyRead []FileProblem `json:"not_fully_read"`
	Copies       []FileProblem `json:"copies"`              // of rollouts that are read at another place
	Unwritten    []FileProblem `json:"not_written"`         // what single places keep from being written
	SetAside     string        `json:"set_aside,omitempty"` // where a damaged cache was moved
	Took         time.Duration `json:"-"`
}

// ErrNoHome means that none of the Codex homes exists.
var ErrNoHome = errors.New("no Codex home")

// Once brings the cache and the drop folder up to date and ends. *LockedError
// if a daemon does so already; ErrNoHome if there is nothing to read.
func Once(ctx context.Context, opt Options) (s Summary, err error) {
	return once(ctx, opt, true, nil)
}

// CatchUp brings only the cache up to date, and of the search index as much as
// Options allow. If a daemon holds the data folder
// it keeps the cache fresh itself, and CatchUp does nothing.
func CatchUp(ctx context.Context, opt Options) error {
	_, err := once(ctx, opt, false, nil)
	if _, ok := errors.AsType[*LockedError](err); ok || errors.Is(err, ErrNoHome) {
		return nil
	}
	return err
}

// Rebuild reads the rollouts of the threads given again, or all with nil, and
// brings everything up to date. Refs stay valid; threads whose files are gone,
// receipts and names are kept.
func Rebuild(ctx context.Context, opt Options, threadIDs []string) (Summary, error) {
	// Who asks for this has a reason: the cache is looked over first.
	if err := markSuspect(opt.Config); err != nil {
		return Summary{}, err
	}
	return once(ctx, opt, true, func(e *engine) error {
		if threadIDs == nil {
			if err := removeIndex(opt.Config.Search()); err != nil {
				return err
			}
		}
		return e.db.Forget(ctx, threadIDs)
	})
}

// once is one run that ends. Damage that it meets is healed by a second.
func once(ctx context.Context, opt Options, publish bool, before func(*engine) error) (Summary, error) {
	s, err := single(ctx, opt, publish, before)
	if errors.Is(err, store.ErrDamaged) {
		s, err = single(ctx, opt, publish, before)
	}
	return s, err
}

func single(ctx context.Context, opt Options, publish bool, before func(*engine) error) (s Summary, err error) {
	if noHome(opt.Config.CodexHomes) {
		s.Missing = opt.Config.CodexHomes
		return s, fmt.Errorf("%w at %s", ErrNoHome, strings.Join(opt.Config.CodexHomes, " or "))
	}
	t := newTally(opt.Progress)
	e, err := start(ctx, opt, roleCommand)
	if err != nil {
		return s, err
	}
	defer func() { err = e.closed(ctx, err) }()
	if before != nil {
		if err := before(e); err != nil {
			return s, err
		}
	}
	t.phase(PhaseList)
	l, err := e.list(ctx)
	if err != nil {
		return s, err
	}
	s.Homes, s.Missing, s.Files, s.MemoryDir, s.SetAside = l.homes, l.missing, len(l.files), opt.Config.MemoryDir, e.aside
	if err := e.catchUp(ctx, l, t); err != nil {
		return s, err
	}
	if _, err := e.drainSpool(ctx, true); err != nil {
		return s, err
	}
	if publish {
		if err := e.recountAll(ctx); err != nil {
			return s, err
		}
	}
	s.Lines, s.Bytes, s.Items = t.lines, t.bytes, t.items
	s.NotFullyRead, s.Copies = t.problems, t.copies
	for _, p := range l.problems {
		s.NotFullyRead = append(s.NotFullyRead, FileProblem{Path: p.Path, Reason: p.Err.Error()})
	}
	if publish {
		t.phase(PhasePublish)
		if s.Written, s.Elsewhere, s.Unwritten, err = e.publishAll(ctx); err != nil {
			return s, err
		}
	}
	most := time.Duration(0)
	if !publish {
		most = max(opt.Index, indexSoon)
	}
	e.indexOnce(ctx, most, t)
	if s.Threads, err = e.db.Count(ctx); err != nil {
		return s, err
	}
	s.Took = time.Since(t.started)
	return s, nil
}

// noHome tells whether there is nothing that could be read.
func noHome(homes []string) bool {
	return !slices.ContainsFunc(homes, func(h string) bool {
		st, err := os.Stat(h)
		return err == nil && st.IsDir()
	})
}

// catchUp makes the cache say what the files of the listing say.
func (e *engine) catchUp(ctx context.Context, l listing, t *tally) (err error) {
	end := e.saying(ctx, t)
	defer func() { err = errors.Join(err, end(err == nil && ctx.Err() == nil)) }()
	if err := e.gate.through(ctx, func() error { return e.pipe.DecideAnew(ctx) }); err != nil {
		return err
	}
	known, err := e.db.Checkpoints(ctx)
	if err != nil {
		return err
	}
	if err := e.gone(ctx, known, l); err != nil {
		return err
	}
	if err := e.pipe.Reunite(ctx, known); err != nil {
		return err
	}
	if err := e.backfill(ctx, pipeline.Stale(known, l.files), t); err != nil {
		return err
	}
	if err := e.compare(ctx, l.others, t); err != nil {
		return err
	}
	for _, home := range l.homes {
		if err := e.gate.through(ctx, func() error { return e.pipe.IngestNames(ctx, home) }); err != nil {
			t.problems = append(t.problems, FileProblem{Path: home, Reason: err.Error()})
		}
	}
	return nil
}
