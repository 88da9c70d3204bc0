package embedding

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
	"github.com/session-migrator/session-migrator/store/spend"
)

const (
	// look is how often it is looked whether something new came in.
	look = 15 * time.Second
	// rest is how long a thread must have been still: its passages then go out
	// together, not one call each.
	rest = time.Minute

	firstPause  = time.Minute // after a failure; doubles
	lastPause   = 30 * time.Minute
	refusePause = 10 * time.Minute // after a refusal: somebody must do something
)

// Options say what a worker works on.
type Options struct {
	Config config.Config
	DB     *store.DB                                          // open for writing
	Log    *slog.Logger                                       // nil: nothing is logged
	Write  func(ctx context.Context, step func() error) error // runs a step that writes to DB; nil: at once
	Room   func(ctx context.Context) error                    // returns when there is room on the disk; nil: at once
}

// Info says how the worker is.
type Info struct {
	Provider  string    `json:"provider"`
	Host      string    `json:"host"` // where texts go; empty: nowhere
	Local     bool      `json:"local"`
	Model     string    `json:"model"`
	Passages  int64     `json:"passages"`   // that have vectors
	Behind    int       `json:"behind"`     // rollouts with more to come
	LastCall  time.Time `json:"last_call"`  // zero: none in this run
	LastError string    `json:"last_error"` // empty: none; else nothing is sent until NextTry
	LastFix   string    `json:"last_fix"`   // what is to be done about it
	NextTry   time.Time `json:"next_try"`
}

// Worker makes vectors.
type Worker struct {
	opt   Options
	deny  deny.Folders
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) bool

	// Of Run alone.
	from    source
	model   string
	caps    spend.Caps
	vectors *search.Vectors
	good    bool // the source gave a vector in this run

	mu   sync.Mutex // guards info
	info Info
}

// New makes the worker that the settings ask for; nil if they ask for none.
func New(opt Options) *Worker {
	c := opt.Config.Embeddings
	if c.Provider == "" {
		return nil
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Write == nil {
		opt.Write = func(_ context.Context, step func() error) error { return step() }
	}
	if opt.Room == nil {
		opt.Room = func(context.Context) error { return nil }
	}
	return &Worker{opt: opt, deny: deny.New(c.DenyWorkspaces), now: time.Now, sleep: sleep, info: Info{Provider: c.Provider}}
}

// Info says how it is; nil of a nil worker.
func (w *Worker) Info() *Info {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.info
	return &i
}

func (w *Worker) say(f func(*Info)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.info)
}

// Run makes vectors until ctx ends. What goes wrong is told and tried again;
// only damage to the cache ends it. A nil worker returns at once.
func (w *Worker) Run(ctx context.Context) (err error) {
	if w == nil {
		return nil
	}
	defer func() { err = errors.Join(err, w.close()) }()
	failures, seen := 0, int64(-1)
	for ctx.Err() == nil {
		n, err := w.opt.DB.Commits(ctx)
		more := false
		if err == nil && (n != seen || w.vectors != nil && w.vectors.Replaced()) {
			more, err = w.round(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrDamaged):
			if err := w.opt.DB.Check(ctx); errors.Is(err, store.ErrDamaged) {
				return err
			}
		}
		wait := look
		if err != nil {
			failures++
			if errors.Is(err, spend.ErrCap) {
				failures = 0
			}
			wait = pause(err, failures, w.now())
			w.failed(err, wait)
			err = w.close() // what it needs is opened anew
			if err != nil {
				w.opt.Log.Debug("vectors can't be closed", "err", err)
			}
			seen = -1
		} else {
			if failures > 0 {
				w.opt.Log.Info("vectors are made again")
			}
			failures = 0
			w.say(func(i *Info) { i.LastError, i.LastFix, i.NextTry = "", "", time.Time{} })
			if seen = n; more {
				seen = -1
			}
		}
		if !w.sleep(ctx, wait) {
			return nil
		}
	}
	return nil
}

// pause is pure: how long to leave it alone after the n-th failure in a row.
func pause(err error, n int, now time.Time) time.Duration {
	if errors.Is(err, spend.ErrCap) {
		return max(time.Minute, spend.Today(now).AddDate(0, 0, 1).Sub(now))
	}
	wait := min(firstPause<<min(n-1, 10), lastPause)
	if errors.Is(err, embed.ErrRefused) || errors.Is(err, embed.ErrOptions) || errors.Is(err, errKey) {
		wait = max(wait, refusePause)
	}
	if asked, ok := errors.AsType[*embed.WaitError](err); ok {
		wait = max(wait, asked.For)
	}
	return wait
}

func (w *Worker) failed(err error, wait time.Duration) {
	text := err.Error()
	var was string
	w.say(func(i *Info) {
		was = i.LastError
		i.LastError, i.LastFix, i.NextTry = text, fix(w.opt.Config, err), w.now().Add(wait).UTC()
	})
	level := slog.LevelWarn
	if errors.Is(err, spend.ErrCap) {
		level = slog.LevelInfo
	}
	if was == "" {
		w.opt.Log.Log(context.Background(), level, "no vectors are made for now", "err", text, "in", wait)
	}
}

// ready opens what it needs.
func (w *Worker) ready(ctx context.Context) (err error) {
	c := w.opt.Config.Embeddings
	if w.from == nil {
		if w.from, err = open(w.opt.Config, 0); err != nil {
			return err
		}
		w.model, w.caps = nameOf(w.from, c), capsOf(c, w.from.Local())
		w.say(func(i *Info) { i.Host, i.Local, i.Model = w.from.Host(), w.from.Local(), w.from.Model() })
	}
	if w.vectors != nil && w.vectors.Replaced() {
		w.opt.Log.Info("the vectors were deleted or replaced, and are made anew")
		if err := w.vectors.Close(); err != nil {
			return err
		}
		w.vectors = nil
	}
	if w.vectors == nil {
		w.vectors, err = search.OpenVectors(ctx, w.opt.Config.Vectors())
	}
	return err
}

func (w *Worker) close() (err error) {
	if w.from != nil {
		w.from.Close()
	}
	if w.vectors != nil {
		err = w.vectors.Close()
	}
	w.from, w.vectors, w.good = nil, nil, false
	return err
}

// sleep waits; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
