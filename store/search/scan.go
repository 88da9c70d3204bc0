package search

import (
	"context"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

const (
	// scanBytes is how much text that the index doesn't have is looked through for
	// one question.
	scanBytes = 4 << 20
	// scanAlone is the same where there is no index at all.
	scanAlone = 16 << 20
	// scanItems is how many items are read at a time.
	scanItems = 64
	// pathItems is how many items that may name a path are looked at.
	pathItems = 400
)

// unread looks through what the index doesn't have of the rollouts (nil: all),
// newest threads first, and counts what is too much in s.behind.
func (s *finder) unread(ctx context.Context, rows []int64) ([]transcript.Message, error) {
	gaps, order, err := s.gaps(ctx, rows)
	if err != nil {
		return nil, err
	}
	left := scanBytes
	if s.ask == nil {
		left = scanAlone
	}
	var out []transcript.Message
	for _, row := range order {
		g := gaps[row]
		for g.Last > g.After {
			if left <= 0 {
				s.behind += g.Last - g.After
				break
			}
			part := store.Stretch{Row: row, After: max(g.After, g.Last-scanItems), Last: g.Last}
			ms, err := s.db.Recent(ctx, s.sc, part, scanItems)
			if err != nil {
				return nil, err
			}
			for i := range ms {
				left -= len(ms[i].Text) + len(ms[i].Args)
			}
			out = append(out, ms...)
			g.Last = part.After
		}
	}
	if s.behind > 0 && s.ask == nil {
		s.q.note("there is no search index that can be asked, and without one only the newest %d MB were searched: %d older messages were not", scanAlone>>20, s.behind)
	}
	return out, nil
}

// gaps gives the stretches that the index doesn't have and the order to read
// them in.
func (s *finder) gaps(ctx context.Context, rows []int64) (map[int64]store.Stretch, []int64, error) {
	gaps := map[int64]store.Stretch{}
	if s.ask == nil {
		all, err := s.db.Rollouts(ctx, s.sc, maxRollouts)
		for _, g := range all {
			gaps[g.Row] = g
		}
		return gaps, rows, err
	}
	var order []int64
	err := s.ask.x.gaps(ctx, s.ask.tx, s.db, func(row, after, last int64) {
		gaps[row] = store.Stretch{Row: row, After: after, Last: last}
		order = append(order, row)
	})
	if err != nil || len(order) == 0 {
		return nil, nil, err
	}
	if rows != nil {
		in := make(map[int64]bool, len(rows))
		for _, r := range rows {
			in[r] = true
		}
		order = slices.DeleteFunc(order, func(r int64) bool { return !in[r] })
	}
	return gaps, order, s.db.SortNewest(ctx, order)
}

// scan adds the items that hold words of the question.
func (t *table) scan(m *matcher, items []transcript.Message) {
	var h holder
	for i := range items {
		if h.read(&items[i]) && !h.excluded(m) {
			t.look(m, items[i].ID, h.has)
		}
	}
	t.size += float64(len(items))
}

// look adds an item that the index doesn't have.
func (t *table) look(m *matcher, id int64, has func(*clause) bool) {
	all := true
	for k := range m.all {
		if c := &m.all[k]; c.must && !has(c) {
			return
		} else if !c.stop {
			all = all && has(c)
		}
	}
	if t.only != nil {
		t.only[id] = true
	}
	for k := range m.clauses {
		if c := &m.clauses[k]; !c.stop && k < maxClauses && has(c) {
			t.mark(id, k)
			t.count[k]++
		}
	}
	if all {
		t.complete([]int64{id})
	}
}

// named gives the rollouts in which one of the paths that the question asks for
// is named, and those of workspaces that it ends the name of.
func (s *finder) named(ctx context.Context, rows []int64, unread []transcript.Message) ([]int64, error) {
	in := map[int64]bool{}
	for _, p := range s.q.filter.paths {
		at := store.Scope{Within: s.sc.Within, Workspace: s.sc.Workspace, Threads: s.sc.Threads, Models: s.sc.Models, Named: s.sc.Named}
		if s.ask != nil {
			_, each := clausesOf(term{termPhrase, p})
			m := matcher{all: each}
			s.ask.only(rows, nil)
			ids, err := s.ask.holding(ctx, m.allExpression(), pathItems)
			if err != nil {
				return nil, err
			}
			if len(ids) == pathItems {
				s.q.note("path:%s has words that many messages have: only %d messages were looked at for it, so sessions may be missing", p, pathItems)
			}
			ms, err := s.db.ItemsWithin(ctx, at, ids)
			if err != nil {
				return nil, err
			}
			namedIn(in, ms, p)
		}
		namedIn(in, unread, p)
		at.Named = []string{p}
		all, err := s.db.Rollouts(ctx, at, maxRollouts)
		if err != nil {
			return nil, err
		}
		for _, st := range all {
			in[st.Row] = true
		}
	}
	var out []int64
	for r := range in {
		if rows == nil || slices.Contains(rows, r) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		s.none = true
		s.q.note("no session here names the path %s", strings.Join(s.q.filter.paths, " or "))
	}
	return out, nil
}

func namedIn(in map[int64]bool, ms []transcript.Message, path string) {
	path = asPath(path)
	for i := range ms {
		m := &ms[i]
		if row := m.ID >> 32; !in[row] && (strings.Contains(asPath(m.Text), path) || strings.Contains(asPath(m.Args), path)) {
			in[row] = true
		}
	}
}

// asPath makes the spellings of a path equal that differ in case and slashes.
func asPath(s string) string {
	return strings.ToLower(strings.NewReplacer(`\\`, "/", `\`, "/").Replace(s))
}

// holder tells which words an item has, as the index would have them.
type holder struct {
	s    segmenter
	text string // a space before and behind each word
}

// read takes an item in; false if the index holds nothing of its kind.
func (h *holder) read(m *transcript.Message) bool {
	if h.s.item(m) < 0 {
		return false
	}
	h.text = " " + string(h.s.out)
	return true
}

// cut takes a text in as it stands.
func (h *holder) cut(text string) {
	h.s.reset()
	h.s.add(text)
	h.text = " " + string(h.s.out)
}

// excluded tells whether the item has a word that the question excludes.
func (h *holder) excluded(m *matcher) bool {
	return slices.ContainsFunc(m.without, func(c clause) bool { return h.has(&c) })
}

func (h *holder) has(c *clause) bool {
	if c.whole != "" && h.word(c.whole, false) || c.stem != "" && h.word(c.stem, true) {
		return true
	}
	for i, p := range c.parts {
		if !h.word(p, c.begin && i == len(c.parts)-1) {
			return false
		}
	}
	return true
}

// word tells whether the item has a word, or one that begins so.
func (h *holder) word(w string, begins bool) bool {
	for at := 1; ; at++ {
		i := strings.Index(h.text[at:], w)
		if i < 0 {
			return false
		}
		if at += i; h.text[at-1] == ' ' && (begins || h.text[at+len(w)] == ' ') {
			return true
		}
	}
}
