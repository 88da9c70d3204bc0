package daemon

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/failpoint"
)

const (
	// restShared is how long nothing must have happened in a workspace, after a
	// turn's end, before its shared files are renewed.
	restShared = time.Minute
	// mostShared is how many sessions a shared file may speak of.
	mostShared = 5
	// mostBriefs bounds what is remembered of threads.
	mostBriefs = 1000
)

// sharings is what an outlet knows of what is shared. Only run uses it.
type sharings struct {
	due    map[string]time.Time // workspaces by when their shared files are due
	groups []group
	looked time.Time // when groups were
}

func newSharings() sharings { return sharings{due: map[string]time.Time{}} }

// group is workspaces that share the same files: folders of one work tree.
type group struct {
	root    string            // top folder of them, as written; empty: the files are about all workspaces
	members map[string]string // folder of the newest thread, by workspace
	paths   []string          // of the shared files
}

// next is when something is due; zero: never.
func (s *sharings) next() (at time.Time) {
	for _, t := range s.due {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at
}

// stir notes that a thread changed: its workspace's shared files are due when
// a turn has ended and nothing happened since.
func (o *outlet) stir(t transcript.Thread, now time.Time) {
	if _, ok := o.sink.(sink.Sharer); !ok || t.Workspace == "" {
		return
	}
	_, was := o.share.due[t.Workspace]
	if going := t.State == transcript.StateRunning || t.State == transcript.StateUnanswered; was || !going {
		o.share.due[t.Workspace] = now.Add(restShared)
	}
}

// stirAll notes that the shared files of any workspace may not be current: they
// are due when it has rested, and not before soonest.
func (o *outlet) stirAll(ctx context.Context, now, soonest time.Time) error {
	if _, ok := o.sink.(sink.Sharer); !ok {
		return nil
	}
	threads, _, err := o.p.e.db.Threads(ctx, store.Filter{})
	if err != nil {
		return err
	}
	later := func(workspace string, at time.Time) {
		if was, due := o.share.due[workspace]; !due || was.After(now) && at.After(was) {
			o.share.due[workspace] = at
		}
	}
	for _, t := range threads {
		if t.Workspace == "" || t.Turns == 0 {
			continue
		}
		at := t.Updated.Add(restShared)
		if at.Before(soonest) || at.After(now.Add(restShared)) {
			at = soonest // long ago, or ahead of the clock
		}
		later(t.Workspace, at)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.told { // there may be no thread left
		if f.Workspace != "" {
			later(f.Workspace, soonest)
		}
	}
	o.share.looked = time.Time{}
	return nil
}

// recall reads what is known of the shared files of a sink that was just opened.
func (o *outlet) recall(ctx context.Context) error {
	files, err := shared(ctx, o.p.e.db, o.name)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = files
	return nil
}

// shareDue renews the shared files of the workspaces that are due.
func (o *outlet) shareDue(ctx context.Context, now time.Time) error {
	s, ok := o.sink.(sink.Sharer)
	if !ok {
		return nil
	}
	ripe := map[string]bool{}
	for w, at := range o.share.due {
		if !at.After(now) {
			ripe[w] = true
		}
	}
	if len(ripe) == 0 {
		return nil
	}
	if err := o.group(ctx, s, now); err != nil {
		return err
	}
	for _, g := range o.share.groups {
		is, busy := "", false
		for w := range g.members {
			if ripe[w] && (is == "" || w < is) {
				is = w
			}
			at, due := o.share.due[w]
			busy = busy || due && at.After(now) && g.root != ""
		}
		if is == "" || busy {
			continue // busy: its own time comes, and is that of all members
		}
		again, err := o.shareGroup(ctx, s, g, now)
		if err != nil || ctx.Err() != nil {
			return err // all is due still
		}
		if !again.IsZero() {
			o.share.due[is] = again
			delete(ripe, is)
		}
	}
	for w := range ripe {
		delete(o.share.due, w)
	}
	return nil
}

// group finds which workspaces share the same files: those of one work tree, or
// all of them. A place that is new is seen within placeEvery.
func (o *outlet) group(ctx context.Context, s sink.Sharer, now time.Time) error {
	if now.Sub(o.share.looked) < placeEvery && !o.share.looked.After(now) && !o.share.looked.IsZero() {
		return nil
	}
	folders, err := o.p.e.db.Workspaces(ctx)
	if err != nil {
		return err
	}
	o.mu.Lock()
	told := slices.Clone(o.told)
	o.mu.Unlock()
	groups, err := groupsOf(ctx, s, folders, now)
	if err != nil {
		return err
	}
	for _, f := range told {
		if f.Workspace != "" && !slices.ContainsFunc(groups, func(g group) bool { return g.owns(f) }) {
			groups = append(groups, group{root: f.Workspace, members: map[string]string{f.Workspace: f.Workspace}, paths: []string{f.Path}})
		}
	}
	o.share.groups, o.share.looked = groups, now
	return nil
}

// owns tells whether a shared file is one of the group's.
func (g group) owns(f sink.SharedFile) bool {
	return f.Workspace == g.root || slices.Contains(g.paths, f.Path)
}

// groupsOf asks the sink which files it would share for a thread in each folder.
func groupsOf(ctx context.Context, s sink.Sharer, folders map[string]string, now time.Time) (groups []group, err error) {
	const nobody = "00000000-0000-7000-8000-000000000000"
	probe := func(root, workspace, folder string) ([]string, error) {
		files, err := s.Share(ctx, sink.Sharing{Workspace: root, Now: now, Look: true, Sessions: []sink.Session{{
			ThreadID: nobody, Workspace: workspace, Cwd: folder, Title: "-", State: transcript.StateAnswered, Created: now, Updated: now, Turns: 1,
			Document: func(int, bool) ([]byte, error) { return []byte{}, nil },
		}}})
		var paths []string
		for _, f := range files {
			paths = append(paths, f.Path)
		}
		return paths, err
	}
	everywhere := group{members: folders}
	for _, w := range slices.Sorted(maps.Keys(folders)) {
		folder := folders[w]
		if len(everywhere.paths) == 0 {
			if everywhere.paths, err = probe("", w, folder); err != nil {
				return nil, err
			}
		}
		g := group{root: rootOf(folder), members: map[string]string{w: folder}}
		if g.paths, err = probe(g.root, w, folder); err != nil {
			return nil, err
		}
		if len(g.paths) == 0 {
			continue
		}
		if i := slices.IndexFunc(groups, func(h group) bool {
			return slices.ContainsFunc(g.paths, func(p string) bool { return slices.Contains(h.paths, p) })
		}); i >= 0 {
			groups[i].join(g)
		} else {
			groups = append(groups, g)
		}
	}
	if len(everywhere.paths) > 0 {
		groups = append(groups, everywhere)
	}
	return groups, nil
}

// join takes in a group with the same files.
func (g *group) join(h group) {
	maps.Copy(g.members, h.members)
	for _, p := range h.paths {
		if !slices.Contains(g.paths, p) {
			g.paths = append(g.paths, p)
		}
	}
	if c := cmp.Compare(len(h.root), len(g.root)); c < 0 || c == 0 && h.root < g.root {
		g.root = h.root
	}
}

// rootOf is the top folder of the work tree that a folder lies in; the folder
// itself outside of one.
func rootOf(folder string) string {
	if !filepath.IsAbs(folder) {
		return folder
	}
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return folder
		}
	}
}

// shareGroup brings the files of a group up to date, and tells when they are
// due again; zero: with the next change.
func (o *outlet) shareGroup(ctx context.Context, s sink.Sharer, g group, now time.Time) (again time.Time, err error) {
	q, err := o.sharing(ctx, g, now)
	if err != nil {
		return again, err
	}
	if len(q.Sessions) > 0 {
		if q.Last, err = o.intend(ctx, g, q.Last); err != nil {
			return again, err
		}
	}
	files, err := s.Share(ctx, q)
	if err != nil && files == nil {
		return again, err
	}
	failpoint.Hit(failpoint.BeforeShared)
	if kErr := o.keep(ctx, q.Last, files); kErr != nil {
		return again, errors.Join(err, kErr)
	}
	for _, f := range files {
		if f.Note != "" && !slices.ContainsFunc(q.Last, func(g sink.SharedFile) bool { return g.Path == f.Path && g.Note == f.Note }) {
			o.p.e.log.Warn("a shared file", "sink", o.name, "note", f.Note)
		}
		if !f.Again.IsZero() && (again.IsZero() || f.Again.Before(again)) {
			again = f.Again
		}
	}
	return again, err
}

// intend records the files that a group may be about to write for the first
// time. A crash between that and keep would leave lines of ours that nobody
// knows of once their sessions have gone to another folder. Gives all that is
// known of the group's files then.
func (o *outlet) intend(ctx context.Context, g group, last []sink.SharedFile) ([]sink.SharedFile, error) {
	all := slices.Clone(last)
	for _, p := range g.paths {
		if !slices.ContainsFunc(last, func(f sink.SharedFile) bool { return f.Path == p }) {
			all = append(all, sink.SharedFile{Path: p, Workspace: g.root})
		}
	}
	if len(all) == len(last) {
		return last, nil
	}
	return all, o.keep(ctx, last, all)
}

// sharing gathers what is to be shared of a group.
func (o *outlet) sharing(ctx context.Context, g group, now time.Time) (sink.Sharing, error) {
	q := sink.Sharing{Workspace: g.root, Now: now}
	o.mu.Lock()
	for _, f := range o.told {
		if g.owns(f) {
			q.Last = append(q.Last, f)
		}
	}
	o.mu.Unlock()
	var threads []transcript.Thread
	workspaces := slices.Sorted(maps.Keys(g.members))
	if g.root == "" {
		workspaces = []string{""}
	}
	for _, w := range workspaces {
		list, _, err := o.p.e.db.Threads(ctx, store.Filter{Workspace: w, Limit: 4 * mostShared})
		if err != nil {
			return q, err
		}
		threads = append(threads, list...)
	}
	slices.SortStableFunc(threads, func(a, b transcript.Thread) int { return b.Updated.Compare(a.Updated) })
	receipts, err := o.p.e.db.Receipts(ctx, o.name)
	if err != nil {
		return q, err
	}
	for _, t := range threads {
		if len(q.Sessions) == mostShared {
			break
		}
		if t.Turns == 0 || t.Untouched || t.Workspace == "" || choices.Within(o.said.Off, t.Cwd) {
			continue
		}
		x, err := o.p.session(ctx, t)
		if err != nil {
			if err = ofThread(err); !errors.Is(err, errThread) || ctx.Err() != nil {
				return q, err
			}
			o.p.e.log.Warn("a session can't be told in short", "thread", t.ID, "err", err)
			continue
		}
		if x.Path = receipts[t.ID].Name; !o.has(x.Path) {
			x.Path = "" // somebody deleted it: no link leads to nothing
		}
		q.Sessions = append(q.Sessions, x)
	}
	return q, nil
}

// brief is a thread in short.
type brief struct {
	rev int64
	sink.Session
}

// session tells a thread in short.
func (p *publisher) session(ctx context.Context, t transcript.Thread) (sink.Session, error) {
	rev, err := p.e.db.Rev(ctx, t.ID)
	if err != nil {
		return sink.Session{}, err
	}
	p.mu.Lock()
	b, known := p.briefs[t.ID]
	p.mu.Unlock()
	if !known || b.rev != rev {
		v, err := p.e.pipe.View(ctx, t.ID)
		if err != nil {
			return sink.Session{}, err
		}
		if b, err = p.brief(ctx, v, rev); err != nil {
			return sink.Session{}, err
		}
		p.mu.Lock()
		if len(p.briefs) >= mostBriefs {
			clear(p.briefs)
		}
		p.briefs[t.ID] = b
		p.mu.Unlock()
	}
	x := b.Session
	x.Document = func(units int, bare bool) ([]byte, error) {
		v, err := p.e.pipe.View(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		return p.e.pipe.Memory(ctx, v, pipeline.MemoryRequest{Units: units, Bare: bare, Location: time.Local})
	}
	return x, nil
}

func (p *publisher) brief(ctx context.Context, v pipeline.View, rev int64) (b brief, err error) {
	err = unlessStopped(ctx, func() error {
		d, err := p.e.pipe.Brief(ctx, v)
		if err != nil {
			return err
		}
		t := v.Thread
		b = brief{rev, sink.Session{
			ThreadID: t.ID, Workspace: t.Workspace, Cwd: t.Cwd, Title: pipeline.RedactText(t.Title), State: t.State,
			Created: t.Created, Updated: t.Updated, Turns: t.Turns, Lang: d.Lang, Standing: d.Standing, Asked: d.Asked,
			Did: d.Did, Result: d.Result, Open: d.Open, Next: d.Next,
		}}
		return nil
	})
	return b, err
}

// keep records what is known of shared files, where it is something new. What
// was known and isn't told of any more is forgotten.
func (o *outlet) keep(ctx context.Context, last, now []sink.SharedFile) error {
	o.mu.Lock()
	told := slices.DeleteFunc(slices.Clone(o.told), func(f sink.SharedFile) bool {
		return slices.ContainsFunc(slices.Concat(last, now), func(g sink.SharedFile) bool { return g.Path == f.Path })
	})
	o.mu.Unlock()
	forgotten := map[string]string{}
	for _, f := range last {
		if !slices.ContainsFunc(now, func(g sink.SharedFile) bool { return g.Path == f.Path }) {
			forgotten[f.Path] = ""
		}
	}
	if err := o.p.e.db.SetShared(ctx, o.name, forgotten); err != nil {
		return err
	}
	if err := saveShared(ctx, o.p.e.db, o.name, news(last, now)); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(told, now...)
	return nil
}

// news gives the files of which something else is known than last time.
func news(last, now []sink.SharedFile) (out []sink.SharedFile) {
	for _, f := range now {
		same := slices.ContainsFunc(last, func(g sink.SharedFile) bool {
			g.Again, g.Old, g.New, f.Again, f.Old, f.New = time.Time{}, nil, nil, time.Time{}, nil, nil
			return reflect.DeepEqual(f, g)
		})
		if !same {
			out = append(out, f)
		}
	}
	return out
}
