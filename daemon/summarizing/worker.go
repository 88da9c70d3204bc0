package summarizing

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/spend"
)

const (
	// look is how often it is looked whether somebody asks for a summary.
	look = time.Second
	// faultPause is how long to wait after what went wrong here.
	faultPause = time.Minute
)

// Options say what a worker works on.
type Options struct {
	Config config.Config
	DB     *store.DB // open for writing
	Pipe   *pipeline.Pipeline
	Log    *slog.Logger                                       // nil: nothing is logged
	Write  func(ctx context.Context, step func() error) error // runs a step that writes to DB; nil: at once
	Renew  func(threadID string)                              // told of a thread whose documents are due; may be nil
}

// Info says how the worker is.
type Info struct {
	Provider  string    `json:"provider"`
	Host      string    `json:"host"` // where texts go; empty: the settings can't be worked with
	Local     bool      `json:"local"`
	Model     string    `json:"model"`
	Window    int       `json:"window"`     // tokens; 0: not known
	Priced    bool      `json:"priced"`     // the price is known
	Waiting   int       `json:"waiting"`    // sessions to look at: they have not rested, or nothing may be sent now
	Made      int       `json:"made"`       // since the start
	Sent      Sent      `json:"sent"`       // since the start
	LastError string    `json:"last_error"` // empty: none; else nothing is sent until NextTry
	LastFix   string    `json:"last_fix"`
	NextTry   time.Time `json:"next_try"` // zero: when the settings change and the daemon is started again
}

// Worker has summaries made.
type Worker struct {
	opt   Options
	rules rules
	deny  deny.Folders
	now   func() time.Time
	open  func(who) (model, error)
	wake  chan struct{} // holds one: a thread changed

	// Of Run and Now alone.
	who     who
	model   model
	window  int // asked for; 0: not told
	breaker breaker

	mu    sync.Mutex // guards the rest
	queue map[string]waiting
	all   bool // every thread is to be looked at
	info  Info
}

// waiting is a thread that is to be looked at.
type waiting struct {
	seen    time.Time // when we saw it change; zero: not in this run
	updated time.Time // of its newest message, as far as it is known
	next    time.Time // when to look at it
}

// New makes the worker that the settings ask for; nil if they ask for none.
func New(opt Options) *Worker {
	c := opt.Config.Summaries
	if !c.On() {
		return nil
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Write == nil {
		opt.Write = func(_ context.Context, step func() error) error { return step() }
	}
	if opt.Renew == nil {
		opt.Renew = func(string) {}
	}
	return &Worker{opt: opt, rules: rulesOf(c), deny: deny.New(c.DenyWorkspaces), now: time.Now, open: open,
		wake: make(chan struct{}, 1), queue: map[string]waiting{}, all: true, info: Info{Provider: c.Provider}}
}

// Info says how it is; nil of a nil worker.
func (w *Worker) Info() *Info {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.info
	i.Waiting = len(w.queue)
	return &i
}

func (w *Worker) say(f func(*Info)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.info)
}

// Changed tells that a thread has something new, or with "" that any may. It
// never waits. A nil worker takes it in, too.
func (w *Worker) Changed(threadID string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	if threadID == "" {
		w.all = true
	} else {
		now := w.now()
		w.queue[threadID] = waiting{seen: now, updated: now, next: now.Add(w.rules.quiet)}
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run makes summaries until ctx ends. What goes wrong is told and tried again;
// only damage to the cache ends it. A nil worker returns at once.
func (w *Worker) Run(ctx context.Context) error {
	if w == nil {
		return nil
	}
	defer w.close()
	asked := time.Time{} // when it was last looked for questions
	for ctx.Err() == nil {
		if now := w.now(); now.Sub(asked) >= look {
			asked = now
			w.answer(ctx)
		}
		wait, err := w.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // told to stop
		case errors.Is(err, store.ErrDamaged):
			if err := w.opt.DB.Check(ctx); errors.Is(err, store.ErrDamaged) {
				return err
			}
			wait = faultPause
		case err != nil:
			w.told(err, w.now().Add(faultPause))
			wait = faultPause
		}
		if !w.sleep(ctx, min(wait, look)) {
			return nil
		}
	}
	return nil
}

// sleep waits until the time is over or a thread changed; false if ctx ended.
func (w *Worker) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-t.C:
	}
	return true
}

// round makes at most one summary, and says when to go on.
func (w *Worker) round(ctx context.Context) (time.Duration, error) {
	if err := w.list(ctx); err != nil {
		return 0, err
	}
	ids, wait := w.next()
	if len(ids) == 0 {
		return wait, nil
	}
	for _, id := range ids {
		v, rested, err := w.settle(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChanged):
			w.drop(id) // gone, or read anew: then it changes
			continue
		case err != nil:
			w.later(id, faultPause)
			return 0, err
		case v == verdictNever:
			w.drop(id)
			continue
		case v == verdictLater:
			w.later(id, rested)
			continue
		}
		if until, why := w.closed(ctx); why != nil {
			return 0, w.hold(ctx, id, until, why)
		}
		return 0, w.make(ctx, id)
	}
	return 0, nil
}

// list adds what the cache has when any thread may have something new.
func (w *Worker) list(ctx context.Context) error {
	w.mu.Lock()
	all := w.all
	w.all = false
	w.mu.Unlock()
	if !all {
		return nil
	}
	threads, _, err := w.opt.DB.Threads(ctx, store.Filter{Archived: true})
	if err != nil {
		w.mu.Lock()
		w.all = true
		w.mu.Unlock()
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range threads {
		if _, has := w.queue[threads[i].ID]; !has {
			w.queue[threads[i].ID] = waiting{updated: threads[i].Updated}
		}
	}
	return nil
}

// next gives the threads to look at now, those that changed last first, and if
// there are none, when there will be.
func (w *Worker) next() (ids []string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	wait = time.Hour
	for id, q := range w.queue {
		if d := q.next.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(w.queue[b].updated.Compare(w.queue[a].updated), cmp.Compare(a, b))
	})
	return ids, wait
}

func (w *Worker) drop(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.queue, id)
}

// later looks at a thread again after a while.
func (w *Worker) later(id string, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queue[id]
	q.next = w.now().Add(after)
	w.queue[id] = q
}

// hold keeps all threads that are due while nothing may be sent; the documents
// of this one, and of those that changed in this run, say why. The zero time:
// until the program is started again.
func (w *Worker) hold(ctx context.Context, due string, until time.Time, why error) error {
	w.told(why, until)
	now := w.now()
	next := until
	if until.IsZero() {
		next = now.AddDate(1, 0, 0)
	}
	var say []string
	w.mu.Lock()
	for id, q := range w.queue {
		if q.next.After(now) {
			continue
		}
		if id == due || !q.seen.IsZero() {
			say = append(say, id)
		}
		q.next = next
		w.queue[id] = q
	}
	w.mu.Unlock()
	for _, id := range say {
		if err := w.because(ctx, id, reasonOf(why)); err != nil {
			return err
		}
	}
	return nil
}

// told notes what keeps everything from going on.
func (w *Worker) told(err error, next time.Time) {
	text := err.Error()
	var was string
	w.say(func(i *Info) {
		was = i.LastError
		i.LastError, i.LastFix, i.NextTry = text, fix(w.opt.Config, err), time.Time{}
		if !next.IsZero() {
			i.NextTry = next.UTC()
		}
	})
	if was == text {
		return
	}
	level := slog.LevelWarn
	if errors.Is(err, spend.ErrCap) {
		level = slog.LevelInfo
	}
	w.opt.Log.Log(context.Background(), level, "no summaries are made for now", "err", text)
}

func (w *Worker) close() {
	if w.model != nil {
		w.model.Close()
		w.model = nil
	}
}
