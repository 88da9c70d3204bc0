package memory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// block is a section that can be made smaller: a list loses whole items from
// one end, a quote is cut and says by how much.
type block struct {
	heading string
	lead    string // a line above the items, shown with the first of them
	items   []item
	newest  bool // the last items are the ones to keep
	quote   *Quote
	share   int  // of the budget in the first round, per mille
	first   bool // part of what is reserved: the request and the work for it
	max     int  // items shown at most
	most    int  // of the budget in all rounds, per mille; 0: no limit

	taken int    // items shown
	text  string // quote shown, as rendered
}

// item is a line of a list.
type item struct {
	line string
	turn int // it is from, 0: its line says more
}

func (b *block) render(l *labels) string {
	if b.taken == 0 && b.text == "" {
		return ""
	}
	var s strings.Builder
	s.WriteString("\n## " + b.heading + "\n\n")
	if b.lead != "" {
		s.WriteString(b.lead + "\n\n")
	}
	shown, hidden := b.items[:b.taken], b.items[b.taken:]
	if b.newest {
		shown, hidden = b.items[len(b.items)-b.taken:], b.items[:len(b.items)-b.taken]
		if len(hidden) > 0 {
			s.WriteString("- " + fmt.Sprintf(l.before, len(hidden)) + span(hidden) + "\n")
		}
	}
	for _, it := range shown {
		s.WriteString(it.line + "\n")
	}
	if len(hidden) > 0 && b.taken > 0 && !b.newest {
		s.WriteString("- " + fmt.Sprintf(l.more, len(hidden)) + span(hidden) + "\n")
	}
	if b.text != "" {
		s.WriteString(b.text + "\n")
	}
	return s.String()
}

// span names the turns that items are from.
func span(items []item) string {
	from, to := 0, 0
	for _, it := range items {
		if it.turn > 0 && (from == 0 || it.turn < from) {
			from = it.turn
		}
		to = max(to, it.turn)
	}
	switch {
	case to == 0:
		return ""
	case from == to:
		return " " + turnMark(to)
	}
	return " [t" + strconv.Itoa(from) + "-t" + strconv.Itoa(to) + "]"
}

// grow makes the block as large as limit UTF-16 units allow.
func (b *block) grow(l *labels, limit int, cut func(q *Quote, limit int) string) {
	if b.quote != nil {
		b.text = ""
		b.text = cut(b.quote, limit-units("\n## "+b.heading+"\n\n")-1)
		return
	}
	lo, hi := 0, len(b.items)
	if b.max > 0 {
		hi = min(hi, b.max)
	}
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if b.taken = mid; units(b.render(l)) <= limit {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	b.taken = lo
}

// Bounds of lists: more is never read.
const (
	maxItems  = 80
	maxChecks = 12
	maxErrors = 10
	maxAgents = 12
)

// blocks returns the sections in the order of what the next agent needs
// first.
func (d *Document) blocks(l *labels) []*block {
	var out []*block
	list := func(heading string, share int, items []item) *block {
		b := &block{heading: heading, items: items, share: share, max: maxItems}
		if len(items) > 0 {
			out = append(out, b)
		}
		return b
	}
	said := func(heading string, share int, q Quote) *block {
		b := &block{heading: heading, quote: &q, share: share}
		if q.Images > 0 {
			q.Text = strings.TrimSpace(q.Text + "\n[" + count(l.images, q.Images) + "]")
		}
		if strings.TrimSpace(q.Text) != "" {
			out = append(out, b)
		}
		return b
	}

	asked := l.lastRequest
	switch {
	case d.Task:
		asked = l.task
	case !d.unfinished() || d.Standing == StandingDone || d.Accepted > 0:
		asked = l.asked
	}
	said(fmt.Sprintf(asked, turnMark(d.Request.Turn)), 250, d.Request).first = true
	if d.unfinished() && d.Request.Turn > 0 {
		since := d.Request.Turn
		if d.Accepted > 0 {
			since = d.Accepted
		}
		b := list(fmt.Sprintf(l.unfinished, turnMark(since)), 150, d.doneItems(l))
		b.first, b.newest = true, true
	}
	if len(d.Plan) > 0 {
		list(fmt.Sprintf(l.planCurrent, turnMark(d.PlanOf)), 120, d.planItems(l))
	} else if d.PlanAge > 0 {
		list(l.plan, 60, []item{{"- " + count(l.planStale, d.PlanAge, turnMark(d.PlanOf)), d.PlanOf}})
	}
	list(l.rules, 120, quoteItems(l, d.Rules, ruleMax))
	if d.summary != nil {
		b := list(d.notesHeading(l), 150, append(d.summaryItems(l), d.textItems(l)...))
		b.lead = d.notesLead(l)
	}
	list(l.files, 130, d.fileItems(l))
	checks := list(l.checks, 100, d.checkItems(l))
	checks.max = maxChecks
	if d.afterChecks > 0 {
		checks.lead = "**" + fmt.Sprintf(l.afterEdit, turnMark(d.Checks[0].Turn), turnMark(d.afterChecks)) + "**"
	}
	list(l.errors, 80, d.errorItems(l)).max = maxErrors
	list(l.agents, 60, d.agentItems(l)).max = maxAgents
	heading := l.answer
	switch {
	case !d.Final:
		heading = l.remarkOnly
	case d.Answer.Turn < d.Request.Turn:
		heading = l.lastAnswer
	}
	said(fmt.Sprintf(heading, turnMark(d.Answer.Turn)), 200, d.Answer)
	list(l.found, foundShare, d.foundItems(l)).most = foundShare
	list(l.earlier, 120, quoteItems(l, d.Earlier, 200))
	return out
}

// foundShare is what passages found for the next request may take of a
// document, per mille; foundMax is one of them, in units.
const (
	foundShare = 100
	foundMax   = 400
)

func (d *Document) foundItems(l *labels) []item {
	var out []item
	for _, f := range d.Found {
		if strings.TrimSpace(f.Text) != "" {
			out = append(out, item{"- " + l.cite(f.Text, foundMax) + " " + code(f.Ref, 60) + " " + turnMark(f.Turn), f.Turn})
		}
	}
	return out
}

func quoteItems(l *labels, qs []Quote, n int) []item {
	var out []item
	for _, q := range qs {
		text := q.Text
		if q.Images > 0 {
			text += " [" + count(l.images, q.Images) + "]"
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, item{"- " + l.cite(text, n) + " " + turnMark(q.Turn), q.Turn})
		}
	}
	return out
}

// doneItems lists the steps of the unfinished turn; a step made again is one
// line with the newest outcome.
func (d *Document) doneItems(l *labels) []item {
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
	var out []item
	for _, text := range order {
		s := last[text]
		line := "- " + d.code(text, maxCommand, l) + " → " + s.Outcome
		if n := tries[text]; n > 1 {
			line += " (×" + strconv.Itoa(n) + ")"
		}
		out = append(out, item{line + " " + turnMark(s.Turn), s.Turn})
	}
	if d.Looked > 0 {
		out = append(out, item{"- " + count(l.looked, d.Looked) + " " + turnMark(d.LookedTurn), d.LookedTurn})
	}
	if d.Remark.Text != "" {
		out = append(out, item{"- " + fmt.Sprintf(l.remark, l.cite(d.Remark.Text, 300)) + " " + turnMark(d.Remark.Turn), d.Remark.Turn})
	}
	if len(out) == 0 {
		out = []item{{"- " + l.nothingRecorded, 0}}
	}
	return out
}

func (d *Document) planItems(l *labels) []item {
	if openSteps(d.Plan) == 0 {
		return []item{{"- " + fmt.Sprintf(l.planDone, len(d.Plan)), 0}}
	}
	var out []item
	for _, s := range d.Plan {
		box := "[ ]"
		switch s.Status {
		case "completed":
			box = "[x]"
		case "in_progress":
			box = "[~]"
		}
		out = append(out, item{"- " + box + " " + l.clip(s.Step, 240), 0})
	}
	return out
}

func (d *Document) summaryItems(l *labels) []item {
	s := d.summary
	var out []item
	if s.Goal != "" {
		out = append(out, item{"- " + l.goal + ": " + l.clip(s.Goal, noteMax), 0})
	}
	for _, p := range d.summaryParts(l) {
		for _, n := range p.notes {
			out = append(out, item{"- " + p.word + ": " + d.noteLine(l, n, p.said), n.Turn})
		}
	}
	return out
}

func (d *Document) fileItems(l *labels) []item {
	var out []item
	for i := range d.Files {
		f := &d.Files[i]
		line := "- " + code(f.Path, 200)
		if f.MovedTo != "" {
			line += " → " + code(f.MovedTo, 200)
		}
		line += f.figures(l)
		if f.Failed > 0 {
			line += ", **" + l.failed + "**"
		}
		if f.Shell != "" {
			word := l.byShell
			if f.afterPatch && f.Patches+f.Failed > 0 {
				word = l.thenShell
			}
			line += ", " + fmt.Sprintf(word, code(f.Shell, 20))
		}
		turns := f.Turns
		if len(turns) > 6 {
			turns = turns[len(turns)-6:]
		}
		out = append(out, item{line + " " + turnMark(turns...), f.Turns[len(f.Turns)-1]})
	}
	return out
}

// figures tells how much of a file was changed.
func (f *File) figures(l *labels) string {
	s := ""
	if f.Patches > 0 && (!f.Deleted || f.Added+f.Removed > 0) {
		s += " +" + strconv.Itoa(f.Added) + " −" + strconv.Itoa(f.Removed)
	}
	if f.Deleted {
		s += ", " + l.deleted
	} else if f.New {
		s += ", " + l.added
	}
	return s
}

func (d *Document) checkItems(l *labels) []item {
	var out []item
	for i := range d.Checks {
		c := &d.Checks[i]
		line := "- " + d.code(c.Command, maxCommand, l) + " → " + outcomeWord(c.outcome, c.Exit, c.HiddenBy, l)
		if c.LastLine != "" {
			line += ", " + d.code(c.LastLine, maxLine, l)
		}
		out = append(out, item{line + " " + turnMark(c.Turn), c.Turn})
	}
	return out
}

func (d *Document) errorItems(l *labels) []item {
	var out []item
	for i := range d.Errors {
		e := &d.Errors[i]
		line := "- " + d.code(e.Command, maxCommand, l) + " → " + fmt.Sprintf(l.exit, e.Exit)
		if e.Line != "" {
			line += ", " + d.code(e.Line, maxLine, l)
		}
		if e.Missing {
			line += ", " + l.missing
		}
		line += " " + turnMark(e.Turn)
		if e.Instead != "" {
			line += "; " + fmt.Sprintf(l.instead, d.code(e.Instead, maxCommand, l)) + " " + turnMark(e.InsteadTurn)
		}
		out = append(out, item{line, e.Turn})
	}
	return out
}

func (d *Document) agentItems(l *labels) []item {
	var out []item
	for _, a := range d.Agents {
		word := l.agentTask
		if a.Report {
			word = l.agentReport
		}
		out = append(out, item{"- " + fmt.Sprintf(word, l.cite(a.Text, 240)) + " " + turnMark(a.Turn), a.Turn})
	}
	return out
}

// code sets text as code; a cut says how much is missing.
func (d *Document) code(s string, n int, l *labels) string {
	s = oneLine(s)
	total := units(s)
	if total <= n {
		return code(s, n)
	}
	kept := strings.TrimRight(cutUnits(s, n), " ")
	return code(kept, n) + fmt.Sprintf(l.cutLine, total-units(kept))
}

func patchWord(o patchOutcome, l *labels) string {
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

func exitWord(cmd string, result *transcript.Message, l *labels) string {
	exit := 0
	if result != nil {
		exit = result.ExitCode
	}
	return outcomeWord(outcomeOfRun(result), exit, hiddenBy(clean(cmd)), l)
}

func outcomeWord(o outcome, exit int, hidden string, l *labels) string {
	switch o {
	case outcomeExit:
		if hidden != "" {
			return fmt.Sprintf(l.hidden, code(hidden, 20))
		}
		return fmt.Sprintf(l.exit, exit)
	case outcomeNoExit:
		return l.noExit
	case outcomeRunning:
		return l.running
	case outcomeTimeout:
		return l.timedOut
	case outcomeAborted:
		return l.aborted
	case outcomeNone:
	}
	return l.noResult
}
