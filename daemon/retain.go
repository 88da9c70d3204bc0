package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// policy says how long a sink's documents are kept.
func (o *outlet) policy() sink.Policy {
	own, workspace := sink.Policies()
	if _, ok := o.sink.(*sink.Drop); ok {
		return own
	}
	return workspace
}

// unpublished gives the threads that are due, oldest change first. Of those
// that the sink never had it is what it would keep: nobody wants a folder filled
// with what is taken away again.
func (o *outlet) unpublished(ctx context.Context, now time.Time) ([]string, error) {
	ids, err := o.p.e.db.Unpublished(ctx, o.name)
	if err != nil || o.mode == sink.ModeAlways || len(ids) == 0 {
		return ids, err
	}
	threads, _, err := o.p.e.db.Threads(ctx, store.Filter{Archived: true})
	if err != nil {
		return nil, err
	}
	receipts, err := o.p.e.db.Receipts(ctx, o.name)
	if err != nil {
		return nil, err
	}
	folders := map[string][]sink.Kept{}
	out := map[string]bool{}
	for _, t := range threads {
		switch {
		case t.Turns == 0:
		case o.mode == sink.ModeProject && !choices.Within(o.said.Workspaces, t.Cwd) || choices.Within(o.said.Off, t.Cwd):
			out[t.ID] = true
		default:
			folders[t.Workspace] = append(folders[t.Workspace], sink.Kept{Receipt: sink.Receipt{ThreadID: t.ID}, Updated: t.Updated, Pinned: o.p.pinned(t.ID)})
		}
	}
	policy := o.policy()
	for _, kept := range folders {
		for _, r := range sink.Retain(kept, now, policy) {
			out[r.ThreadID] = true
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return out[id] && receipts[id].Name == "" }), nil
}

func (p *publisher) pinned(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pins[id]
}

// retain takes away the documents that are past their time, once a day. What
// somebody edited stays. A thread whose document was taken away gets another
// when it goes on.
func (o *outlet) retain(ctx context.Context, now time.Time) error {
	if now.Before(o.retains) && o.retains.Sub(now) <= daily {
		return nil
	}
	receipts, err := o.p.e.db.Receipts(ctx, o.name)
	if err != nil {
		return err
	}
	remove, err := o.past(ctx, receipts, now)
	if err != nil {
		return err
	}
	for _, k := range remove {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to stop; the rest is found again
		}
		r := receipts[k.ThreadID]
		err := o.sink.Remove(ctx, k)
		switch {
		case err == nil, errors.Is(err, sink.ErrPath): // which damage named: nothing is there
			r.Name, r.Bytes = "", 0
			o.indexes = now
		case errors.Is(err, sink.ErrEdited):
			r.Managed = false
		default: // tomorrow is soon enough, and nothing else waits for it
			o.p.e.log.Warn("a memory file that is past its time can't be removed", "sink", o.name, "path", r.Name, "err", err)
			continue
		}
		if err := o.p.e.db.SaveReceipt(ctx, r); err != nil {
			return err
		}
	}
	o.retains = now.Add(daily)
	return nil
}

// past gives the receipts of documents that are past their time.
func (o *outlet) past(ctx context.Context, receipts map[string]store.Receipt, now time.Time) (remove []sink.Receipt, err error) {
	if len(receipts) == 0 {
		return nil, nil
	}
	threads, _, err := o.p.e.db.Threads(ctx, store.Filter{Archived: true, Subagents: true})
	if err != nil {
		return nil, err
	}
	gone, err := o.p.goneSince(ctx, threads, now)
	if err != nil {
		return nil, err
	}
	policy := o.policy()
	folders := map[string][]sink.Kept{}
	for _, t := range threads {
		if r := receipts[t.ID]; r.Name != "" && r.Managed {
			dir := path.Dir(r.Name)
			if policy.Live {
				dir = "" // its numbers are of all of it
			}
			folders[dir] = append(folders[dir], sink.Kept{Receipt: putReceipt(r), Updated: t.Updated, Gone: gone[t.ID], Pinned: o.p.pinned(t.ID)})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		remove = append(remove, sink.Retain(folders[dir], now, policy)...)
	}
	return remove, nil
}

// goneKey remembers since when the rollouts of threads are gone, in seconds by
// thread: their documents are kept for some time after that.
const goneKey = "gone_since"

// goneSince tells since when the rollouts of threads are known to be gone. Where
// that isn't known it is from now on.
func (p *publisher) goneSince(ctx context.Context, threads []transcript.Thread, now time.Time) (map[string]time.Time, error) {
	p.goneMu.Lock()
	defer p.goneMu.Unlock()
	text, err := p.e.db.Meta(ctx, goneKey)
	if err != nil {
		return nil, err
	}
	was := map[string]int64{}
	if text != "" && json.Unmarshal([]byte(text), &was) != nil {
		was = map[string]int64{} // a wrong word keeps documents longer
	}
	is, out := map[string]int64{}, map[string]time.Time{}
	for _, t := range threads {
		if !t.Gone {
			continue
		}
		at, known := was[t.ID]
		if !known || at > now.Unix() {
			at = now.Unix()
		}
		is[t.ID], out[t.ID] = at, time.Unix(at, 0)
	}
	if maps.Equal(was, is) {
		return out, nil
	}
	written, err := json.Marshal(is)
	if err != nil {
		return nil, fmt.Errorf("note which rollouts are gone: %w", err)
	}
	return out, p.e.db.SetMeta(ctx, goneKey, string(written))
}

// lookForPlaces looks every few minutes whether a workspace has a place by now
// where it had none. The first time that may have come to be while nobody looked.
func (o *outlet) lookForPlaces(ctx context.Context, now time.Time) error {
	l, ok := o.sink.(looker)
	if !ok || o.mode == sink.ModeAlways || now.Before(o.places) && o.places.Sub(now) <= placeEvery {
		return nil
	}
	folders, err := o.p.e.db.Workspaces(ctx)
	if err != nil {
		return err
	}
	o.places = now.Add(placeEvery)
	var appeared []string
	for w, folder := range folders {
		r, err := l.Look(ctx, sink.Artifact{Workspace: rootOf(folder), Cwd: folder})
		there := err == nil && r.State != sink.StateNone
		if there && !o.placed[w] {
			appeared = append(appeared, w)
		}
		o.placed[w] = there
	}
	if len(appeared) == 0 {
		return nil
	}
	receipts, err := o.p.e.db.Receipts(ctx, o.name)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, w := range appeared {
		threads, _, err := o.p.e.db.Threads(ctx, store.Filter{Workspace: w, Archived: true})
		if err != nil {
			return err
		}
		for _, t := range threads {
			r, had := receipts[t.ID]
			if !had || r.Name != "" || retired(r) {
				continue
			}
			if is, err := l.Look(ctx, sink.Artifact{Workspace: rootOf(t.Cwd), Cwd: t.Cwd}); err != nil || is.State == sink.StateNone {
				continue // it has none still
			}
			if err := o.p.e.db.ForgetReceipt(ctx, o.name, t.ID); err != nil {
				return err
			}
			found[w] = true
		}
	}
	if len(found) == 0 {
		return nil
	}
	o.p.e.log.Info("a sink has new places", "sink", o.name, "workspaces", strings.Join(slices.Sorted(maps.Keys(found)), ", "))
	o.note("", true)
	return nil
}
