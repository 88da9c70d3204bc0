package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

// Phase is what a run is busy with.
type Phase uint8

// The phases, in order.
const (
	PhaseList Phase = iota + 1
	PhaseIngest
	PhasePublish
	PhaseIndex // in runs that end by themselves
	PhaseWatch
)

// String names the phase for people.
func (p Phase) String() string {
	return [...]string{"", "list", "ingest", "publish", "index", "watch"}[p]
}

// Progress says how far a run is.
type Progress struct {
	Phase            Phase
	Files, FilesDone int
	Bytes, BytesDone int64 // on disk
	Items, ItemsDone int64 // of the search index
	Elapsed          time.Duration
}

// FileProblem is a file that could not be read, and why.
type FileProblem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// tally adds up what a backfill did; workers share it.
type tally struct {
	mu       sync.Mutex // guards the rest
	progress Progress
	started  time.Time
	tell     func(Progress)
	told     time.Time
	lines    int64
	bytes    int64
	items    int
	problems []FileProblem
	copies   []FileProblem
	windows  bool
	ended    bool            // the newest turn read has its end
	changed  map[string]bool // threads
}

// tellEvery bounds how often progress is told.
const tellEvery = 100 * time.Millisecond

func newTally(tell func(Progress)) *tally {
	return &tally{started: time.Now(), tell: tell, changed: map[string]bool{}}
}

func (t *tally) phase(p Phase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Phase = p
	t.report(true)
}

// report tells how far the run is. The caller holds the lock.
func (t *tally) report(now bool) {
	if t.tell == nil || (!now && time.Since(t.told) < tellEvery) {
		return
	}
	t.told = time.Now()
	t.progress.Elapsed = time.Since(t.started)
	t.tell(t.progress)
}

func (t *tally) done(f store.File, r pipeline.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.FilesDone++
	t.progress.BytesDone += f.Size
	t.lines += r.Lines
	t.bytes += r.Bytes
	t.items += r.Items
	t.windows = t.windows || r.NewWindows
	t.ended = r.TurnEnded
	if r.Changed {
		t.changed[r.ThreadID] = true
	}
	if c := r.Elsewhere; c.Path != "" {
		reason := "a copy of " + c.Of + ", which is read instead"
		if c.Reason != "" {
			reason = c.Reason + ": " + c.Of + " is read"
		}
		t.copies = append(t.copies, FileProblem{Path: f.Path, Reason: reason})
	}
	if err != nil {
		t.problems = append(t.problems, FileProblem{Path: f.Path, Reason: err.Error()})
	}
	t.report(t.progress.FilesDone == t.progress.Files)
}

// backfill ingests all files given, those begun first at the front, because
// forks need their parents. A file that fails is recorded and the others go
// on; only the end of ctx, or a cache that can't be written, ends it early.
func (e *engine) backfill(ctx context.Context, files []store.File, t *tally) error {
	t.mu.Lock()
	t.progress.Phase, t.progress.Files = PhaseIngest, len(files)
	for _, f := range files {
		t.progress.Bytes += f.Size
	}
	t.report(true)
	t.mu.Unlock()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan store.File)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for f := range todo {
				if err := e.take(ctx, f, t); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, f := range files {
		select {
		case todo <- f:
		case <-ctx.Done():
		}
	}
	close(todo)
	workers.Wait()
	if t.windows && ctx.Err() == nil {
		if err := e.retarget(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// compare looks at the files of rollouts that are read at another place, when
// these were read: what one of them holds beyond that is taken in, too.
func (e *engine) compare(ctx context.Context, others []store.File, t *tally) error {
	for _, f := range others {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.mu.Lock()
		t.progress.Files++
		t.progress.Bytes += f.Size
		t.mu.Unlock()
		if err := e.take(ctx, f, t); err != nil {
			return err
		}
	}
	return nil
}

// retarget takes in what rollouts reported of models' windows, and decides anew
// where that changes a target.
func (e *engine) retarget(ctx context.Context) error {
	return e.gate.through(ctx, func() error {
		if err := e.pipe.Retarget(ctx); err != nil {
			return err
		}
		return e.pipe.DecideAnew(ctx)
	})
}

// take ingests one file and those that waited for it.
func (e *engine) take(ctx context.Context, f store.File, t *tally) error {
	r, err := e.ingest(ctx, f)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // told to stop: not the file's fault
	}
	e.later.note(f, err, time.Now())
	if errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrDamaged) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // moved or deleted since it was listed; the next listing tells
	}
	t.done(f, r, err)
	for _, w := range r.Waiting {
		if err := e.again(ctx, w, t); err != nil {
			return err
		}
	}
	return nil
}

// ingest takes one file in, as soon as there is room for it. What was taken in
// before a write failed counts too.
func (e *engine) ingest(ctx context.Context, f store.File) (all pipeline.Result, err error) {
	defer e.index.taking()()
	err = e.gate.through(ctx, func() error {
		r, err := e.pipe.Ingest(ctx, f)
		r.Lines, r.Bytes, r.Items = r.Lines+all.Lines, r.Bytes+all.Bytes, r.Items+all.Items
		r.Changed, r.NewWindows = r.Changed || all.Changed, r.NewWindows || all.NewWindows
		r.Waiting = append(all.Waiting, r.Waiting...)
		all = r
		return err
	})
	return all, err
}

// again reads a rollout that waited, as its file looks now, and where it is by
// now.
func (e *engine) again(ctx context.Context, f store.File, t *tally) error {
	cp, err := e.db.Rollout(ctx, f.RolloutID)
	if err != nil {
		return stopped(ctx, err)
	}
	f = cp.File
	st, err := os.Stat(f.Path)
	if err != nil {
		return nil //nolint:nilerr // gone meanwhile: what was read stays
	}
	f.Size, f.ModTimeNs, f.ChangeTimeNs, f.Dev, f.Ino = st.Size(), st.ModTime().UnixNano(), 0, 0, 0
	t.mu.Lock()
	t.progress.Files++
	t.progress.Bytes += f.Size
	t.mu.Unlock()
	return e.take(ctx, f, t)
}

// gone marks the rollouts that the listing misses and that a second look
// misses too. A home that can't be listed whole proves nothing.
func (e *engine) gone(ctx context.Context, known []store.Checkpoint, l listing) error {
	here := map[string]bool{}
	for _, f := range l.files {
		here[f.RolloutID] = true
	}
	for _, c := range known {
		if !slices.Contains(l.homes, c.Home) || here[c.RolloutID] || c.State == store.FileGone {
			continue
		}
		if _, err := os.Lstat(c.Path); errors.Is(err, fs.ErrNotExist) {
			if err := e.gate.through(ctx, func() error { return e.pipe.Gone(ctx, c.File) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// had are the files the cache knows of, by home: what watch reports as gone if
// it doesn't find them.
func (e *engine) had(ctx context.Context) (map[string][]watch.File, error) {
	known, err := e.db.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]watch.File{}
	for _, c := range known {
		if c.State != store.FileGone {
			out[c.Home] = append(out[c.Home], watchFile(c))
		}
	}
	return out, nil
}
