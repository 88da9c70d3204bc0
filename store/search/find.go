package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

const (
	defaultLimit = 10
	// pool is how many items are ranked with care.
	pool = 150
	// poolRest is how many are looked at that follow behind those, for pages that
	// end behind restFrom.
	poolRest, restFrom = 600, 60
	// mostHits is how many hits can be had of a question that has words.
	mostHits = 300
	// poolMost is how many are looked at where filters leave few.
	poolMost = 6000
	// poolFew is how many are few.
	poolFew = 60
	// loadBatch is how many texts are read at a time, loadMost how many for one
	// answer.
	loadBatch, loadMost = 32, 800
	// maxRollouts is how many rollouts a filter names to the index.
	maxRollouts = 100_000
)

// Request is a question.
type Request struct {
	Query     string    // as people type it
	Thread    string    // id; only what stands in this thread. Empty: all
	Workspace string    // key; only threads of this one. Empty: all
	Within    string    // the same, but a limit nobody can ask past: isolation
	Since     time.Time // only what was said since. Zero: all
	Limit     int       // hits at most; 0: 10
	Offset    int       // hits to pass over
	Now       time.Time // for ages
	Vector    []float32 // of the query, normalised; nil: words only
	Model     string    // that made Vector
	Vectors   *Vectors  // what Vector is compared with; nil: words only
}

// Hit is one item that answers.
type Hit struct {
	Message transcript.Message // whole, as the cache has it; with Ref
	Thread  transcript.Thread  // that it belongs to
	Dead    bool               // rolled back, or rewritten away
	Words   []string           // what Snippet looks for in the text
	Lists   []string           // that have it: words, recency, meaning
}

// Found is an answer, best hit first.
type Found struct {
	Hits   []Hit
	More   bool     // hits follow after these
	Behind int64    // items that could not be looked through yet
	Notes  []string // what of the question was read otherwise than typed, in sentences
}

// Find answers a question. No text of a user's makes it fail: an error is the
// cache's or the index's. Of a question of filters alone all hits can be had,
// newest first, of one that has words the best 300; that there are more is noted
// behind the last.
func (x *Index) Find(ctx context.Context, db *store.DB, r Request) (Found, error) {
	return x.find(ctx, db, r, nil)
}

// find is Find with the ids of the items that are nearest in meaning, nearest
// first; nil if the request's vector tells.
func (x *Index) find(ctx context.Context, db *store.DB, r Request, meaning []int64) (Found, error) {
	s, err := newFinder(ctx, db, r)
	if err != nil {
		return Found{}, err
	}
	tx, release, err := x.view(ctx)
	if err != nil {
		return Found{}, err
	}
	s.ask = &asker{x: x, tx: tx}
	if meaning == nil {
		meaning, err = s.nearest(ctx)
	}
	var ranked []*candidate
	if err == nil {
		ranked, err = s.rank(ctx, meaning)
	}
	release()
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	return s.answer(ctx, ranked)
}

// Scan answers a question without an index: what is newest is looked through as
// far as some megabytes go, and the rest is counted in Behind.
func Scan(ctx context.Context, db *store.DB, r Request) (Found, error) {
	s, err := newFinder(ctx, db, r)
	if err != nil {
		return Found{}, err
	}
	ranked, err := s.rank(ctx, nil)
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	return s.answer(ctx, ranked)
}

// finder is one question being answered.
type finder struct {
	db    *store.DB
	r     Request
	q     question
	m     matcher
	sc    store.Scope
	none  bool   // the filters leave nothing
	alone bool   // there is nothing but filters
	cut   bool   // more match than are ranked
	ask   *asker // nil: there is no index
	texts map[int64]transcript.Message

	behind int64
}

// newFinder reads the question and its filters.
func newFinder(ctx context.Context, db *store.DB, r Request) (*finder, error) {
	if r.Limit <= 0 {
		r.Limit = defaultLimit
	}
	r.Offset = max(0, r.Offset)
	if r.Now.IsZero() {
		r.Now = time.Now()
	}
	s := &finder{db: db, r: r, q: parse(r.Query, r.Now), texts: map[int64]transcript.Message{}}
	f := &s.q.filter
	s.sc = store.Scope{Within: r.Within, Workspace: r.Workspace, Named: f.workspaces, Models: f.models, Roles: f.roles, Tools: f.tools, Since: r.Since}
	if f.since.After(r.Since) {
		s.sc.Since = f.since
	}
	for _, v := range f.sessions {
		scope := r.Within
		if scope == "" {
			scope = r.Workspace
		}
		id, err := db.Resolve(ctx, v, scope, "")
		if many, ok := errors.AsType[*store.AmbiguousError](err); ok {
			s.q.note("session:%s could be any of %d sessions; it was searched for as text", v, len(many.IDs))
		} else if errors.Is(err, store.ErrNotFound) {
			s.q.note("session:%s names no session here; it was searched for as text", v)
		} else if err != nil {
			return nil, err
		}
		if err != nil {
			s.q.add(term{termText, v})
			continue
		}
		s.sc.Threads = append(s.sc.Threads, id)
	}
	if r.Thread != "" {
		s.none = len(s.sc.Threads) > 0 && !slices.Contains(s.sc.Threads, r.Thread)
		s.sc.Threads = []string{r.Thread}
	}
	if slices.Contains(f.roles, transcript.RoleReasoning) {
		s.q.note("role:reasoning finds nothing: what models think is not searched")
	}
	s.m = newMatcher(&s.q)
	return s, nil
}

// narrow tells whether the scope leaves out rollouts.
func (s *finder) narrow() bool {
	sc := &s.sc
	return sc.Within != "" || sc.Workspace != "" || len(sc.Named)+len(sc.Threads)+len(sc.Models)+len(sc.Rollouts) > 0 || !sc.Since.IsZero()
}

// rank gives what answers, best first; nothing if newest is to tell.
func (s *finder) rank(ctx context.Context, meaning []int64) ([]*candidate, error) {
	if s.none {
		return nil, nil
	}
	if len(s.m.clauses) == 0 && !s.q.filter.any() {
		if strings.TrimSpace(s.r.Query) != "" {
			s.q.note("the question has no words to look for")
		}
		return nil, nil
	}
	rows, err := s.rollouts(ctx)
	if err != nil || s.none {
		return nil, err
	}
	s.alone = len(s.m.clauses) == 0
	if s.alone && len(s.q.filter.paths) == 0 {
		return nil, nil
	}
	unread, err := s.unread(ctx, rows)
	if err != nil {
		return nil, err
	}
	if len(s.q.filter.paths) > 0 {
		if rows, err = s.named(ctx, rows, unread); err != nil || s.none {
			return nil, err
		}
		s.sc.Rollouts = rows
		unread = slices.DeleteFunc(unread, func(m transcript.Message) bool { return !slices.Contains(rows, m.ID>>32) })
	}
	if s.alone {
		return nil, nil
	}
	t := newTable(&s.m)
	if s.ask != nil {
		if err := s.indexed(ctx, rows, t); err != nil {
			return nil, err
		}
	}
	t.scan(&s.m, unread)
	for i := range unread {
		s.texts[unread[i].ID] = unread[i]
	}
	l, err := s.lists(ctx, t, meaning)
	if err != nil {
		return nil, err
	}
	return s.fuse(ctx, l)
}

// rollouts gives the rows of the rollouts to look into; nil: all.
func (s *finder) rollouts(ctx context.Context) ([]int64, error) {
	if !s.narrow() && s.ask != nil {
		return nil, nil
	}
	all, err := s.db.Rollouts(ctx, s.sc, maxRollouts)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, len(all))
	for i := range all {
		rows[i] = all[i].Row
	}
	if len(rows) == 0 {
		s.none = true
		if f := &s.q.filter; len(f.workspaces)+len(f.models) > 0 || s.r.Workspace != "" && s.r.Workspace != s.r.Within {
			s.q.note("no session here is in the workspace, of the model and of the time that is asked for")
		}
	}
	return rows, nil
}

// indexed asks the index which items hold which words.
func (s *finder) indexed(ctx context.Context, rows []int64, t *table) (err error) {
	a := s.ask
	a.only(rows, s.sc.Roles)
	if t.size, err = a.size(ctx); err != nil {
		return err
	}
	var must []int64 // have all of what must be
	if e := s.m.mustExpression(); e != "" {
		if must, err = a.holding(ctx, s.m.but(e), postingsMost); err != nil {
			return err
		}
		t.require(must)
		t.cut = len(must) >= postingsMost
	}
	most := postingsMost
	if len(s.m.clauses) > manyClauses {
		most /= 4
	}
	held := make([][]int64, len(t.count))
	var few []int
	for k := range held {
		c := &s.m.clauses[k]
		if c.must {
			held[k] = must
			continue
		}
		if c.stop {
			continue
		}
		if held[k], err = a.holding(ctx, s.m.but(c.expression(false)), most); err != nil {
			return err
		}
		if c.widens() && len(held[k]) < fewHave {
			few = append(few, k)
		}
	}
	slices.SortStableFunc(few, func(a, b int) int { return len(held[a]) - len(held[b]) })
	for _, k := range few[:min(maxWide, len(few))] {
		more, err := a.holding(ctx, s.m.but(s.m.clauses[k].expression(true)), most)
		if err != nil {
			return err
		}
		if len(held[k]) == 0 || len(more) < most {
			held[k] = more
		}
	}
	for k := range held {
		t.add(k, held[k], len(held[k]) >= most && !s.m.clauses[k].must)
	}
	mask, ok := s.m.allMask()
	if !ok {
		return nil
	}
	if !t.known(mask) {
		ids, err := a.holding(ctx, s.m.allExpression(), most)
		if err != nil {
			return err
		}
		t.complete(ids)
		return nil
	}
	for id, held := range t.held {
		if held&mask == mask {
			t.whole[id] = true
		}
	}
	return nil
}

// lists ranks what is in the table.
func (s *finder) lists(ctx context.Context, t *table, meaning []int64) (*lists, error) {
	follow := 0
	if s.r.Offset+s.r.Limit > restFrom {
		follow = poolRest
	}
	for size := pool + pool/3; ; size *= 10 {
		ids, more := t.best(size + follow)
		head := ids[:min(size, len(ids))]
		figures, err := s.figures(ctx, ids, meaning)
		if err != nil {
			return nil, err
		}
		known := make(map[int64]*store.Figure, len(head)+len(meaning))
		for _, id := range slices.Concat(head, meaning) {
			if f := figures[id]; f != nil {
				known[id] = f
			}
		}
		if len(ids) <= size || len(known)-len(meaning) >= poolFew || size >= poolMost {
			s.cut = more
			l := &lists{meaning: meaning, figures: figures, known: known}
			l.any, l.all, l.rest = t.rank(head, figures)
			l.rest = append(l.rest, ids[len(head):]...)
			return l, nil
		}
	}
}

// figures looks up all ids, each once, in what is within the scope.
func (s *finder) figures(ctx context.Context, ids ...[]int64) (map[int64]*store.Figure, error) {
	list := slices.Concat(ids...)
	slices.Sort(list)
	fs, err := s.db.Figures(ctx, s.sc, slices.Compact(list))
	if err != nil {
		return nil, err
	}
	out := make(map[int64]*store.Figure, len(fs))
	for i := range fs {
		out[fs[i].ID] = &fs[i]
	}
	return out, nil
}

// load reads the texts of candidates that aren't read yet.
func (s *finder) load(ctx context.Context, list []*candidate) error {
	var ids []int64
	for _, c := range list {
		if _, ok := s.texts[c.ID]; !ok {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ms, err := s.db.ItemsWithin(ctx, s.sc, ids)
	if err != nil {
		return err
	}
	for i := range ms {
		s.texts[ms[i].ID] = ms[i]
	}
	return nil
}

// answer gives the hits that are asked for.
func (s *finder) answer(ctx context.Context, ranked []*candidate) (Found, error) {
	if s.alone && !s.none {
		return s.newest(ctx)
	}
	return s.page(ctx, ranked)
}

// page picks the hits that are asked for of those that words found.
func (s *finder) page(ctx context.Context, ranked []*candidate) (Found, error) {
	found := Found{Notes: s.q.notes, Behind: s.behind}
	p := picker{s: s, left: ranked, taken: map[string]int{}}
	threads := map[string]transcript.Thread{}
	for n := 0; ; n++ {
		c, err := p.next(ctx, n >= s.r.Offset)
		if err != nil {
			return Found{}, fmt.Errorf("search: %w", err)
		}
		if c == nil || n >= mostHits {
			switch {
			case c == nil && !s.cut && !p.cut:
			case n == 0:
				s.q.note("only some of what has these words could be looked into; more words, role:, tool:, since: or session: narrow it down")
			default:
				s.q.note("more may match: these are the best %d; more words, role:, tool:, since: or session: narrow it down", n)
			}
			found.Notes = s.q.notes
			return found, nil
		}
		if n < s.r.Offset {
			continue
		}
		if len(found.Hits) == s.r.Limit {
			found.More = true
			return found, nil
		}
		h, err := s.hit(ctx, c, threads)
		if errors.Is(err, store.ErrNotFound) {
			continue // went away since
		}
		if err != nil {
			return Found{}, fmt.Errorf("search: %w", err)
		}
		found.Hits = append(found.Hits, h)
	}
}

// hit completes a candidate whose text is read.
func (s *finder) hit(ctx context.Context, c *candidate, threads map[string]transcript.Thread) (Hit, error) {
	m := s.texts[c.ID]
	here, err := s.db.Place(ctx, c.Thread, &m)
	if err != nil {
		return Hit{}, err
	}
	th, ok := threads[c.Thread]
	if !ok {
		if th, err = s.db.Host(ctx, c.Thread); err != nil {
			return Hit{}, err
		}
		threads[c.Thread] = th
	}
	m.Gone = c.Rewritten
	return Hit{Message: m, Thread: th, Dead: c.Dead || c.Rewritten || !here, Words: s.m.shown, Lists: c.lists.names()}, nil
}
