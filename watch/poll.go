package watch

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// byActivity gives the files that changed of late, the last changed first.
func (t *tree) byActivity() []*entry {
	es := make([]*entry, 0, len(t.active))
	for _, e := range t.active {
		es = append(es, e)
	}
	slices.SortFunc(es, func(a, b *entry) int {
		return cmp.Or(b.active.Compare(a.active), cmp.Compare(a.file.Path, b.file.Path))
	})
	return es
}

// needsPoll says that no event will tell, in time, of a change of path.
func (l *loop) needsPoll(path string, now time.Time) bool {
	dir := l.folders[filepath.Dir(path)]
	return dir != nil && (l.w.late || !dir.watched || l.polls(l.homes[dir.home], now))
}

// findActive finds out whether there are files to look at each PollHot and
// each pollWarm, and forgets the ones that have been quiet for long.
func (l *loop) findActive(now time.Time) {
	l.hot, l.warm = false, false
	for path, e := range l.tree.active {
		idle := now.Sub(e.active)
		if idle >= warmFor {
			delete(l.tree.active, path)
			continue
		}
		if l.hot || l.warm && idle >= hotFor || !l.needsPoll(path, now) {
			continue
		}
		l.warm, l.hot = true, idle < hotFor
	}
}

// pollFiles looks [4] at the files that changed within the given time and have no
// events.
func (l *loop) pollFiles(now time.Time, within time.Duration) {
	for path, e := range l.tree.active {
		if now.Sub(e.active) < within && l.needsPoll(path, now) {
			l.check(path, now)
		}
	}
	l.findActive(now)
}

// pollFolders looks for new names in the folders that would be watched, where
// no events can be had, and for homes that were not there.
func (l *loop) pollFolders(now time.Time) {
	for _, h := range l.homes {
		if _, err := realDir(h.path); err == nil && h.missing {
			l.scanBy(now)
		}
	}
	order, _ := l.wanted(now)
	for _, d := range order {
		if !l.polls(l.homes[d.home], now) && !slices.Contains(l.unafforded, d) {
			continue
		}
		fi, err := os.Lstat(d.path)
		if err != nil {
			l.scanBy(now)
			continue
		}
		if d.depth == homeDepth {
			l.readHome(d, now) // its index changes without changing the folder
			continue
		}
		if fi.ModTime().Equal(d.modTime) {
			continue
		}
		if now.Sub(fi.ModTime()) > coarseTime { // else it may change again and look the same
			d.modTime = fi.ModTime()
		}
		l.readFolder(d, now)
	}
}
