package memory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// block is a section that can be made smaller: a list loses whole items from
// its end, a quote is cut and says by how much.
type block struct {
	heading string
	lead    string // a line above the items, shown with the first of them
	items   []string
	more    string // format of the line for what a list lost
	total   int    // items there are, of which items are the first
	quote   *Quote
	share   int // of the budget in the first round, per mille

	taken int    // items shown
	text  string // quote shown, as rendered
}

// empty tells that the block has nothing to show, now.
func (b *block) empty() bool { return b.taken == 0 && b.text == "" }

func (b *block) render() string {
	if b.empty() {
		return ""
	}
	var s strings.Builder
	s.WriteString("\n## " + b.heading + "\n\n")
	if b.lead != "" {
		s.WriteString(b.lead + "\n")
	}
	for _, it := range b.items[:b.taken] {
		s.WriteString(it + "\n")
	}
	if n := b.total - b.taken; n > 0 && b.taken > 0 {
		s.WriteString("- " + fmt.Sprintf(b.more, n) + "\n")
	}
	if b.text != "" {
		s.WriteString(b.text + "\n")
	}
	return s.String()
}

// grow makes the block as large as limit UTF-16 units allow.
func (b *block) grow(limit int, cut func(q *Quote, limit int) string) {
	if b.quote != nil {
		b.text = ""
		head := units("\n## "+b.heading+"\n\n") + units(b.lead) + 2
		b.text = cut(b.quote, limit-head)
		return
	}
	lo, hi := 0, len(b.items)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if b.taken = mid; units(b.render()) <= limit {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	b.taken = lo
}

// maxItems bounds a list before it is fitted; more is never read.
const maxItems = 80

// blocks returns the sections in the order of what the next agent needs
// first.
func (d *Document) blocks(l labels) []*block {
	var out []*block
	list := func(heading string, share, total int, items []string) *block {
		b := &block{heading: heading, items: items, more: l.more, share: share, total: max(total, len(items))}
		if len(items) > 0 {
			out = append(out, b)
		}
		return b
	}
	said := func(heading string, share int, q Quote) {
		if q.Images > 0 {
			q.Text += "\n[" + fmt.Sprintf(l.images, q.Images) + "]"
		}
		if strings.TrimSpace(q.Text) != "" {
			out = append(out, &block{heading: heading, quote: &q, share: share})
		}
	}

	asked := l.lastRequest
	if d.State == transcript.StateAnswered {
		asked = l.asked
	}
	said(fmt.Sprintf(asked, turnMark(d.Request.Turn)), 250, d.Request)
	if d.State != transcript.StateAnswered && d.Request.Turn > 0 {
		done := d.doneItems()
		if len(done) == 0 {
			done = []string{"- " + l.nothingRecorded}
		}
		list(fmt.Sprintf(l.unfinished, turnMark(d.Request.Turn)), 150, 0, done)
	}
	if len(d.Plan) > 0 {
		list(fmt.Sprintf(l.planCurrent, turnMark(d.PlanOf)), 120, 0, d.planItems())
	} else if d.PlanAge > 0 {
		list(l.plan, 60, 0, []string{"- " + fmt.Sprintf(l.planStale, d.PlanAge, turnMark(d.PlanOf))})
	}
	list(l.rules, 120, len(d.Rules), quoteItems(d.Rules, 240))
	if d.summary != nil {
		list(fmt.Sprintf(l.notes, inline(d.summary.Model, 60)), 150, 0, d.summaryItems(l))
	}
	list(l.files, 130, len(d.Files), d.fileItems(l))
	checks := list(l.checks, 100, len(d.Checks), d.checkItems(l))
	if d.afterChecks > 0 {
		checks.lead = "**" + fmt.Sprintf(l.afterEdit, turnMark(d.Checks[0].Turn)) + "** " + turnMark(d.afterChecks) + "\n"
	}
	list(l.errors, 80, len(d.Errors), d.errorItems(l))
	heading := l.answer
	if d.Answer.Turn < d.Request.Turn {
		heading = l.lastAnswer
	}
	said(fmt.Sprintf(heading, turnMark(d.Answer.Turn)), 200, d.Answer)
	b := list(l.earlier, 120, len(d.Earlier), quoteItems(d.Earlier, 160))
	if d.Steers > 0 && len(b.items) > 0 {
		b.lead = "(" + fmt.Sprintf(l.steers, d.Steers) + ")\n"
	}
	return out
}

func quoteItems(qs []Quote, n int) []string {
	var out []string
	for i, q := range qs {
		if i == maxItems {
			break
		}
		text := inline(q.Text, n)
		if text == "" {
			continue
		}
		out = append(out, "- “"+text+"” "+turnMark(q.Turn))
	}
	return out
}

// doneItems lists the steps of the unfinished turn; a step made again is one
// line with the newest outcome.
func (d *Document) doneItems() []string {
	var order []string
	last := make(map[string]Step)
	tries := make(map[string]int)
	for _, s := range d.Done {
		if tries[s.Text] == 0 {
			order = append(order, s.Text)
		}
		tries[s.Text]++
		last[s.Text] = s
	}
	var out []string
	for _, text := range order {
		s := last[text]
		line := "- " + code(text, maxCommand) + " → " + s.Outcome
		if n := tries[text]; n > 1 {
			line += " (×" + strconv.Itoa(n) + ")"
		}
		out = append(out, line+" "+turnMark(s.Turn))
	}
	if len(out) > maxItems {
		out = out[len(out)-maxItems:]
	}
	return out
}

func (d *Document) planItems() []string {
	var out []string
	for _, s := range d.Plan {
		box := "[ ]"
		switch s.Status {
		case "completed":
			box = "[x]"
		case "in_progress":
			box = "[~]"
		}
		out = append(out, "- "+box+" "+inline(s.Step, 240))
	}
	return out
}

func (d *Document) summaryItems(l labels) []string {
	s := d.summary
	var out []string
	if s.Goal != "" {
		out = append(out, "- "+l.goal+": "+inline(s.Goal, 300))
	}
	for _, part := range [...]struct {
		word  string
		notes []Note
	}{{l.next, s.Next}, {l.open, s.Open}, {l.decisions, s.Decisions}, {l.tried, s.Tried}, {l.learned, s.Learned}} {
		for _, n := range part.notes {
			line := "- " + part.word + ": " + inline(n.Text, 300)
			if n.Turn > 0 {
				line += " " + turnMark(n.Turn)
			}
			out = append(out, line)
		}
	}
	return out
}

func (d *Document) fileItems(l labels) []string {
	var out []string
	for i := range d.Files {
		if i == maxItems {
			break
		}
		f := &d.Files[i]
		line := "- " + code(f.Path, 200)
		if f.MovedTo != "" {
			line += " → " + code(f.MovedTo, 200)
		}
		line += f.figures(l)
		if f.Failed > 0 {
			line += ", **" + l.failed + "**"
		}
		turns := f.Turns
		if len(turns) > 6 {
			turns = turns[len(turns)-6:]
		}
		out = append(out, line+" "+turnMark(turns...))
	}
	return out
}

// figures tells how much of a file was changed.
func (f *File) figures(l labels) string {
	s := ""
	if f.Patches > 0 {
		s += " +" + strconv.Itoa(f.Added) + " −" + strconv.Itoa(f.Removed)
	}
	if f.Deleted {
		s += ", " + l.deleted
	} else if f.New {
		s += ", " + l.added
	}
	return s
}

func (d *Document) checkItems(l labels) []string {
	var out []string
	for i := range d.Checks {
		if i == 12 {
			break
		}
		c := &d.Checks[i]
		line := "- " + code(c.Command, maxCommand) + " → "
		switch {
		case c.HiddenBy != "":
			line += fmt.Sprintf(l.hidden, code(c.HiddenBy, 20))
		case c.HasExit:
			line += fmt.Sprintf(l.exit, c.Exit)
		default:
			line += l.noResult
		}
		if c.LastLine != "" {
			line += ", " + code(c.LastLine, maxLine)
		}
		out = append(out, line+" "+turnMark(c.Turn))
	}
	return out
}

func (d *Document) errorItems(l labels) []string {
	var out []string
	if d.Error != "" {
		out = append(out, "- "+code(d.Error, 240)+" "+turnMark(d.Thread.Turns))
	}
	for i := range d.Errors {
		if i == 8 {
			break
		}
		e := &d.Errors[i]
		line := "- " + code(e.Command, maxCommand) + " → " + fmt.Sprintf(l.exit, e.Exit)
		if e.Line != "" {
			line += ", " + code(e.Line, maxLine)
		}
		out = append(out, line+" "+turnMark(e.Turn))
	}
	return out
}

func patchWord(o patchOutcome, l labels) string {
	switch o {
	case patchApplied:
		return l.applied
	case patchFailed:
		return "**" + l.failed + "**"
	case patchOpen:
		return l.noResult
	}
	return ""
}

func exitWord(cmd string, result *transcript.Message, l labels) string {
	switch h := hiddenBy(cmd); {
	case result == nil:
		return l.noResult
	case h != "":
		return fmt.Sprintf(l.hidden, code(h, 20))
	case result.HasExit:
		return fmt.Sprintf(l.exit, result.ExitCode)
	}
	return l.noResult
}
