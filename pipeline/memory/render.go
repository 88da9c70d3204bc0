package memory

import (
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Budget is a size of document.
type Budget uint8

// The budgets; the zero value means BudgetStandard.
const (
	BudgetBrief    Budget = iota + 1 // for prompts that hold many of them
	BudgetStandard                   // nearly every session fits it
	BudgetFull                       // for long sessions read with care
)

// Units returns the budget in UTF-16 units, front matter included.
func (b Budget) Units() int {
	switch b {
	case BudgetBrief:
		return 1200
	case BudgetStandard:
	case BudgetFull:
		return 20000
	}
	return 5000
}

// String returns the name users know.
func (b Budget) String() string {
	switch b {
	case BudgetBrief:
		return "brief"
	case BudgetStandard:
	case BudgetFull:
		return "full"
	}
	return "standard"
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
	l := labelsOf(d.lang)
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
func (d *Document) body(l labels, room int, direct bool) string {
	head := d.head(l, room)
	if direct {
		return head + d.dialogue(l, room-units(head))
	}
	blocks := d.blocks(l)
	left := room - units(head) - units(d.leftOut(l, room, len(d.Earlier)))
	cut := func(q *Quote, limit int) string { return d.cutQuote(l, q, limit) }
	// First round: each section its share, those that stand first before
	// those that stand last. Second round: what remains, in the same order.
	total, shares := max(0, left), 0
	for _, b := range blocks {
		shares += b.share
	}
	sizes := make([]int, len(blocks))
	for i, b := range blocks {
		b.grow(min(left, total*b.share/max(shares, 1)), cut)
		sizes[i] = units(b.render())
		left -= sizes[i]
	}
	for i, b := range blocks {
		b.grow(left+sizes[i], cut)
		n := units(b.render())
		left += sizes[i] - n
	}
	var s strings.Builder
	s.WriteString(head)
	hidden := len(d.Earlier)
	for _, b := range blocks {
		s.WriteString(b.render())
		if b.heading == l.earlier {
			hidden -= b.taken
		}
	}
	s.WriteString(d.leftOut(l, room, hidden))
	return s.String()
}

// roomy is where the explaining lines are written in full.
const roomy = 1500

// head is the title, the frame and the state.
func (d *Document) head(l labels, room int) string {
	id := id8(d.Thread.ID)
	title := inline(d.Title, maxTitle)
	if room < roomy {
		title = inline(d.Title, 60)
	}
	var s strings.Builder
	s.WriteString("# " + fmt.Sprintf(l.docTitle, title) + "\n\n> " + l.frame + "\n")
	if room >= roomy {
		s.WriteString("> " + fmt.Sprintf(l.fetch, "`[tN]`", id, id) + "\n")
	}
	s.WriteString("\n## " + l.now + "\n\n- **" + fmt.Sprintf(l.state, stateOf(d.State, l)) + "**")
	if !d.Thread.Updated.IsZero() {
		s.WriteString(" " + fmt.Sprintf(l.since, d.Thread.Updated.In(d.loc).Format("2006-01-02 15:04 (-07:00)")))
	}
	if d.Thread.Turns > 0 {
		s.WriteString(" " + turnMark(d.Thread.Turns))
	}
	s.WriteString("\n")
	return s.String()
}

// leftOut is the last section; it always fits.
func (d *Document) leftOut(l labels, room, earlier int) string {
	answers := max(0, d.Answers-1)
	s := "\n## " + l.left + "\n\n- " + fmt.Sprintf(l.leftCounts, d.Commands, answers, earlier)
	if d.Thread.Turns > 0 {
		last := fmt.Sprintf("t1-t%d", d.Thread.Turns)
		if d.Thread.Turns == 1 {
			last = "t1"
		}
		s += fmt.Sprintf(" `get_omitted_original(\"%s\", \"%s\")`", id8(d.Thread.ID), last)
	}
	s += "\n"
	if room >= roomy && d.Thread.Path != "" {
		s += "- " + fmt.Sprintf(l.original, code(d.Thread.Path, 300)) + "\n"
	}
	return s
}

// minQuote is the least that is worth quoting, in units.
const minQuote = 24

// cutQuote sets q in quote lines of at most limit units. If it is cut, the
// last line says how much is missing and how to get it.
func (d *Document) cutQuote(l labels, q *Quote, limit int) string {
	if full := quote(q.Text); units(full) <= limit {
		return full
	}
	text := strings.TrimSpace(q.Text)
	total := units(text)
	mark := func(n int) string { return "\n> " + fmt.Sprintf(l.cut, n, id8(d.Thread.ID), q.Turn) }
	lo, hi := 0, min(total, max(0, limit))
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if units(quote(cutUnits(text, mid)))+units(mark(total)) <= limit {
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
	if i := strings.LastIndexAny(kept, " \n。，"); i > len(kept)*3/4 {
		kept = kept[:i]
	}
	return quote(kept) + mark(total-units(kept))
}

// dialogue writes what was said, whole turns; if not all fit, the newest, and
// one note for the rest.
func (d *Document) dialogue(l labels, room int) string {
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
			text = strings.TrimSpace(text + "\n[" + fmt.Sprintf(l.images, m.Images) + "]")
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
	end := d.leftOut(l, room, 0)
	room -= units(heading) + units(end)
	sum := 0
	for _, t := range turns {
		sum += units(t)
	}
	note, start, lost := "", 0, 0
	for start < len(turns) && sum+units(note) > room {
		sum -= units(turns[start])
		lost += tokens[start]
		start++
		oldest := ""
		if len(d.said) > 0 {
			oldest = inline(d.said[0].Text, 120)
		}
		note = "\n> " + fmt.Sprintf(l.earlierTurns, start, lost, oldest, id8(d.Thread.ID), numbers[0], numbers[start-1]) + "\n"
	}
	rest := strings.Join(turns[start:], "")
	if rest == "" && len(turns) > 0 {
		// Not even one turn fits: what is asked, cut, rather than nothing.
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
