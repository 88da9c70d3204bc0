package memory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// noteMax is one line of a summary's text, in units.
const noteMax = 600

var (
	// noteMark is what makes a heading or an item of a line: here each is one.
	noteMark = pattern.Lazy(`^(?:#{1,6}[ \t]+|>[ \t]*|[-*+•][ \t]+|\[[ xX]\][ \t]+)+`)
	// noteRule is a line that only separates: a rule, a fence, an underline.
	noteRule = pattern.Lazy("^(?:[-=_*~ \t]+|```+.*|~~~+.*)$")
)

// textItems lists the lines of a summary's own words. Each is quoted: so none
// can begin anything, and what is open in one ends with it.
func (d *Document) textItems(l *labels) []item {
	var out []item
	for _, line := range strings.Split(d.summary.Text, "\n") {
		line = strings.TrimSpace(line)
		if noteRule().MatchString(line) {
			continue
		}
		if line = noteMark().ReplaceAllString(line, ""); line != "" {
			out = append(out, item{"- " + l.cite(line, noteMax), 0})
		}
	}
	return out
}

// notePart is the notes of one kind.
type notePart struct {
	word  string
	notes []Note
	said  bool // they are somebody's words
}

// summaryParts lists the notes of a summary by kind, those that are needed most
// first. Rules that the document has from the person's own messages aren't said
// twice.
func (d *Document) summaryParts(l *labels) []notePart {
	s := d.summary
	var rules []Note
	for _, n := range s.Rules {
		known := slices.ContainsFunc(d.Rules, func(q Quote) bool {
			return strings.Contains(strings.ToLower(oneLine(q.Text)), strings.ToLower(oneLine(n.Text)))
		})
		if !known {
			rules = append(rules, n)
		}
	}
	var out []notePart
	for _, p := range [...]notePart{
		{l.next, s.Next, false}, {l.todo, s.Open, false}, {l.decisions, s.Decisions, false}, {l.rule, rules, true},
		{l.tried, s.Tried, false}, {l.learned, s.Learned, false}, {l.topic, s.Topics, false},
	} {
		if len(p.notes) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// noteLine is a note on one line, with the turns it is from.
func (d *Document) noteLine(l *labels, n Note, said bool) string {
	line := l.clip(n.Text, noteMax)
	if said {
		line = l.cite(n.Text, noteMax)
	}
	switch {
	case n.Turn > 0 && n.To > n.Turn:
		line += " [" + turnRange(n.Turn, n.To) + "]"
	case n.Turn > 0:
		line += " " + turnMark(n.Turn)
	}
	return line
}

func (d *Document) notesHeading(l *labels) string {
	by := inline(d.summary.Model, 60)
	if by == "" {
		by = l.agent
	}
	return fmt.Sprintf(l.notes, by)
}

// notesLead says of a summary that is behind how far it goes; empty of another.
func (d *Document) notesLead(l *labels) string {
	if d.summary.Behind == 0 {
		return ""
	}
	return "**" + count(l.notesBehind, d.summary.Behind, turnMark(d.summary.Turn)) + "**"
}

// writtenBy says in one line whose words a summary is and how far it goes.
func (d *Document) writtenBy() string {
	by := inline(d.summary.Model, 60)
	if by == "" {
		by = "agent"
	}
	if d.summary.Text != "" {
		by += " (an agent's own words)"
	}
	if d.summary.Turn > 0 {
		by += ", through t" + strconv.Itoa(d.summary.Turn)
	}
	if d.summary.Behind > 0 {
		by += ", behind"
	}
	return by
}

// Summed gives the summary as some lines below whose it is and how far it goes,
// each item whole; empty if there is none.
func (d *Document) Summed() string {
	if d.summary == nil {
		return ""
	}
	words := labelsOf(d.lang)
	l := &words
	var s strings.Builder
	s.WriteString("**" + d.notesHeading(l) + "** (" + d.writtenBy() + ")\n")
	if lead := d.notesLead(l); lead != "" {
		s.WriteString(lead + "\n")
	}
	for _, it := range append(d.summaryItems(l), d.textItems(l)...) {
		s.WriteString(it.line + "\n")
	}
	return s.String()
}

// Notes gives the summary alone, with what is to be known of it: its own words
// quoted whole, or all its parts; nil if there is none.
func (d *Document) Notes() []byte {
	if d.summary == nil {
		return nil
	}
	words := labelsOf(d.lang)
	l := &words
	id := id8(d.Thread.ID)
	var s strings.Builder
	s.WriteString("# " + fmt.Sprintf(l.docTitle, inline(d.Title, maxTitle)) + "\n\n> " + l.frame + "\n")
	s.WriteString("> " + fmt.Sprintf(l.fetch, "`[tN]`", id, id) + "\n")
	s.WriteString("\n## " + d.notesHeading(l) + "\n\n")
	if lead := d.notesLead(l); lead != "" {
		s.WriteString(lead + "\n\n")
	}
	if d.summary.Text != "" {
		s.WriteString(quote(d.summary.Text) + "\n")
	}
	for _, it := range d.summaryItems(l) {
		s.WriteString(it.line + "\n")
	}
	return []byte(s.String())
}
