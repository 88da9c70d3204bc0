package compress

import (
	"container/heap"
	"sort"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Shares of the budget, in percent, and sizes of chunks, in tokens.
const (
	pinShare       = 40 // all pins together
	firstShare     = 8  // the first request
	answerShare    = 10 // the newest answer
	planShare      = 8  // the newest plan
	requestShare   = 12 // the other requests
	tailShare      = 15 // of what the pins leave, for an unbroken end
	saidChunk      = 400
	doneChunk      = 220
	minChunk       = 16
	refillSurplus  = 25 // guesses are cautious: chosen beyond the budget, for largest to cut
	callNameTokens = 30 // a call that is only named, for the sake of its result
	maxMisses      = 50 // chunks that don't fit, before giving up looking for one that does
)

// chunk is a run of bytes that is kept or left out as one.
type chunk struct {
	msg      int // index of the message
	unit     int
	from, to int
	tokens   int
	pos      int // tokens from the start of the thread
	refs     []int32
	stale    bool
}

// chooser picks chunks in the order of their worth.
type chooser struct {
	b       *builder
	x       *index
	chunks  []chunk
	first   []int // message → its first chunk
	count   []int // message → number of chunks
	taken   []bool
	opened  []bool // messages that have a chunk taken or are named
	covered []bool // symbols
	order   []int  // chunks, as taken
	cost    []int  // guess of all taken so far, per entry of order
	spent   int
}

// selected keeps, in this order: pins (what was asked, answered, planned),
// an unbroken end, the chunks that cover most of what the next agent may need
// to write, and newest chunks while there is room.
func (b *builder) selected() (Selection, error) {
	c := newChooser(b)
	budget := max(0, b.in.BudgetTokens-c.noteTokens())
	c.pins(budget)
	c.tail(c.spent + (budget-c.spent)*tailShare/100)
	surplus := budget + budget*refillSurplus/100
	c.cover(budget)
	c.refill(surplus)
	note := c.noteTokens()
	guess := make([]int, len(c.cost))
	for i := range guess {
		guess[i] = c.cost[i] + note
	}
	s, found, err := b.largest(guess, nearly, func(k int) (Selection, error) {
		return b.measure(c.plan(k))
	})
	if err != nil || found {
		return s, err
	}
	return b.cutNewest()
}

func (c *chooser) noteTokens() int {
	n := 100
	if c.b.in.Format != FormatMarkdown {
		n += 20
	}
	return n
}

func newChooser(b *builder) *chooser {
	ms := b.in.Messages
	size := 0
	for i := range ms {
		size += len(ms[i].Body())
	}
	c := &chooser{b: b, x: newIndex(size), first: make([]int, len(ms)), count: make([]int, len(ms)), opened: make([]bool, len(ms))}
	stale := staleResults(ms, b.units)
	pos := 0
	for u, un := range b.units {
		pos = c.split(un.first, u, pos, stale[un.first])
		if un.result >= 0 {
			pos = c.split(un.result, u, pos, stale[un.result])
		}
	}
	c.x.weigh(pos, len(c.chunks))
	c.taken = make([]bool, len(c.chunks))
	c.covered = make([]bool, len(c.x.syms))
	return c
}

// split cuts message i to chunks at line ends and reads their symbols.
func (c *chooser) split(i, u, pos int, stale bool) int {
	m := &c.b.in.Messages[i]
	body := m.Body()
	by, most := speakerTool, doneChunk
	switch m.Role {
	case transcript.RoleUser:
		by, most = speakerUser, saidChunk
	case transcript.RoleAssistant:
		by, most = speakerAgent, saidChunk
	case transcript.RoleToolCall:
		by = speakerAgent
	case transcript.RoleToolResult, transcript.RoleAgent, transcript.RoleReasoning, transcript.RoleCompaction:
	}
	most = min(most, max(minChunk, c.b.in.BudgetTokens/20))
	c.first[i] = len(c.chunks)
	total := max(1, tokensOf(m, len(body)))
	size := max(8, most*len(body)/total)
	for from := 0; from < len(body) || from == 0 && len(body) == 0; {
		to := chunkEnd(body, from, size)
		tokens := tokensOf(m, to-from)
		k := len(c.chunks)
		begin := c.x.scan(body[from:to], k, pos, by)
		c.chunks = append(c.chunks, chunk{msg: i, unit: u, from: from, to: to, tokens: tokens, pos: pos,
			refs: c.x.refs[begin:len(c.x.refs):len(c.x.refs)], stale: stale})
		pos += tokens
		from = to
		if len(body) == 0 {
			break
		}
	}
	c.count[i] = len(c.chunks) - c.first[i]
	return pos
}

// chunkEnd returns the end of the chunk of about size bytes that begins at
// from: at a line's end if there is one in its second half.
func chunkEnd(s string, from, size int) int {
	if len(s)-from <= size+size/4 {
		return len(s)
	}
	end := runeStart(s, from+size)
	if nl := strings.LastIndexByte(s[from:end], '\n'); nl >= size/2 {
		return from + nl + 1
	}
	if end <= from {
		return min(len(s), from+size)
	}
	return end
}

// price guesses what taking chunk k adds.
func (c *chooser) price(k int) int {
	ch := &c.chunks[k]
	n := ch.tokens
	if k > c.first[ch.msg] && !c.taken[k-1] {
		n += markTokens
	}
	if last := c.first[ch.msg] + c.count[ch.msg] - 1; k < last && !c.taken[k+1] {
		n += markTokens
	}
	if !c.opened[ch.msg] {
		n += pieceTokens
	}
	un := c.b.units[ch.unit]
	if ch.msg == un.result && !c.opened[un.first] {
		n += pieceTokens + callNameTokens
	}
	if ch.msg == un.first && un.result >= 0 && !c.opened[un.result] {
		n += pieceTokens/2 + markTokens
	}
	return n
}

// take adds chunk k if the total stays below limit.
func (c *chooser) take(k, limit int) bool {
	if c.taken[k] {
		return true
	}
	n := c.price(k)
	if c.spent+n > limit {
		return false
	}
	ch := &c.chunks[k]
	c.taken[k] = true
	c.opened[ch.msg] = true
	un := c.b.units[ch.unit]
	c.opened[un.first] = true
	if un.result >= 0 {
		c.opened[un.result] = true
	}
	for _, s := range ch.refs {
		c.covered[s] = true
	}
	c.spent += n
	c.order = append(c.order, k)
	c.cost = append(c.cost, c.spent)
	return true
}

// takeMessage takes chunks of message i from its beginning.
func (c *chooser) takeMessage(i, limit int) bool {
	for k := c.first[i]; k < c.first[i]+c.count[i]; k++ {
		if !c.take(k, limit) {
			return false
		}
	}
	return true
}

// pins takes what must not be missing: the first request, the newest request,
// the newest answer, the newest plan, then other requests from the newest on.
func (c *chooser) pins(budget int) {
	limit := budget * pinShare / 100
	ms := c.b.in.Messages
	pin := func(i, share int) {
		if i >= 0 {
			c.takeMessage(i, min(limit, c.spent+budget*share/100))
		}
	}
	firstUser, lastUser, answer, todo := -1, -1, -1, -1
	for _, u := range c.b.units {
		switch m := &ms[u.first]; {
		case m.Role == transcript.RoleUser:
			lastUser = u.first
			if firstUser < 0 {
				firstUser = u.first
			}
		case m.Role == transcript.RoleAssistant:
			answer = u.first
		case m.Role == transcript.RoleToolCall && isPlan(m.Name):
			todo = u.first
		}
	}
	pin(firstUser, firstShare)
	pin(lastUser, firstShare)
	pin(answer, answerShare)
	pin(todo, planShare)
	requests := min(limit, c.spent+budget*requestShare/100)
	for k := len(c.b.units) - 1; k >= 0; k-- {
		if i := c.b.units[k].first; ms[i].Role == transcript.RoleUser && !c.takeMessage(i, requests) {
			break
		}
	}
}

// isPlan knows the tools by which agents keep their plan.
func isPlan(name string) bool {
	return name == "update_plan" || name == "TodoWrite" || name == "todo_write" || name == "write_todos"
}

// tail takes the newest chunks without a break.
func (c *chooser) tail(limit int) {
	for k := len(c.chunks) - 1; k >= 0 && c.take(k, limit); k-- {
	}
}

// refill takes the newest chunks that still fit.
func (c *chooser) refill(limit int) {
	for _, stale := range [...]bool{false, true} {
		misses := 0
		for k := len(c.chunks) - 1; k >= 0 && misses < maxMisses; k-- {
			if c.chunks[k].stale == stale && !c.take(k, limit) {
				misses++
			}
		}
	}
}

// gain is the weight that chunk k would cover anew.
func (c *chooser) gain(k int) float32 {
	if c.chunks[k].stale {
		return 0
	}
	var g float32
	for _, s := range c.chunks[k].refs {
		if !c.covered[s] {
			g += c.x.syms[s].weight
		}
	}
	return g
}

// cover takes the chunk with the most uncovered weight for its price, again
// and again. Gains only fall, so an old gain is a bound: only the head of the
// queue has to be weighed anew.
func (c *chooser) cover(limit int) {
	rate := func(k int) float32 { return c.gain(k) / float32(max(1, c.price(k))) }
	q := make(queue, 0, len(c.chunks))
	for k := range c.chunks {
		if c.taken[k] {
			continue
		}
		if r := rate(k); r > 0 {
			q = append(q, candidate{k, r})
		}
	}
	heap.Init(&q)
	for misses := 0; len(q) > 0 && misses < maxMisses; {
		k := q[0].chunk
		if r := rate(k); r < q[0].rate {
			q[0].rate = r
			heap.Fix(&q, 0)
			continue
		}
		if q[0].rate <= 0 {
			return
		}
		heap.Pop(&q)
		if !c.take(k, limit) {
			misses++
		}
	}
}

// candidate is a chunk with the rate it had when last weighed.
type candidate struct {
	chunk int
	rate  float32
}

// queue is a heap, the best candidate first. Ties go to the newer chunk, so
// that the order is the same each time.
type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].rate > q[j].rate || q[i].rate == q[j].rate && q[i].chunk > q[j].chunk
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// plan keeps the first n chunks taken.
func (c *chooser) plan(n int) plan {
	p := c.b.plan()
	kept := append([]int(nil), c.order[:n]...)
	sort.Ints(kept)
	for _, k := range kept {
		ch := &c.chunks[k]
		spans := p[ch.msg]
		if last := len(spans) - 1; last >= 0 && spans[last].To == ch.from {
			spans[last].To = ch.to
		} else {
			spans = append(spans, Span{ch.from, ch.to})
		}
		p[ch.msg] = spans
	}
	c.b.complete(p)
	return p
}

// complete shows the call of a kept result by its beginning at least, the
// result of a kept call by a mark.
func (b *builder) complete(p plan) {
	for _, u := range b.units {
		if u.result < 0 || p[u.first] == nil && p[u.result] == nil {
			continue
		}
		if p[u.first] == nil {
			p[u.first] = callBeginning(b.in.Messages[u.first].Body())
		}
		p.name(u.result)
	}
}

// callBeginning keeps the first bytes of a call's arguments, enough to see
// what ran.
func callBeginning(args string) []Span {
	const most = 60
	if len(args) <= most+20 {
		return []Span{{0, len(args)}}
	}
	return []Span{{0, runeStart(args, most)}}
}
