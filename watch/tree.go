package watch

import (
	"errors"
	"io/fs"
	"slices"
	"time"
)

// tree is what is known of the files, and the queue of rollouts to report. It
// looks at no clock and, but for settling which of several files of a rollout
// are there, at no file.
type tree struct {
	known    func(path string) (File, bool)
	entries  map[string]*entry // by path
	rollouts map[rolloutKey]*rollout
	active   map[string]*entry // by path: changed within warmFor
	queue    []*rollout
	head     *homeChange // what queue[0] reports, once made; nil when that may have changed
}

// entry is one physical file.
type entry struct {
	of      *rollout
	file    File
	seen    time.Time // last look at it
	active  time.Time // when it last changed; zero for long ago
	told    File      // what the receiver has of it, if any
	missing bool      // it was not there then
	misses  int       // listings in a row without it
	turn    int       // last listing that had it
}

type rolloutKey struct {
	home int
	id   string // "" for the index of the home
}

// rollout is all files with one rollout id in one home.
type rollout struct {
	key     rolloutKey
	entries []*entry
	sent    File // what the receiver has
	hasSent bool
	last    File // the last file there was, when entries is empty
	noticed time.Time
	queued  bool
}

type homeChange struct {
	Change
	home  int
	other bool // of a file beside the one that is read
}

func newTree(known func(string) (File, bool)) *tree {
	return &tree{
		known: known, entries: make(map[string]*entry),
		rollouts: make(map[rolloutKey]*rollout), active: make(map[string]*entry),
	}
}

// had puts in a file from an earlier run that may be gone by now.
func (t *tree) had(home int, f File) {
	e := t.entry(home, f)
	e.missing = true
	e.of.adopt(f)
}

func (r *rollout) adopt(f File) {
	if !r.hasSent || before(f, r.sent) {
		r.sent, r.hasSent = f, true
	}
}

func (t *tree) entry(home int, f File) *entry {
	if e := t.entries[f.Path]; e != nil {
		return e
	}
	key := rolloutKey{home, f.Name.RolloutID}
	r := t.rollouts[key]
	if r == nil {
		r = &rollout{key: key}
		t.rollouts[key] = r
	}
	e := &entry{of: r, file: f}
	r.entries = append(r.entries, e)
	t.entries[f.Path] = e
	return e
}

// knows says that a listing begun at started tells nothing new with f.
func (t *tree) knows(f File, started time.Time) bool {
	e := t.entries[f.Path]
	return e != nil && (e.seen.After(started) || unblurred(f, e.file) && !e.missing)
}

// list takes in a file as a listing saw it. What was looked at since the
// listing began is newer than that.
func (t *tree) list(home int, f File, started time.Time, turn int) {
	if e := t.entries[f.Path]; e != nil && e.seen.After(started) {
		e.turn = turn
		return
	}
	t.observe(home, f, started)
	t.entries[f.Path].turn = turn
}

// observe takes in a file as just seen, and says whether that was news.
func (t *tree) observe(home int, f File, now time.Time) bool {
	isNew := t.entries[f.Path] == nil
	e := t.entry(home, f)
	changed := isNew || e.missing || !same(e.file, f)
	e.seen, e.missing, e.misses = now, false, 0
	if !changed {
		return false
	}
	first := isNew || e.active.IsZero()
	e.file = f
	e.active = now
	if first { // may have lain there for years
		e.active = now.Add(-max(0, now.Sub(f.ModTime)))
	}
	if now.Sub(e.active) < warmFor {
		t.active[f.Path] = e
	}
	if known, ok := t.known(f.Path); isNew && ok && same(known, f) {
		e.of.adopt(f)
	}
	t.enqueue(e.of, now)
	return true
}

// vanish takes in that path was not there when looked at, and says whether
// that was news. Only listings decide that a file is gone: it may be on its
// way to another name.
func (t *tree) vanish(path string, now time.Time) bool {
	e := t.entries[path]
	if e == nil || e.missing {
		return false
	}
	e.seen, e.missing = now, true
	delete(t.active, path)
	t.enqueue(e.of, now)
	return true
}

// sweep deals with the files that the listing of this turn does not have, and
// says whether another listing should confirm that soon.
func (t *tree) sweep(l *listing, started time.Time, turn int) bool {
	again := false
	for path, e := range t.entries {
		switch {
		case e.turn == turn:
		case !l.misses(e.of.key.home, path):
			e.misses = 0
		case e.seen.After(started) && !e.missing:
		default:
			e.missing = true
			delete(t.active, path)
			if e.misses++; e.misses >= 2 {
				t.drop(e, started)
			} else {
				t.enqueue(e.of, started)
				again = true
			}
		}
	}
	return again
}

func (t *tree) drop(e *entry, now time.Time) {
	delete(t.entries, e.file.Path)
	e.of.last = e.file
	e.of.entries = slices.DeleteFunc(e.of.entries, func(o *entry) bool { return o == e })
	t.enqueue(e.of, now)
}

func (t *tree) enqueue(r *rollout, now time.Time) {
	if !r.queued {
		r.queued, r.noticed = true, now
		t.queue = append(t.queue, r)
	}
	if t.queue[0] == r {
		t.head = nil
	}
}

// next gives the change to report next. The answer stays until sent, or until
// something happened to the rollout it is about.
func (t *tree) next() (homeChange, bool) {
	for t.head == nil && len(t.queue) > 0 {
		if c, ok := t.change(t.queue[0]); ok {
			t.head = &c
			break
		}
		t.pop()
	}
	if t.head == nil {
		return homeChange{}, false
	}
	return *t.head, true
}

// sent says that the receiver has what next gave.
func (t *tree) sent() {
	r := t.queue[0]
	if e := t.entries[t.head.File.Path]; e != nil {
		e.told = t.head.File
	}
	if !t.head.other {
		r.sent, r.hasSent = t.head.File, t.head.Kind != Gone
	}
	t.pop()
	if len(r.entries) > 1 {
		t.enqueue(r, r.noticed) // for the others
	}
}

func (t *tree) pop() {
	r := t.queue[0]
	r.queued = false
	t.queue[0] = nil
	t.queue = t.queue[1:]
	t.head = nil
	if len(r.entries) == 0 {
		delete(t.rollouts, r.key)
	}
}

// change makes the report of r [5], unless there is nothing to say.
func (t *tree) change(r *rollout) (homeChange, bool) {
	c := homeChange{home: r.key.home, Change: Change{Seen: r.noticed, Kind: Present}}
	if r.key.id == "" {
		c.Kind = IndexChanged
	}
	if len(r.entries) == 0 {
		c.Kind, c.File = Gone, r.last
		return c, r.hasSent && r.key.id != ""
	}
	var there []File
	for _, e := range r.entries {
		if len(r.entries) > 1 && !e.missing {
			// One of them may just have been moved or compressed to another.
			_, err := look(e.file.Path, e.file.Name, e.file.Archived)
			e.missing = errors.Is(err, fs.ErrNotExist)
		}
		if !e.missing {
			there = append(there, e.file)
		}
	}
	if len(there) == 0 {
		return c, false
	}
	c.File = slices.MinFunc(there, func(a, b File) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	if !r.hasSent || !same(c.File, r.sent) {
		return c, true
	}
	// Which of several copies holds most only their content tells: the receiver
	// gets to know of each.
	for _, e := range r.entries {
		if !e.missing && e.file.Path != c.File.Path && e.file.Name.Form == c.File.Name.Form && (e.told.Path == "" || !same(e.file, e.told)) {
			c.File, c.other = e.file, true
			return c, true
		}
	}
	return c, false
}
