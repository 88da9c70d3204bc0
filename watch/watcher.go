package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	defaultRescan   = 60 * time.Second
	defaultDebounce = 20 * time.Millisecond  // a turn writes bursts a few ms apart
	defaultMaxDelay = 100 * time.Millisecond // and may stream without a pause
	defaultPollHot  = 250 * time.Millisecond

	coarseTime = 2 * time.Second // no file system counts times in larger steps

	pollWarm = time.Second      // folders and files, where events cannot be had
	hotFor   = 10 * time.Minute // a file is looked at each PollHot this long after a change
	warmFor  = time.Hour        // and each pollWarm this long
	confirm  = 2 * time.Second  // from a listing that misses a file to the next
	vanished = 200 * time.Millisecond
	// afterLimit is the time to the next listing when descriptors were short.
	afterLimit = 5 * time.Second
	wakeJump   = 30 * time.Second // wall clock ahead of ours, or we too late, by this: the machine slept
	scanShare  = 4                // a listing is followed by at least this many times its length of peace

	missedAge    = 2 * time.Second // a change older than this should have had its event
	missedLimit  = 3               // so many without one, within missedWithin: do not trust events there
	missedWithin = 10 * time.Minute
	distrustFor  = time.Hour

	firstRetry = time.Minute // of watches after a limit; doubles up to lastRetry
	lastRetry  = time.Hour
)

// Kind is what a Change is about.
type Kind uint8

const (
	// Present says that the rollout is new or changed; Change.File is the file to read.
	// A move or a change of form is a Present with the new path.
	Present Kind = iota + 1
	// Gone says that no file of the rollout was left in two listings in a
	// row; Change.File is the last one there was.
	Gone
	// IndexChanged says that the thread names of the home changed; of
	// Change.File only the path, size and times are set.
	IndexChanged
)

// String gives the name used in logs.
func (k Kind) String() string {
	switch k {
	case Present:
		return "present"
	case Gone:
		return "gone"
	case IndexChanged:
		return "index changed"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText gives the same name as String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Change says that a rollout, or the index of a home, is not what it was.
type Change struct {
	Home string // as given in Options.Homes
	File File
	Kind Kind
	Seen time.Time // when the watcher noticed
}

// Health is how well the watcher can see.
type Health struct {
	Backend   string    // inotify, kqueue, windows; poll when not every change has its event
	Watches   int       // folders with a watch
	Dropped   int64     // times the system said that it lost events
	Missed    int64     // changes found by a listing that should have had an event
	LastEvent time.Time // zero when there was none
	LastScan  time.Time // end of the last complete listing
	Problems  []string  // what cannot be read or seen, at most 100
}

const maxProblems = 100

// Options tunes a Watcher. All but Homes works as zero.
type Options struct {
	Homes    []string      // Codex home folders; need not exist yet
	Rescan   time.Duration // between complete listings; 0 is 60 s
	Debounce time.Duration // quiet time that ends a burst; 0 is 20 ms
	MaxDelay time.Duration // longest wait for quiet; 0 is 100 ms
	PollHot  time.Duration // between looks at active files without events; 0 is 250 ms
	// Known gives what the receiver already has of a path, so that the first
	// listing reports only what differs. nil knows nothing.
	Known func(path string) (File, bool)
	// Had are the files the receiver has from an earlier run, by home as in
	// Homes; those that are gone are reported as if they had been seen.
	Had map[string][]File
	Log *slog.Logger // nil discards
}

func (o Options) withDefaults() (Options, error) {
	if len(o.Homes) == 0 {
		return o, errors.New("watch rollouts: no home given")
	}
	if o.Rescan < 0 || o.Debounce < 0 || o.MaxDelay < 0 || o.PollHot < 0 {
		return o, errors.New("watch rollouts: negative duration")
	}
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&o.Rescan, defaultRescan)
	set(&o.Debounce, defaultDebounce)
	set(&o.MaxDelay, defaultMaxDelay)
	set(&o.PollHot, defaultPollHot)
	if o.Known == nil {
		o.Known = func(string) (File, bool) { return File{}, false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Homes = slices.Clone(o.Homes)
	return o, nil
}

// Watcher watches the rollouts of some Codex homes.
type Watcher struct {
	opt    Options
	open   func() (backend, error)
	budget budget
	late   bool // the system's events come late: poll active files as well
	remote func(path string) string
	see    eyes
	retry  time.Duration // of watches after a limit, the first time

	mu     sync.Mutex // guards health
	health Health
}

// New makes a Watcher; it starts nothing.
func New(opt Options) (*Watcher, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Watcher{opt: opt, open: openFsnotify, budget: systemBudget(), late: eventsLate(), remote: remoteKind, see: systemEyes(), retry: firstRetry, health: Health{Backend: "poll"}}, nil
}

// Run sends first what the listing finds and Options.Known does not, those
// begun first at the front, then every change, until ctx ends; then it returns
// nil. It blocks on out rather than drop a change, and never closes it.
// It is called once.
func (w *Watcher) Run(ctx context.Context, out chan<- Change) error {
	l := newLoop(w)
	defer l.scans.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return l.run(ctx, out)
}

// Health may be asked at any time.
func (w *Watcher) Health() Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.health
	h.Problems = slices.Clone(h.Problems)
	return h
}

// tell changes the health under its lock.
func (w *Watcher) tell(change func(h *Health)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.health)
}
