package memory

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Budget is a size of document.
type Budget uint8

// The budgets; the zero value means BudgetStandard.
const (
	BudgetBrief    Budget = iota + 1 // for prompts that hold many of them
	BudgetStandard                   // nearly every session fits it
	BudgetFull                       // for long sessions read with care
	BudgetDirect                     // the whole dialogue verbatim, however long
)

var budgetNames = [...]string{"", "brief", "standard", "full", "direct"}

// ParseBudget reads the name of a budget; false for other words.
func ParseBudget(name string) (Budget, bool) {
	for i, n := range budgetNames {
		if i > 0 && n == name {
			return Budget(i), true
		}
	}
	return 0, false
}

// Units returns the budget in UTF-16 units, front matter included; 0 for no
// limit.
func (b Budget) Units() int {
	switch b {
	case BudgetBrief:
		return 1200
	case BudgetStandard:
	case BudgetFull:
		return 20000
	case BudgetDirect:
		return 0
	}
	return 5000
}

// String returns the name users know.
func (b Budget) String() string {
	if b > 0 && int(b) < len(budgetNames) {
		return budgetNames[b]
	}
	return budgetNames[BudgetStandard]
}

// MarshalText implements encoding.TextMarshaler.
func (b Budget) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Options say how a document is written.
type Options struct {
	Budget Budget
	Units  int  // UTF-16 units, replaces Budget's; 0: Budget's, or no limit if Direct
	Direct bool // the whole dialogue verbatim
	Bare   bool // no front matter: for answers, not files
}

// Render writes the document, never longer than its budget. What doesn't fit
// is left out in whole items, and the last section says what and how to fetch
// it.
func Render(d Document, opt Options) ([]byte, error) {
	opt.Direct = opt.Direct || opt.Budget == BudgetDirect
	limit := opt.Units
	switch {
	case limit < 0:
		return nil, fmt.Errorf("render memory: %d units asked for", limit)
	case limit == 0 && opt.Direct:
		limit = 1 << 30
	case limit == 0:
		limit = opt.Budget.Units()
	}
	levels := []frontLevel{frontFull, frontCompact, frontNone}
	if opt.Bare {
		levels = levels[2:]
	}
	words := labelsOf(d.lang)
	l := &words
	var text string
	for _, level := range levels {
		// The hash is of a fixed length: the front matter's size is known
		// before the body is.
		front, err := d.front(level, "")
		if err != nil {
			return nil, err
		}
		room := limit - units(front)
		if room < limit/2 && level != frontNone {
			continue
		}
		body := d.body(l, room, opt.Direct)
		if units(body) > room && level != frontNone {
			continue
		}
		if front, err = d.front(level, body); err != nil {
			return nil, err
		}
		text = front + body
		break
	}
	return []byte(cutLines(text, limit)), nil
}

// body writes all below the front matter, in at most room units if that is
// possible at all.
func (d *Document) body(l *labels, room int, direct bool) string {
	head := d.head(l, room)
	if direct {
		return head + d.dialogue(l, room-units(head))
	}
	blocks := d.blocks(l)
	left := room - units(head) - units(d.leftOut(l, room, len(d.Earlier), d.Answers))
	cut := func(q *Quote, limit int) string { return d.cutQuote(l, q, limit) }
	// First round: each section its share. Second round: what remains, in the
	// order in which they stand, but the request and the work for it only up to
	// reserved. Third round: they too.
	total, shares := max(0, left), 0
	for _, b := range blocks {
		shares += b.share
	}
	sizes := make([]int, len(blocks))
	grow := func(i, limit int) {
		if most := blocks[i].most; most > 0 {
			limit = min(limit, total*most/1000)
		}
		left += sizes[i]
		blocks[i].grow(l, min(left, limit), cut)
		sizes[i] = units(blocks[i].render(l))
		left -= sizes[i]
	}
	reserved := total * reservedShare / 1000
	if room < roomy {
		reserved, shares = total, 0 // little room: what stands first comes first
	}
	for i, b := range blocks {
		if shares > 0 {
			grow(i, total*b.share/shares)
		}
	}
	for i, b := range blocks {
		limit := total
		if b.first {
			limit = reserved
			reserved -= min(reserved, max(sizes[i], 0))
		}
		if limit > sizes[i] {
			grow(i, limit)
		}
	}
	for i := range blocks {
		grow(i, total)
	}
	var s strings.Builder
	s.WriteString(head)
	hidden, answers := len(d.Earlier), d.Answers
	for _, b := range blocks {
		s.WriteString(b.render(l))
		if b.heading == l.earlier {
			hidden -= b.taken
		}
		if d.Final && b.quote != nil && !b.first && b.text != "" {
			answers = d.Answers - 1
		}
	}
	s.WriteString(d.leftOut(l, room, hidden, answers))
	return s.String()
}

// reservedShare is what the request and the work for it may take of a document
// before the other sections have what they need, per mille.
const reservedShare = 400

// leftOut is the last section; it always fits.
func (d *Document) leftOut(l *labels, room, earlier, answers int) string {
	var parts []string
	for _, p := range [...]struct {
		format string
		n      int
	}{{l.leftCommands, d.Commands}, {l.leftAnswers, answers}, {l.leftRequests, earlier}, {l.steers, d.Steers}} {
		if p.n > 0 {
			parts = append(parts, count(p.format, p.n))
		}
	}
	if d.reasoned {
		parts = append(parts, l.leftReasoning)
	}
	s := ""
	if d.Thread.Turns > 0 {
		s = "- "
		if len(parts) > 0 && room >= roomy {
			s += strings.Join(parts, l.comma) + " → "
		}
		s += fmt.Sprintf("`get_omitted_original(\"%s\", \"%s\")`\n", id8(d.Thread.ID), turnRange(1, d.Thread.Turns))
	}
	if d.Own > 0 && room >= roomy {
		s += "- " + count(l.leftOwn, d.Own) + "\n"
	}
	if path := rolloutPath(d.Thread.Path); room >= roomy && path != "" && !d.Thread.Gone {
		s += "- " + fmt.Sprintf(l.original, code(path, 300)) + "\n"
	}
	if s == "" {
		return ""
	}
	return "\n## " + l.left + "\n\n" + s
}

func turnRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("t%d", from)
	}
	return fmt.Sprintf("t%d-t%d", from, to)
}

// rolloutPath shortens the path of a rollout to what is the same in every
// home.
func rolloutPath(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	for _, dir := range [...]string{"/.codex/", "/sessions/", "/archived_sessions/"} {
		if i := strings.Index(p, dir); i >= 0 {
			if dir == "/.codex/" {
				return "~" + p[i:]
			}
			return "…" + p[i:]
		}
	}
	return p
}

// minQuote is the least that is worth quoting, in units.
const minQuote = 24

// cutQuote sets q in quote lines of at most limit units. What is cut is cut
// from the middle: the end of a request is often what it asks, that of an
// answer what comes next. A line in its place says how much is missing and how
// to get it.
func (d *Document) cutQuote(l *labels, q *Quote, limit int) string {
	if full := quote(q.Text); units(full) <= limit {
		return full
	}
	text := strings.TrimSpace(q.Text)
	total := units(text)
	mark := func(n int) string { return "\n> " + fmt.Sprintf(l.cut, n, id8(d.Thread.ID), q.Turn) }
	tail := ""
	if limit >= tailFrom {
		tail = lastUnits(text, limit/4)
		if i := strings.IndexAny(tail, " \n。，、"); i >= 0 && i < len(tail)/2 {
			_, n := utf8.DecodeRuneInString(tail[i:])
			tail = tail[i+n:]
		}
		tail = strings.TrimSpace(tail)
	}
	behind := ""
	if tail != "" {
		behind = "\n" + quote(tail)
	}
	lo, hi := 0, min(total-units(tail), max(0, limit))
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if units(quote(cutUnits(text, mid)))+units(mark(total))+units(behind) <= limit {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if lo < minQuote {
		return ""
	}
	kept := cutUnits(text, lo)
	// End at a word, if one ends near.
	if i := strings.LastIndexAny(kept, " \n。，、"); i > len(kept)*3/4 {
		_, n := utf8.DecodeRuneInString(kept[i:])
		kept = strings.TrimSpace(kept[:i+n])
	}
	return quote(kept) + mark(total-units(kept)-units(tail)) + behind
}

// tailFrom is the room from which on a cut quote keeps its end too, in units.
const tailFrom = 400

// lastUnits returns the longest end of s of at most n units.
func lastUnits(s string, n int) string {
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if n -= max(1, utf16.RuneLen(r)); n < 0 {
			return s[i:]
		}
		i -= size
	}
	return s
}

// dialogue writes what was said, whole turns; if not all fit, the newest, and
// one note for the rest.
func (d *Document) dialogue(l *labels, room int) string {
	var turns []string // each all of a turn
	var numbers, tokens []int
	for i := range d.said {
		m := &d.said[i]
		who := l.agent
		if m.Role == transcript.RoleUser {
			who = l.user
		}
		text := strings.TrimSpace(m.Text)
		if m.Images > 0 {
			text = strings.TrimSpace(text + "\n[" + count(l.images, m.Images) + "]")
		}
		if text == "" {
			continue
		}
		part := "\n### " + turnMark(m.ThreadTurn) + " " + who + "\n\n" + quote(text) + "\n"
		if n := len(numbers); n == 0 || numbers[n-1] != m.ThreadTurn {
			turns, numbers, tokens = append(turns, ""), append(numbers, m.ThreadTurn), append(tokens, 0)
		}
		turns[len(turns)-1] += part
		tokens[len(tokens)-1] += m.Tokens
	}
	heading := "\n## " + l.dialogue + "\n"
	end := d.leftOut(l, room, 0, 0)
	room -= units(heading) + units(end)
	sum := 0
	for _, t := range turns {
		sum += units(t)
	}
	noteOf := func(n, lost int) string {
		if n == 0 {
			return ""
		}
		return "\n> " + count(l.earlierTurns, n, lost, l.clip(d.said[0].Text, 120), id8(d.Thread.ID), turnRange(numbers[0], numbers[n-1])) + "\n"
	}
	note, start, lost := "", 0, 0
	for start < len(turns) && sum+units(note) > room {
		sum -= units(turns[start])
		lost += tokens[start]
		start++
		note = noteOf(start, lost)
	}
	rest := strings.Join(turns[start:], "")
	if n := len(turns); rest == "" && n > 0 {
		// Not even one turn fits: what is asked, cut, rather than nothing.
		if numbers[n-1] == d.Request.Turn {
			note = noteOf(n-1, lost-tokens[n-1])
		}
		title := "\n### " + turnMark(d.Request.Turn) + " " + l.user + "\n\n"
		if cut := d.cutQuote(l, &d.Request, room-units(note)-units(title)-1); cut != "" {
			rest = title + cut + "\n"
		}
	}
	return heading + note + rest + end
}

// cutLines cuts text to limit units at a line's end. Only budgets too small
// for the head get here with more.
func cutLines(text string, limit int) string {
	if units(text) <= limit {
		return text
	}
	text = cutUnits(text, limit)
	return text[:strings.LastIndexByte(text, '\n')+1]
}
