package watch

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// folderState is a folder of a home, watched or not.
type folderState struct {
	folder
	watched bool
	since   time.Time   // when the watch was set
	info    os.FileInfo // what was watched: another folder may take its place
	modTime time.Time   // when last looked at without events
	turn    int         // last listing that had it
	made    time.Time   // when it was found outside a listing
}

// takeFolders renews the folders from a listing.
func (l *loop) takeFolders(res scanResult) {
	for _, f := range res.folders {
		d := l.folders[f.path]
		if d == nil {
			d = &folderState{}
			l.folders[f.path] = d
		}
		d.folder, d.turn = f, l.turn
	}
	for path, d := range l.folders {
		fi, ok := isFolderIf(d.watched || d.turn != l.turn, path)
		switch {
		case d.turn != l.turn && (!ok || !d.made.After(res.started)) && res.misses(d.home, path):
			l.unwatch(d)
			delete(l.folders, path)
		case d.watched && (!ok || !os.SameFile(fi, d.info)):
			l.unwatch(d)
		}
	}
}

// isFolderIf spares the look at folders that need none.
func isFolderIf(need bool, path string) (os.FileInfo, bool) {
	if !need {
		return nil, true
	}
	return isFolder(path)
}

// openBackend tries to get events at all.
func (l *loop) openBackend() {
	b, err := l.w.open()
	if err != nil {
		l.hitLimit(err, time.Now())
		return
	}
	l.backend = b
	l.tellHow(time.Now())
}

// hitLimit falls back to looking by the clock, and says so once.
func (l *loop) hitLimit(err error, now time.Time) {
	if l.limit == nil {
		l.retryIn = l.w.retry
		l.w.opt.Log.Warn("not enough watches, polling", "err", err)
	}
	l.limited, l.limit = true, err
	l.retryAt = now.Add(l.retryIn)
	l.tellHow(now)
}

// loseBackend goes on without one.
func (l *loop) loseBackend(err error, now time.Time) {
	if cerr := l.backend.close(); cerr != nil {
		err = cerr
	}
	l.backend = nil
	for _, d := range l.folders {
		d.watched = false
	}
	l.tellWatches()
	l.hitLimit(err, now)
	l.scanBy(now)
}

// retry asks again for the watches that could not be had.
func (l *loop) retry(now time.Time) {
	l.retryIn = min(2*l.retryIn, lastRetry)
	l.retryAt = now.Add(l.retryIn)
	if l.backend == nil {
		l.openBackend()
		if l.backend == nil {
			return
		}
	}
	l.limited = false
	l.rewatch(now)
	if l.limited {
		return
	}
	l.limit, l.retryIn = nil, l.w.retry
	l.w.opt.Log.Info("watches restored")
	l.tellHow(now)
	l.scanBy(now)
}

// wanted gives the folders to watch, the most useful first, and how many of
// them must not wait for a listing: homes, roots, active and newest days.
func (l *loop) wanted(now time.Time) (order []*folderState, must int) {
	var upper, days []*folderState
	for _, d := range l.folders {
		if d.depth < dayDepth {
			upper = append(upper, d)
		} else {
			days = append(days, d)
		}
	}
	newestFirst := func(a, b *folderState) int { return cmp.Compare(b.path, a.path) }
	slices.SortFunc(upper, func(a, b *folderState) int {
		return cmp.Or(cmp.Compare(min(a.depth, 1), min(b.depth, 1)), newestFirst(a, b))
	})
	slices.SortFunc(days, newestFirst)

	take := make(map[*folderState]bool)
	var active []*folderState
	for _, e := range l.tree.byActivity() {
		d := l.folders[filepath.Dir(e.file.Path)]
		if d != nil && d.depth >= dayDepth && !take[d] && len(active) < l.w.budget.active && now.Sub(e.active) < warmFor {
			take[d] = true
			active = append(active, d)
		}
	}
	perHome := make(map[int]int)
	var newest []*folderState
	for _, d := range days {
		if perHome[d.home]++; perHome[d.home] <= l.w.budget.newest && !take[d] {
			newest = append(newest, d)
		}
	}
	roots := slices.IndexFunc(upper, func(d *folderState) bool { return d.depth > 0 })
	if roots < 0 {
		roots = len(upper)
	}
	order = slices.Concat(upper[:roots], active, newest, upper[roots:])
	return order, min(len(order), roots+len(active)+2*len(l.homes))
}

// affordable leaves out what the budget does not allow. What is left out is
// looked at by the listing, its active files by the clock, and when it is one
// of the first must, its names by the clock as well.
func (l *loop) affordable(folders []*folderState, must int) []*folderState {
	b := l.w.budget
	l.unafforded = nil
	if b.cost == 0 {
		return folders
	}
	left := b.cost
	var ok []*folderState
	for i, d := range folders {
		cost := 1
		if b.perFile {
			cost += d.entries
		}
		if cost <= left {
			left -= cost
			ok = append(ok, d)
		} else if i < must {
			l.unafforded = append(l.unafforded, d)
		}
	}
	return ok
}

// rewatch brings the watches to what is wanted.
func (l *loop) rewatch(now time.Time) {
	want := l.affordable(l.wanted(now))
	keep := make(map[*folderState]bool, len(want))
	for _, d := range want {
		keep[d] = true
	}
	for _, d := range l.folders {
		if d.watched && !keep[d] {
			l.unwatch(d)
		}
	}
	for _, d := range want {
		if !d.watched {
			l.watch(d, now)
		}
	}
}

func (l *loop) unwatch(d *folderState) {
	if !d.watched {
		return
	}
	d.watched = false
	if l.backend != nil {
		l.backend.remove(d.path)
	}
	l.tellWatches()
}

func (l *loop) tellWatches() {
	n := 0
	for _, d := range l.folders {
		if d.watched {
			n++
		}
	}
	l.w.tell(func(h *Health) { h.Watches = n })
}

// watch sets a watch on d, and then reads d [2]: what was made before the watch
// stood has no event.
func (l *loop) watch(d *folderState, now time.Time) {
	if l.backend != nil && !l.limited {
		info, ok := isFolder(d.path)
		if !ok {
			return // the next listing forgets it
		}
		switch err := l.backend.add(d.path); {
		case err == nil:
			d.watched, d.since, d.info = true, now, info
			l.tellWatches()
		case isLimit(err):
			l.hitLimit(err, now)
		default:
			l.w.opt.Log.Warn("watch folder", "path", d.path, "err", err)
		}
	}
	l.readFolder(d, now)
}

// watchActive sees to it that a folder where something goes on is watched.
func (l *loop) watchActive(d *folderState, now time.Time) {
	if d.watched || l.backend == nil || l.limited || l.w.budget.cost > 0 {
		return
	}
	n := 0
	for _, o := range l.folders {
		if o.watched && o.depth >= dayDepth {
			n++
		}
	}
	if n < l.w.budget.newest+l.w.budget.active {
		l.watch(d, now)
	}
}

// newFolder takes in a folder that appeared in parent.
func (l *loop) newFolder(path string, parent *folderState, now time.Time) {
	info, ok := isFolder(path)
	if !ok {
		return
	}
	d := l.folders[path]
	if d != nil && d.watched && os.SameFile(info, d.info) {
		return
	}
	if d == nil {
		d = &folderState{folder: folder{path: path, home: parent.home, archived: parent.archived, depth: parent.depth + 1}, made: now}
		l.folders[path] = d
	}
	l.unwatch(d) // of another folder that had the name
	l.watch(d, now)
}

// readFolder looks at everything in d that can be news.
func (l *loop) readFolder(d *folderState, now time.Time) {
	if d.depth == homeDepth {
		l.readHome(d, now)
		return
	}
	entries, err := l.w.see.readDir(d.path)
	if err != nil {
		if isLimit(err) {
			l.scanBy(now.Add(afterLimit))
		}
		return // the listing reports it
	}
	for _, entry := range entries {
		path := filepath.Join(d.path, entry.Name())
		if _, ok := ParseName(entry.Name()); ok {
			l.check(path, now)
		} else if entry.IsDir() && l.folders[path] == nil {
			l.newFolder(path, d, now)
		}
	}
}

// readHome asks for a listing when a root is there that was not.
func (l *loop) readHome(d *folderState, now time.Time) {
	l.check(filepath.Join(d.path, indexFile), now)
	for _, name := range []string{sessionsDir, archivedDir} {
		root, err := realDir(filepath.Join(d.path, name))
		if err == nil && l.folders[root] == nil {
			l.scanBy(now)
		}
	}
}
