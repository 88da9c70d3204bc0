package memory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// noteMax is one line of a summary's text, in units.
const noteMax = 600

var (
	// noteMark is what makes a heading or an item of a line: here each is one.
	noteMark = regexp.MustCompile(`^(?:#{1,6}[ \t]+|>[ \t]*|[-*+•][ \t]+|\[[ xX]\][ \t]+)+`)
	// noteRule is a line that only separates: a rule, a fence, an underline.
	noteRule = regexp.MustCompile("^(?:[-=_*~ \t]+|```+.*|~~~+.*)$")
)

// textItems lists the lines of a summary's own words. Each is quoted: so none
// can begin anything, and what is open in one ends with it.
func (d *Document) textItems(l *labels) []item {
	var out []item
	for _, line := range strings.Split(d.summary.Text, "\n") {
		line = strings.TrimSpace(line)
		if noteRule.MatchString(line) {
			continue
		}
		if line = noteMark.ReplaceAllString(line, ""); line != "" {
			out = append(out, item{"- " + l.cite(line, noteMax), 0})
		}
	}
	return out
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
	by += " (an agent's own words)"
	if d.summary.Turn > 0 {
		by += ", through t" + strconv.Itoa(d.summary.Turn)
	}
	if d.summary.Behind > 0 {
		by += ", behind"
	}
	return by
}

// Notes gives the text of the summary alone, quoted whole, with what is to be
// known of it; nil if there is none with a text of its own.
func (d *Document) Notes() []byte {
	if d.summary == nil || d.summary.Text == "" {
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
	s.WriteString(quote(d.summary.Text) + "\n")
	return []byte(s.String())
}
