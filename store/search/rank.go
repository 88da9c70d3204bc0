package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

const (
	// fusionK flattens reciprocal ranks: the first of a list doesn't outdo what
	// stands high in several.
	fusionK = 60
	// What a list counts beside the one of all words.
	weightAny, weightRecency, weightMeaning = 1.0, 0.5, 1.0
	// kept is how many hits of words the list of meaning can't push down further
	// than to their own number: with vectors nothing is lost that words found.
	kept = 5
	// deadPart is what the score of a rolled-back item is worth.
	deadPart = 0.7
	// sameThread is what the score of a further hit of a thread is worth.
	sameThread = 0.85
	// verified is how many items are proved to hold a run of characters as it was
	// typed, and not only its pairs.
	verified = 50
	// halfLife is the age, in days, at which an item is half as new.
	halfLife = 30.0
)

// listSet is a set of lists.
type listSet uint8

// The lists.
const (
	listWords listSet = 1 << iota
	listRecency
	listMeaning
)

func (l listSet) names() (out []string) {
	for i, n := range []string{"words", "recency", "meaning"} {
		if l&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// lists are the lists to be fused, as ids, best first.
type lists struct {
	all, any, meaning []int64
	rest              []int64 // follow behind
	figures           map[int64]*store.Figure
	known             map[int64]*store.Figure // but for those of the rest
}

// candidate is what may become a hit: an item, and others that say the same.
type candidate struct {
	*store.Figure
	score float64
	lists listSet
	prior float64
}

// older tells which of two items that say the same is the original.
func older(a, b *store.Figure) bool {
	off := func(f *store.Figure) bool { return f.Dead || f.Rewritten }
	if off(a) != off(b) {
		return off(b)
	}
	if a.Inherited != b.Inherited {
		return b.Inherited
	}
	if c := a.Time.Compare(b.Time); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}

// fuse makes one list of all: reciprocal rank fusion of all words, any words,
// what is new and spoken of, and what is near in meaning.
func (s *finder) fuse(ctx context.Context, l *lists) ([]*candidate, error) {
	groups := collapse(l.figures)
	all, err := s.verify(ctx, groups.of(l.all))
	if err != nil {
		return nil, err
	}
	byWords := map[*candidate]bool{}
	add := func(list []*candidate, set listSet, weight float64) {
		for i, c := range list {
			c.score += weight / float64(fusionK+i+1)
			c.lists |= set
			byWords[c] = byWords[c] || set == listWords
		}
	}
	add(all, listWords, 1)
	add(groups.of(l.any), listWords, weightAny)
	var found []*candidate
	for c, words := range byWords {
		if words {
			found = append(found, c)
		}
	}
	s.priors(found, l.known)
	slices.SortFunc(found, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.prior, a.prior), cmp.Compare(b.ID, a.ID)) })
	add(found, listRecency, weightRecency)
	for _, c := range found {
		if c.Dead || c.Rewritten {
			c.score *= deadPart
		}
	}
	byScore(found)
	found = behind(found, groups.of(l.rest))
	if len(l.meaning) == 0 {
		return found, nil
	}
	return s.withMeaning(ctx, found, groups.of(l.meaning))
}

// behind adds the candidates of rest that aren't in a sorted list, behind all of
// it.
func behind(list, rest []*candidate) []*candidate {
	least := 1.0 / fusionK
	if n := len(list); n > 0 {
		least = list[n-1].score
	}
	for i, c := range rest {
		if c.lists == 0 {
			c.score, c.lists = least/float64(2+i), listWords
			list = append(list, c)
		}
	}
	return list
}

func byScore(list []*candidate) {
	slices.SortFunc(list, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.ID, a.ID)) })
}

// grouping is the candidate of each item.
type grouping map[int64]*candidate

// collapse puts items together that say the same in the same role.
func collapse(figures map[int64]*store.Figure) grouping {
	type key struct {
		role transcript.Role
		hash string
	}
	by, out := map[key]*candidate{}, make(grouping, len(figures))
	for id, f := range figures {
		k := key{f.Role, f.Hash}
		c := by[k]
		switch {
		case c == nil:
			c = &candidate{Figure: f}
			by[k] = c
		case older(f, c.Figure):
			c.Figure = f
		}
		out[id] = c
	}
	return out
}

// of gives the candidates of ids in their order, each once.
func (g grouping) of(ids []int64) []*candidate {
	seen := make(map[*candidate]bool, len(ids))
	var out []*candidate
	for _, id := range ids {
		if c := g[id]; c != nil && !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}

// verify takes those off the head of a list whose text has the pairs of a run of
// characters, but not the run.
func (s *finder) verify(ctx context.Context, list []*candidate) ([]*candidate, error) {
	if len(s.m.runs) == 0 {
		return list, nil
	}
	head := list[:min(verified, len(list))]
	if err := s.load(ctx, head); err != nil {
		return nil, err
	}
	var out []*candidate
	for i, c := range list {
		if m, ok := s.texts[c.ID]; i >= len(head) || !ok || s.m.runsIn(m.Name, m.Args, m.Text) {
			out = append(out, c)
		}
	}
	return out, nil
}

// priors rates what is known of items apart from the words: how new they are,
// whose they are, and how often the agent of their thread speaks of what is
// asked for.
func (s *finder) priors(list []*candidate, figures map[int64]*store.Figure) {
	spoken := map[string]float64{}
	for _, f := range figures {
		if f.Role == transcript.RoleAssistant && !f.Inherited {
			spoken[f.Thread]++
		}
	}
	for _, c := range list {
		days := max(0, s.r.Now.Sub(c.Time).Hours()/24)
		if c.Time.IsZero() {
			days = 10 * halfLife
		}
		c.prior = math.Exp2(-days/halfLife) + worth(c.Figure) + min(1, math.Log2(1+spoken[c.Thread])/3)
	}
}

// worth says how much an item's kind tells: what a person asked and what was
// answered in the end more than what a tool printed.
func worth(f *store.Figure) float64 {
	switch f.Role {
	case transcript.RoleUser:
		return 1
	case transcript.RoleAssistant:
		if f.Phase == transcript.PhaseFinal {
			return 1
		}
		return 0.8
	case transcript.RoleAgent, transcript.RoleCompaction:
		return 0.6
	case transcript.RoleToolCall:
		return 0.5
	case transcript.RoleToolResult:
		return 0.2
	case transcript.RoleReasoning:
	}
	return 0
}

// withMeaning adds the list of meaning to what words found. The first hits of
// words may change places among themselves, and others come behind them.
func (s *finder) withMeaning(ctx context.Context, found, meaning []*candidate) ([]*candidate, error) {
	p := picker{s: s, left: slices.Clone(found), taken: map[string]int{}}
	var first []*candidate
	for len(first) < kept {
		c, err := p.next(ctx, false)
		if err != nil {
			return nil, err
		}
		if c == nil {
			break
		}
		first = append(first, c)
	}
	strict := len(s.m.without) > 0 || slices.ContainsFunc(s.m.all, func(c clause) bool { return c.must })
	for i, c := range meaning {
		if c.lists == 0 {
			if strict {
				continue // nothing says that it holds what it must
			}
			found = append(found, c)
		}
		c.lists |= listMeaning
		v := weightMeaning / float64(fusionK+i+1)
		if c.Dead || c.Rewritten {
			v *= deadPart
		}
		c.score += v
	}
	for _, c := range first {
		c.score += 1000 // whatever the others of its thread take from it
	}
	byScore(found)
	return found, nil
}

// picker takes one hit after the other off a ranked list, so that no thread
// fills a page while others answer as well.
type picker struct {
	s     *finder
	left  []*candidate
	taken map[string]int // hits by thread
	read  int
	cut   bool // texts were left unread
}

// next gives the next hit, with its text read if text is true; nil if there is
// none.
func (p *picker) next(ctx context.Context, text bool) (*candidate, error) {
	for len(p.left) > 0 {
		best, most := 0, -1.0
		for i, c := range p.left {
			if c.score <= most {
				break // no further one can be worth more
			}
			v := c.score
			if p.s.r.Thread == "" {
				v *= math.Pow(sameThread, float64(p.taken[c.Thread]))
			}
			if v > most {
				best, most = i, v
			}
		}
		c := p.left[best]
		prove := len(p.s.m.phrases)+len(p.s.m.never) > 0
		if _, ok := p.s.texts[c.ID]; (text || prove) && !ok {
			if p.cut = p.read >= loadMost; p.cut {
				return nil, nil
			}
			batch := append([]*candidate{c}, p.left[:min(p.s.batch(prove), len(p.left))]...)
			had := len(p.s.texts)
			if err := p.s.load(ctx, batch); err != nil {
				return nil, err
			}
			p.read += max(1, len(p.s.texts)-had)
		}
		p.left = slices.Delete(p.left, best, best+1)
		m, ok := p.s.texts[c.ID]
		if (text || prove) && !ok || prove && !p.s.m.standsIn(m.Name, m.Args, m.Text) {
			continue
		}
		p.taken[c.Thread]++
		return c, nil
	}
	return nil, nil
}

// batch is how many texts to read at once.
func (s *finder) batch(prove bool) int {
	if prove {
		return loadBatch
	}
	return min(s.r.Limit+2, loadBatch)
}
