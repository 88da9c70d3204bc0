package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store/disk"
)

// stuck is a document that its place keeps from being written: a folder without
// rights, a file where a folder has to be. It is tried again on a clock of its
// own and holds up no other.
type stuck struct {
	dir  string // folder of the place; empty: not known
	text string // what keeps it, and what helps
	wait time.Duration
	at   time.Time // of the next try
}

// listsStuck stands for the lists of a sink where threads are named.
const listsStuck = ""

// placeError is an error that concerns one place of a sink, not the sink.
type placeError struct{ error }

func (e placeError) Unwrap() error { return e.error }

// ofPlace marks an error of a sink with places in workspaces that says nothing
// about its other places. A full disk does.
func (o *outlet) ofPlace(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || o.mode == sink.ModeAlways {
		return err
	}
	if _, ok := errors.AsType[*sink.PlaceError](err); ok && disk.ReadOnly(err) {
		return placeError{err}
	}
	if stops(err) {
		return err
	}
	return placeError{err}
}

// hold notes what is stuck, and tells when to try again. The waits double.
func (o *outlet) hold(id string, err error, now time.Time) time.Time {
	s := stuck{text: strings.ReplaceAll(err.Error(), "\n", "; ")}
	if p, ok := errors.AsType[*sink.PlaceError](err); ok {
		s.dir = p.Dir
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	told := false
	for _, t := range o.stuck {
		told = told || t.text == s.text
	}
	if !told {
		o.p.e.log.Warn("a place can't be written; the others are", "sink", o.name, "err", s.text)
	}
	s.wait = min(max(2*o.stuck[id].wait, firstPause), lastPause)
	s.at = now.Add(s.wait)
	o.stuck[id] = s
	return s.at
}

// free notes that something isn't stuck any more.
func (o *outlet) free(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.stuck, id)
}

// stuckUntil is when to try a document again; zero: it isn't stuck.
func (o *outlet) stuckUntil(id string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stuck[id].at
}

// blocked tells whether a document that was stuck before is so still: another of
// its folder was just tried in vain.
func (o *outlet) blocked(id string, now time.Time) (at time.Time, is bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s, was := o.stuck[id]
	if !was || s.dir == "" {
		return at, false
	}
	for other, t := range o.stuck {
		if other != id && other != listsStuck && t.dir == s.dir && t.at.Equal(now.Add(t.wait)) {
			s.wait, s.at = t.wait, t.at
			o.stuck[id] = s
			return s.at, true
		}
	}
	return at, false
}

// unwritten tells what places keep from being written, once each.
func (o *outlet) unwritten() (out []FileProblem) {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := map[FileProblem]int{}
	for id, s := range o.stuck {
		p := FileProblem{Path: cmp.Or(s.dir, o.name), Reason: strings.TrimPrefix(s.text, s.dir+": ")}
		if count[p] += 0; id != listsStuck {
			count[p]++
		}
	}
	for p, n := range count {
		if n > 1 {
			p.Reason += fmt.Sprintf(" (%d sessions wait)", n)
		}
		out = append(out, p)
	}
	for _, f := range o.told {
		if strings.HasPrefix(f.Problem, sink.Unwritten) {
			out = append(out, FileProblem{Path: f.Path, Reason: f.Problem})
		}
	}
	slices.SortFunc(out, func(a, b FileProblem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
