package memory

import (
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// roomy is where the explaining lines are written in full.
const roomy = 1500

// head is the title, the frame, and how the thread stands: what must be known
// before anything else.
func (d *Document) head(l *labels, room int) string {
	id := id8(d.Thread.ID)
	title, said, share := inline(d.Title, maxTitle), maxNext, headShare
	if room < roomy {
		title, said, share = inline(d.Title, 60), 120, headShareBrief
	}
	var s strings.Builder
	s.WriteString("# " + fmt.Sprintf(l.docTitle, title) + "\n\n> " + l.frame + "\n")
	if room >= roomy {
		s.WriteString("> " + fmt.Sprintf(l.fetch, "`[tN]`", id, id) + "\n")
	}
	s.WriteString("\n## " + l.now + "\n\n" + d.stateLine(l) + "\n")
	used := units(s.String())
	for _, line := range d.nowLines(l, said) {
		line = "- " + line + "\n"
		if used += units(line); used > room*share/1000 {
			break
		}
		s.WriteString(line)
	}
	return s.String()
}

// What the head may take of a document, per mille.
const (
	headShare      = 450
	headShareBrief = 650
)

func (d *Document) stateLine(l *labels) string {
	s := "- **" + fmt.Sprintf(l.state, d.stateWord(l)) + "**"
	switch {
	case d.Standing != 0 && d.Word.Text != "":
		s += " " + fmt.Sprintf(l.userWord, turnMark(d.Word.Turn)) + l.colon + l.cite(d.Word.Text, 160)
	case d.Standing != 0:
		s += " " + fmt.Sprintf(l.modelWord, inline(d.summary.Model, 60))
	}
	if !d.Thread.Updated.IsZero() {
		s += " " + fmt.Sprintf(l.since, d.Thread.Updated.In(d.loc).Format("2006-01-02 15:04 (-07:00)"))
	}
	if d.Thread.Turns > 0 {
		s += " " + turnMark(d.Thread.Turns)
	}
	if d.Error != "" {
		s += l.colon + d.code(d.show(d.Error), 240, l)
	}
	return s
}

// stateWord is the state as people read it.
func (d *Document) stateWord(l *labels) string {
	switch d.Standing {
	case StandingDone:
		return l.done
	case StandingBlocked:
		return l.blocked
	}
	if w, ok := l.states[d.State]; ok {
		return w
	}
	return d.State.String()
}

// nowLines are what stands below the state, the most telling first.
func (d *Document) nowLines(l *labels, said int) []string {
	var out []string
	n, before := d.Next, d.Next.Turn < d.Request.Turn
	switch {
	case n.Text == "" && d.summary != nil && len(d.summary.Next) > 0 && d.summary.Behind == 0:
		note := d.summary.Next[0]
		line := l.next + " (" + fmt.Sprintf(l.modelWord, inline(d.summary.Model, 60)) + ")" + l.colon + l.clip(note.Text, said)
		if note.Turn > 0 {
			line += " " + turnMark(note.Turn)
		}
		out = append(out, line)
	case n.Text == "" || before: // the request may have changed what comes next
	case n.Offer:
		out = append(out, fmt.Sprintf(l.offer, turnMark(n.Turn), l.cite(n.Text, said)))
	default:
		out = append(out, fmt.Sprintf(l.nextStep, turnMark(n.Turn), l.clip(n.Text, said)))
		if n.Also != "" {
			out = append(out, fmt.Sprintf(l.offer, turnMark(n.Turn), l.cite(n.Also, said)))
		}
	}
	if q := d.Question; q.Text != "" {
		out = append(out, fmt.Sprintf(l.question, turnMark(q.Turn), l.cite(q.Text, said)))
	}
	if d.Accepted > 0 {
		out = append(out, fmt.Sprintf(l.accepted, turnMark(d.Accepted)))
	}
	if open := d.openParts(l); len(open) > 0 {
		out = append(out, fmt.Sprintf(l.openNow, strings.Join(open, "; ")))
	}
	if n := len(d.Pushed); n > 0 {
		out = append(out, count(l.pushed, n, turns(d.Pushed)))
	}
	if marks := d.marks(l); len(marks) > 0 {
		out = append(out, strings.Join(marks, "; "))
	}
	if said < maxNext {
		return out
	}
	if len(d.Uncommitted) > 0 && d.Thread.GitBranch+d.Thread.GitCommit != "" {
		out = append(out, fmt.Sprintf(l.uncommitted, turns(d.Uncommitted)))
	}
	if n.Offer && before && d.Request.Turn > 0 {
		out = append(out, fmt.Sprintf(l.offerBefore, turnMark(n.Turn), l.cite(n.Text, said)))
	}
	return out
}

// turns marks a few turns one by one, many by the first and the last.
func turns(all []int) string {
	if n := len(all); n > 5 {
		return "[" + turnRange(all[0], all[n-1]) + "]"
	}
	return turnMark(all...)
}

// marks say what is special about a thread.
func (d *Document) marks(l *labels) []string {
	var out []string
	t := &d.Thread
	if t.Subagent && t.Parent != "" {
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf(l.subagent, inline(t.Nickname, 40), code(t.Parent, 60))), " "))
	}
	if t.ForkedFrom != "" {
		out = append(out, fmt.Sprintf(l.forked, code(t.ForkedFrom, 60)))
	}
	if t.BaseMissing != "" {
		out = append(out, fmt.Sprintf(l.baseMissing, code(t.BaseMissing, 60)))
	}
	if t.Rollbacks > 0 {
		out = append(out, count(l.rollbacks, t.Rollbacks))
	}
	if t.Archived {
		out = append(out, l.archived)
	}
	if t.Gone {
		out = append(out, l.gone)
	} else if d.Removed > 0 {
		out = append(out, count(l.removed, d.Removed))
	}
	return out
}

// openParts tells what isn't done: patches that failed, the plan, the newest
// check.
func (d *Document) openParts(l *labels) []string {
	var parts, failed []string
	for i := range d.Files {
		if f := &d.Files[i]; f.Failed > 0 {
			failed = append(failed, code(f.Path, 80)+" "+turnMark(f.Turns[len(f.Turns)-1]))
		}
	}
	if n := len(failed); n > 0 {
		text := strings.Join(failed[:min(3, n)], ", ")
		if n > 3 {
			text += " " + fmt.Sprintf(l.more, n-3)
		}
		parts = append(parts, fmt.Sprintf(l.openPatch, text))
	}
	if len(d.Checks) > 0 {
		if c := &d.Checks[0]; c.HasExit && c.Exit != 0 && c.HiddenBy == "" {
			parts = append(parts, fmt.Sprintf(l.openCheck, d.code(c.Command, 80, l), turnMark(c.Turn)))
		}
	}
	if n := openSteps(d.Plan); n > 0 {
		for _, s := range d.Plan {
			if s.Status != "completed" {
				parts = append(parts, fmt.Sprintf(l.openPlan, n, l.clip(s.Step, 80))+" "+turnMark(d.PlanOf))
				break
			}
		}
	}
	return parts
}

// unansweredRequest tells that there is a request without an answer.
func (d *Document) unansweredRequest() bool {
	return d.State != transcript.StateAnswered && d.Standing != StandingDone && strings.TrimSpace(d.Request.Text) != ""
}
