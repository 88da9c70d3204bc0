package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

// settle has an outlet for every sink that is on, as the user chose by now:
// begin starts one that is new, nil starts none. What a sink wrote that was
// disabled is taken away.
func (p *publisher) settle(ctx context.Context, now time.Time, begin func(*outlet)) error {
	if p.chosen.look() {
		p.mu.Lock()
		p.pins = map[string]bool{}
		for _, id := range p.chosen.now.Pins {
			p.pins[id] = true
		}
		p.mu.Unlock()
		p.leaving = map[string]time.Time{}
		for _, c := range p.e.opt.allConsumers() {
			if c.Name == dropName {
				continue
			}
			if p.renew(c, p.chosen.now.Sinks[c.Name], begin); p.chosen.now.Sinks[c.Name].Leaves(c.Mode) {
				p.leaving[c.Name] = now
			}
		}
	}
	text := ""
	if p.chosen.err != nil {
		text = p.chosen.err.Error() + "; what was chosen before stays in force"
	}
	p.e.troubles.set(p.e.log, "choices", text)
	return p.leaveDue(ctx, now)
}

// renew ends the outlet of a sink that is off, or on otherwise than before, and
// begins one that is on.
func (p *publisher) renew(c sink.Consumer, said choices.Choice, begin func(*outlet)) {
	old := p.outlet(c.Name)
	on := said.On(c.Mode)
	if old != nil && on && reflect.DeepEqual(old.said, said) {
		return
	}
	if old != nil {
		p.mu.Lock()
		p.outlets = slices.DeleteFunc(p.outlets, func(o *outlet) bool { return o == old })
		p.mu.Unlock()
		old.end()
	}
	if !on {
		return
	}
	o := p.newOutlet(c.Name, func(ctx context.Context) (sink.Sink, error) {
		k, err := choices.Open(c, p.e.opt.Config, said.Choice)
		if err != nil {
			return nil, err
		}
		return opened(ctx, p.e, k)
	})
	o.said, o.mode, o.all = said, c.Mode, true
	p.mu.Lock()
	p.outlets = append(p.outlets, o)
	p.mu.Unlock()
	if begin != nil {
		begin(o)
	}
}

func (p *publisher) outlet(name string) *outlet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.outlets, func(o *outlet) bool { return o.name == name }); i >= 0 {
		return p.outlets[i]
	}
	return nil
}

// leaveDue takes away what is to be taken away, and tries again later what
// could not be.
func (p *publisher) leaveDue(ctx context.Context, now time.Time) error {
	for _, name := range slices.Sorted(maps.Keys(p.leaving)) {
		if now.Before(p.leaving[name]) {
			continue
		}
		err := p.leave(ctx, name)
		if errors.Is(err, store.ErrDamaged) || ctx.Err() != nil {
			return err
		}
		text := ""
		switch {
		case err == nil:
			delete(p.leaving, name)
		case errors.Is(err, sink.ErrNoPlace):
			p.leaving[name] = now.Add(placeEvery) // what lies there goes once it is back
		default:
			p.leaving[name] = now.Add(lastPause)
			text = fmt.Sprintf("what sink %s wrote can't be taken away: %v", name, err)
		}
		p.e.troubles.set(p.e.log, "leave "+name, text)
	}
	return nil
}

// leave takes away what a sink wrote, where it is off by the user's word: files
// of ours that nobody edited, and our lines in files of others.
func (p *publisher) leave(ctx context.Context, name string) error {
	all := p.e.opt.allConsumers()
	i := slices.IndexFunc(all, func(c sink.Consumer) bool { return c.Name == name })
	said := p.chosen.now.Sinks[name]
	k, err := choices.Open(all[i], p.e.opt.Config, said.Former())
	if err != nil {
		return err
	}
	err = errors.Join(p.leaveFiles(ctx, k, said), p.leaveShared(ctx, k, said))
	if c, ok := k.(closer); ok {
		err = errors.Join(err, c.Close())
	}
	if err == nil && said.Made && said.Gone("") {
		_ = os.Remove(said.Dir) // fails while anything is in it, which is right
	}
	return err
}

func (p *publisher) leaveFiles(ctx context.Context, k sink.Sink, said choices.Choice) error {
	receipts, err := p.e.db.Receipts(ctx, k.Name())
	if err != nil {
		return err
	}
	var errs []error
	left := map[string]store.Receipt{}
	for id, r := range receipts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		gone, err := p.isGone(ctx, said, id)
		switch {
		case err != nil:
			return err
		case !gone || r.Name != "" && !r.Managed:
			left[id] = r
			continue
		}
		err = k.Remove(ctx, putReceipt(r))
		switch {
		case err == nil, errors.Is(err, sink.ErrPath): // which damage named: nothing is there
			err = p.e.db.ForgetReceipt(ctx, k.Name(), id)
		case errors.Is(err, sink.ErrEdited):
			r.Managed = false
			left[id] = r
			err = p.e.db.SaveReceipt(ctx, r)
		default:
			left[id] = r
		}
		errs = append(errs, err)
	}
	ours := false // something of ours is still there
	for _, r := range left {
		ours = ours || r.Name != "" && r.Managed
	}
	if c, ok := k.(clearer); ok && !ours && said.Gone("") {
		return errors.Join(append(errs, c.Clear(ctx))...)
	}
	if l, ok := k.(lister); ok && len(left) < len(receipts) {
		entries, err := p.entries(ctx, left)
		if err == nil {
			err = l.WriteIndexes(ctx, entries)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isGone tells whether what was written for a thread is to be taken away.
func (p *publisher) isGone(ctx context.Context, said choices.Choice, id string) (bool, error) {
	if said.Gone("") {
		return true, nil
	}
	t, err := p.e.db.Thread(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && said.Gone(t.Cwd), err
}

func (p *publisher) leaveShared(ctx context.Context, k sink.Sink, said choices.Choice) error {
	s, ok := k.(sink.Sharer)
	if !ok {
		return nil
	}
	files, err := shared(ctx, p.e.db, k.Name())
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !said.Gone("") && (f.Workspace == "" || !said.Gone(f.Workspace)) {
			continue
		}
		var err error
		if !neverWritten(f) {
			err = s.Unshare(ctx, f)
		}
		switch {
		case err == nil:
			err = p.e.db.SetShared(ctx, k.Name(), map[string]string{f.Path: ""})
		case errors.Is(err, sink.ErrEdited):
			f.Problem = leftEdited
			err = saveShared(ctx, p.e.db, k.Name(), []sink.SharedFile{f})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// neverWritten tells whether nothing of ours was ever in a shared file: it was
// only looked at, and left alone for what it is.
func neverWritten(f sink.SharedFile) bool {
	return f.Hash == "" && f.Written.IsZero() && !f.Ours && len(f.Entries) == 0
}

// leftEdited is what is said of lines of ours that somebody edited: they stay.
const leftEdited = "somebody edited what stood there, so it stays: it is yours now"

// shared gives what is known of the files that a sink shares. What can't be read
// is as if it wasn't known.
func shared(ctx context.Context, db *store.DB, name string) (out []sink.SharedFile, err error) {
	rows, err := db.Shared(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		var f sink.SharedFile
		if json.Unmarshal([]byte(rows[path]), &f) == nil && f.Path == path {
			out = append(out, f)
		}
	}
	return out, nil
}

func saveShared(ctx context.Context, db *store.DB, name string, files []sink.SharedFile) error {
	rows := map[string]string{}
	for _, f := range files {
		text, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("write what is known of %s: %w", f.Path, err)
		}
		rows[f.Path] = string(text)
	}
	return db.SetShared(ctx, name, rows)
}

// putReceipt is a receipt as its sink knows it.
func putReceipt(r store.Receipt) sink.Receipt {
	k := sink.Receipt{Sink: r.Sink, ThreadID: r.ThreadID, Path: r.Name, Hash: r.Hash, Size: int64(r.Bytes)}
	switch {
	case r.Name == "":
		k = sink.Receipt{Sink: r.Sink, ThreadID: r.ThreadID, State: sink.StateNone}
	case !r.Managed:
		k.State = sink.StateEdited
	}
	return k
}
