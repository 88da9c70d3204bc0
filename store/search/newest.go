package search

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// fewIDs and manyIDs are how many items of a rollout are looked up at a time: at
// first, and of those that more is asked of.
const fewIDs, manyIDs = 64, 512

// newest answers a question of filters alone: with all that they leave, newest
// first. The items of a rollout stay in its order.
func (s *finder) newest(ctx context.Context) (Found, error) {
	found := Found{Notes: s.q.notes, Behind: s.behind}
	list, err := s.leftByFilters(ctx, s.r.Offset, s.r.Limit+1)
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	if found.More = len(list) > s.r.Limit; found.More {
		list = list[:s.r.Limit]
	}
	threads := map[string]transcript.Thread{}
	for len(list) > 0 {
		part := list[:min(loadBatch, len(list))]
		list = list[len(part):]
		if err := s.load(ctx, part); err != nil {
			return Found{}, fmt.Errorf("search: %w", err)
		}
		for _, c := range part {
			if _, ok := s.texts[c.ID]; !ok {
				continue // went away since
			}
			h, err := s.hit(ctx, c, threads)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return Found{}, fmt.Errorf("search: %w", err)
			}
			found.Hits = append(found.Hits, h)
		}
	}
	return found, nil
}

// leftByFilters gives up to count of the newest items within the scope that hold
// nothing that is excluded, those behind the first skip of them.
func (s *finder) leftByFilters(ctx context.Context, skip, count int) ([]*candidate, error) {
	closed, err := s.db.Rollouts(ctx, s.sc, maxRollouts)
	if err != nil {
		return nil, err
	}
	// What another's file lends comes without a time: it is looked at first.
	slices.SortStableFunc(closed, func(a, b store.Stretch) int {
		switch x, y := a.Newest.IsZero(), b.Newest.IsZero(); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	var (
		open streams
		out  []*candidate
	)
	for n := 0; len(out) < count; {
		// A rollout is opened when it may have what comes next.
		for len(closed) > 0 && (len(open) == 0 || closed[0].Newest.IsZero() || !closed[0].Newest.Before(open[0].time)) {
			st := &stream{Stretch: closed[0], time: closed[0].Newest}
			closed = closed[1:]
			if err := s.advance(ctx, st); err != nil {
				return nil, err
			}
			if len(st.figures) > 0 {
				heap.Push(&open, st)
			}
		}
		if len(open) == 0 {
			break
		}
		st := open[0]
		if n++; n > skip {
			out = append(out, &candidate{Figure: st.figures[0], lists: listRecency})
		}
		st.figures = st.figures[1:]
		if err := s.advance(ctx, st); err != nil {
			return nil, err
		}
		if len(st.figures) == 0 {
			heap.Pop(&open)
		} else {
			heap.Fix(&open, 0)
		}
	}
	return out, nil
}

// advance reads on if nothing is left, and sets the stream's time. An item
// without a time is as new as the one before it.
func (s *finder) advance(ctx context.Context, st *stream) error {
	for len(st.figures) == 0 && st.Last > st.After {
		limit := fewIDs
		if st.read {
			limit = manyIDs
		}
		ids, err := s.db.Latest(ctx, s.sc, st.Stretch, limit)
		if err != nil {
			return err
		}
		if st.read = true; len(ids) < limit {
			st.Last = st.After
		} else {
			st.Last = ids[len(ids)-1]&(1<<32-1) - 1
		}
		if st.figures, err = s.kept(ctx, ids); err != nil {
			return err
		}
	}
	if len(st.figures) > 0 && !st.figures[0].Time.IsZero() {
		st.time = st.figures[0].Time
	}
	return nil
}

// kept gives the figures, in the order of ids, of what is within the scope, can
// be searched and holds nothing that is excluded.
func (s *finder) kept(ctx context.Context, ids []int64) (out []*store.Figure, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	fs, err := s.figures(ctx, ids)
	if err != nil {
		return nil, err
	}
	var but map[int64]bool
	if len(s.m.without)+len(s.m.never) > 0 {
		if but, err = s.excluded(ctx, ids); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if f := fs[id]; f != nil && f.Role != transcript.RoleReasoning && !but[id] {
			out = append(out, f)
		}
	}
	return out, nil
}

// excluded gives those of ids that hold what the question excludes. It reads the
// texts: they are those that the index is made of, and it may lack some.
func (s *finder) excluded(ctx context.Context, ids []int64) (map[int64]bool, error) {
	out := map[int64]bool{}
	var h holder
	for len(ids) > 0 {
		part := ids[:min(loadBatch, len(ids))]
		ids = ids[len(part):]
		ms, err := s.db.ItemsWithin(ctx, s.sc, part)
		if err != nil {
			return nil, err
		}
		for i := range ms {
			m := &ms[i]
			out[m.ID] = h.read(m) && h.excluded(&s.m) || !s.m.standsIn(m.Name, m.Args, m.Text)
		}
	}
	return out, nil
}

// stream is what is left of a rollout, newest first.
type stream struct {
	store.Stretch
	read    bool
	figures []*store.Figure // read, not given yet
	time    time.Time       // of the first of them
}

// streams is a heap: what is newest is at its top.
type streams []*stream

func (s streams) Len() int      { return len(s) }
func (s streams) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *streams) Push(x any)   { *s = append(*s, x.(*stream)) } //nolint:forcetypeassert // only leftByFilters pushes
func (s streams) Less(i, j int) bool {
	if c := s[i].time.Compare(s[j].time); c != 0 {
		return c > 0
	}
	return s[i].Row > s[j].Row
}

func (s *streams) Pop() any {
	old := *s
	x := old[len(old)-1]
	*s = old[:len(old)-1]
	return x
}
