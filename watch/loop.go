package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// loop is the state of one Run. All of it belongs to the goroutine of Run,
// except that a listing is made by another one and comes back through scanned.
type loop struct {
	w       *Watcher
	homes   []*homeState
	folders map[string]*folderState
	tree    *tree
	settle  *settle

	backend backend // nil: none could be opened
	limited bool    // not all watches could be had
	limit   error   // why
	// unafforded are folders without a watch, by our own budget, that matter
	// too much to wait for the listing.
	unafforded []*folderState
	retryAt    time.Time
	retryIn    time.Duration

	scans    sync.WaitGroup
	scanned  chan scanResult
	scanning bool
	scanAt   time.Time // when the next listing starts
	turn     int       // counts listings
	listed   []Problem // of the last one

	warmAt, hotAt time.Time // next looks; zero for none
	hot, warm     bool      // some active file has no events

	lastWall, lastMono time.Time
	planned            time.Time // when the loop meant to wake
	// lost: what changed before had no event for a known reason, which is no
	// reason to distrust a home.
	lost time.Time
}

type homeState struct {
	path     string // as given
	missing  bool
	remote   string      // kind of its file system, if others change it unseen
	distrust time.Time   // poll until then: events went missing here
	missed   []time.Time // of late
}

type scanResult struct {
	*listing
	remotes        []string // by home, as homeState.remote
	started, ended time.Time
	err            error
}

func newLoop(w *Watcher) *loop {
	now := time.Now()
	l := &loop{
		w: w, folders: make(map[string]*folderState), tree: newTree(w.opt.Known),
		settle:  newSettle(w.opt.Debounce, w.opt.MaxDelay),
		scanned: make(chan scanResult, 1), retryIn: w.retry,
		lastWall: now.Round(0), lastMono: now, planned: now,
	}
	for i, home := range w.opt.Homes {
		l.homes = append(l.homes, &homeState{path: home, missing: true})
		for _, f := range w.opt.Had[home] {
			l.tree.had(i, f)
		}
	}
	return l
}

func (l *loop) run(ctx context.Context, out chan<- Change) error {
	l.openBackend()
	l.scanAt = time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		l.work(ctx, time.Now())
		l.planned = l.deadline()
		timer.Reset(time.Until(l.planned))

		var send chan<- Change
		change, ok := l.tree.next()
		if ok {
			change.Home = l.homes[change.home].path
			send = out
		}
		var events <-chan fsnotify.Event
		var errs <-chan error
		if l.backend != nil {
			events, errs = l.backend.events(), l.backend.errors()
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case send <- change.Change:
			l.tree.sent()
		case ev, ok := <-events:
			l.event(ev, ok)
		case err, ok := <-errs:
			l.eventError(err, ok)
		case res := <-l.scanned:
			l.apply(res)
		}
	}
	if l.backend == nil {
		return nil
	}
	if err := l.backend.close(); err != nil {
		return fmt.Errorf("close watches: %w", err)
	}
	return nil
}

// work does what is due.
func (l *loop) work(ctx context.Context, now time.Time) {
	if l.slept(now) {
		l.lost = now
		l.scanBy(now)
	}
	l.lastWall, l.lastMono = now.Round(0), now
	for _, path := range l.settle.take(now) {
		l.check(path, now)
	}
	if l.limited && !l.retryAt.After(now) {
		l.retry(now)
	}
	if !l.hotAt.IsZero() && !l.hotAt.After(now) {
		l.pollFiles(now, hotFor)
		l.hotAt = l.afterPoll(now, l.w.opt.PollHot)
	}
	if !l.warmAt.IsZero() && !l.warmAt.After(now) {
		l.pollFolders(now)
		l.pollFiles(now, warmFor)
		l.warmAt = l.afterPoll(now, pollWarm)
	}
	l.plan(now)
	if !l.scanning && !l.scanAt.After(now) {
		l.startScan(ctx)
	}
}

// slept says that the machine, or this process, stood still since the last
// work. While the machine sleeps our clock stands still on some systems; on the
// others, and in a stopped process, it goes on and we wake too late.
func (l *loop) slept(now time.Time) bool {
	return now.Round(0).Sub(l.lastWall)-now.Sub(l.lastMono) > wakeJump || now.Sub(l.planned) > wakeJump
}

// afterPoll is the time of the next look: not so soon that looking is all
// that is done.
func (l *loop) afterPoll(began time.Time, every time.Duration) time.Time {
	took := time.Since(began)
	return began.Add(max(every, 20*took))
}

// plan starts and stops the clocks for looking without events.
func (l *loop) plan(now time.Time) {
	warm := l.hot || l.warm || len(l.unafforded) > 0
	for _, h := range l.homes {
		warm = warm || h.missing || l.polls(h, now)
	}
	set := func(at *time.Time, want bool, every time.Duration) {
		switch {
		case !want:
			*at = time.Time{}
		case at.IsZero():
			*at = now.Add(every)
		}
	}
	set(&l.warmAt, warm, pollWarm)
	set(&l.hotAt, l.hot, l.w.opt.PollHot)
}

// polls says that events from home are not to be relied on.
func (l *loop) polls(h *homeState, now time.Time) bool {
	return l.limited || h.remote != "" || now.Before(h.distrust)
}

func (l *loop) deadline() time.Time {
	at := time.Now().Add(l.w.opt.Rescan)
	first := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	first(l.settle.wake)
	first(l.warmAt)
	first(l.hotAt)
	if l.limited {
		first(l.retryAt)
	}
	if !l.scanning {
		first(l.scanAt)
	}
	return at
}

// scanBy asks for a listing no later than at.
func (l *loop) scanBy(at time.Time) {
	if at.Before(l.scanAt) {
		l.scanAt = at
	}
}

// startScan begins a listing [1].
func (l *loop) startScan(ctx context.Context) {
	l.scanning = true
	l.scanAt = time.Now().Add(l.w.opt.Rescan)
	l.scans.Go(func() {
		res := scanResult{started: time.Now()}
		res.listing, res.err = list(ctx, l.w.opt.Homes, l.w.see)
		if res.err == nil {
			res.remotes = l.w.remotes(res.listing)
		}
		res.ended = time.Now()
		l.scanned <- res // has room for the one listing there can be
	})
}

// event marks what ev is about [3]. ok is false when the backend has ended.
func (l *loop) event(ev fsnotify.Event, ok bool) {
	now := time.Now()
	if !ok {
		l.loseBackend(errors.New("watches ended"), now)
		return
	}
	l.w.tell(func(h *Health) { h.LastEvent = now })
	if dir := l.folders[ev.Name]; dir != nil && ev.Has(fsnotify.Remove|fsnotify.Rename) {
		l.unwatch(dir)
		l.scanBy(now.Add(vanished))
		return
	}
	if ev.Op == fsnotify.Chmod && l.unread(ev.Name) {
		l.scanBy(now.Add(vanished)) // it may have become readable
		return
	}
	parent := l.folders[filepath.Dir(ev.Name)]
	if parent == nil {
		return
	}
	base := filepath.Base(ev.Name)
	if parent.depth == homeDepth {
		switch {
		case base == indexFile:
			l.settle.touch(ev.Name, now)
		case (base == sessionsDir || base == archivedDir) && !ev.Has(fsnotify.Write|fsnotify.Chmod):
			l.scanBy(now)
		}
		return
	}
	if _, ok := ParseName(base); ok {
		l.settle.touch(ev.Name, now)
		return
	}
	if ev.Has(fsnotify.Create) {
		l.newFolder(ev.Name, parent, now)
	}
}

func (l *loop) eventError(err error, ok bool) {
	now := time.Now()
	if !ok {
		l.loseBackend(errors.New("watches ended"), now)
		return
	}
	l.lost = now
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		l.w.tell(func(h *Health) { h.Dropped++ })
		l.w.opt.Log.Warn("events lost, listing all", "err", err)
	} else {
		l.w.opt.Log.Warn("watch failed, listing all", "err", err)
	}
	l.scanBy(now)
}

// check looks at the path of a rollout or an index.
func (l *loop) check(path string, now time.Time) {
	dir := l.folders[filepath.Dir(path)]
	if dir == nil {
		return // its folder went meanwhile: the listing has it
	}
	base := filepath.Base(path)
	name, ok := ParseName(base)
	if !ok && (dir.depth != homeDepth || base != indexFile) {
		return
	}
	file, err := l.w.see.look(path, name, dir.archived)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if l.tree.vanish(path, now) {
			l.scanBy(now.Add(vanished))
		}
	case err != nil: // the listing reports it
	case l.tree.observe(dir.home, file, now):
		l.watchActive(dir, now)
		l.hot = l.hot || l.needsPoll(path, now)
	}
}

// apply takes in a complete listing.
func (l *loop) apply(res scanResult) {
	l.scanning = false
	if res.err != nil {
		return // ctx ended
	}
	now := time.Now()
	l.turn++
	l.scanAt = latest(l.scanAt, res.ended.Add(scanShare*res.ended.Sub(res.started)))
	for i, h := range l.homes {
		h.missing = res.reals[i] == ""
		if remote := res.remotes[i]; remote != "" && remote != h.remote {
			l.w.opt.Log.Info("others may change this file system unseen, polling", "path", h.path, "kind", remote)
		}
		h.remote = res.remotes[i]
	}
	l.takeFolders(res)
	for _, f := range res.found {
		if l.turn > 1 {
			l.countMissed(f, res.started, now)
		}
		l.tree.list(f.home, f.file, res.started, l.turn)
	}
	for i, real := range res.reals {
		if real == "" {
			continue
		}
		path := filepath.Join(real, indexFile)
		if file, err := look(path, Name{}, false); err == nil {
			l.tree.list(i, file, res.started, l.turn)
		}
	}
	if l.tree.sweep(res.listing, res.started, l.turn) {
		l.scanBy(now.Add(confirm))
	}
	if slices.ContainsFunc(res.problems, func(p Problem) bool { return isLimit(p.Err) }) {
		l.scanBy(now.Add(afterLimit))
	}
	l.rewatch(now)
	l.findActive(now)
	l.listed = listedProblems(res.listing, len(l.homes))
	l.w.tell(func(h *Health) { h.LastScan = res.ended })
	l.tellHow(now)
}

// countMissed counts f if an event should have told of it long ago.
func (l *loop) countMissed(f found, started, now time.Time) {
	dir := l.folders[filepath.Dir(f.file.Path)]
	if dir == nil || !dir.watched || l.w.late || l.homes[f.home].remote != "" || l.tree.knows(f.file, started) {
		return
	}
	// Clocks of file servers differ from ours: what seems to come from the
	// time before the watch, or from the future, says nothing.
	at := f.file.changed()
	if at.Before(latest(dir.since, l.lost)) || started.Sub(at) < missedAge || l.settle.waits(f.file.Path) {
		return
	}
	l.w.tell(func(h *Health) { h.Missed++ })
	h := l.homes[f.home]
	recent := h.missed[:0]
	for _, t := range h.missed {
		if now.Sub(t) < missedWithin {
			recent = append(recent, t)
		}
	}
	h.missed = append(recent, now)
	if len(h.missed) >= missedLimit {
		if !now.Before(h.distrust) {
			l.w.opt.Log.Warn("changes come without events, polling", "path", h.path)
		}
		h.distrust, h.missed = now.Add(distrustFor), nil
	}
}

func filesOf(all []found, home int) []File {
	var files []File
	for _, f := range all {
		if f.home == home {
			files = append(files, f.file)
		}
	}
	return files
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isFolder does not follow links.
func isFolder(path string) (os.FileInfo, bool) {
	fi, err := os.Lstat(path)
	return fi, err == nil && fi.IsDir()
}
