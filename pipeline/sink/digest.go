package sink

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Sizes of the lines that we keep in a file of others.
const (
	maxSessions   = 5
	maxBlockUnits = 1000 // with the markers
	markerUnits   = 90   // of the two markers and their line ends
)

// digest is what is said of the sessions of one place, in a few lines.
type digest struct {
	sessions  []Session // newest first, those that anything was asked in
	words     *words
	zone      *time.Location
	workspace string // root that paths are written from
	more      string // path of the list; empty: none
	link      func(Session) string
	row       rowStyle
}

// rowStyle is how one session is told: its date, state, title and what comes
// next are safe to be set on a line.
type rowStyle func(r row) string

type row struct {
	date, state, title, next, path, id, project string
	words                                       *words
	titled                                      func(most int) string // a shorter title
}

// rowPath ends with the path of the document.
func rowPath(r row) string {
	if r.path == "" {
		return rowID(r)
	}
	return "- " + r.date + " " + r.state + " " + r.title + r.next + r.words.see + "`" + r.path + "`"
}

// rowLink begins with a link, as an index of memory files does, and has less
// than 150 characters.
func rowLink(r row) string {
	const most = 149
	head, end := "- [Codex "+r.date+" ", "]("+r.path+") — "+r.state
	if r.path == "" {
		head, end = "- "+r.date+" "+r.state+" ", r.handle()
	}
	room := max(12, most-units(head)-units(end))
	if units(r.title) > room {
		r.title = r.titled(room)
	}
	s := head + r.title + end
	if units(s)+units(r.next) <= most {
		return s + r.next
	}
	return s
}

// rowProject names the project, for a file that is about all of them.
func rowProject(r row) string {
	s := "- " + r.date + " "
	if r.project != "" {
		s += r.project + " "
	}
	return s + r.state + " " + r.title + r.handle() + r.next
}

// rowID names the session by its id: the document lies elsewhere.
func rowID(r row) string {
	return "- " + r.date + " " + r.state + " " + r.title + r.handle() + r.next
}

// handle is the id that tools take, on a line without a document's path.
func (r row) handle() string { return " (`" + r.id + "`)" }

// body gives the lines for a block, and the threads it tells of, as much as
// fits: fewer words go before fewer sessions. level 0 is the longest; ok is
// false when there is no such level.
func (d digest) body(level int, fits func(string) bool) (text string, threads []string, ok bool) {
	type size struct{ sessions, nexts, title int }
	levels := []size{
		{5, 5, maxLineTitle}, {5, 1, maxLineTitle}, {5, 1, 50}, {4, 1, 50}, {3, 1, 50}, {2, 1, 50}, {1, 1, 50}, {1, 0, 50}, {1, 0, 25},
	}
	for ; level < len(levels); level++ {
		l := levels[level]
		lines := []string{d.words.heading}
		threads = nil
		for i, s := range d.sessions[:min(l.sessions, len(d.sessions))] {
			lines = append(lines, d.tell(s, l.title, i < l.nexts))
			threads = append(threads, s.ThreadID)
		}
		more := "- " + d.words.ask
		if d.more != "" {
			more = "- " + d.words.more + "`" + d.more + "`" + d.words.and + d.words.ask
		}
		text = strings.Join(append(lines, more), "\n")
		if fits(text) {
			return text, threads, true
		}
	}
	return "", nil, false
}

func (d digest) tell(s Session, title int, next bool) string {
	r := row{
		date: s.Updated.In(d.zone).Format(time.DateOnly), state: d.words.marked(&s), words: d.words,
		id: safeID(s.ThreadID), project: line(baseName(s.Workspace), "", 30),
	}
	r.titled = func(most int) string { return titled(&s, d.rootOf(s), d.words, most) }
	r.title = r.titled(title)
	if s.Workspace == "" {
		r.project = ""
	}
	if d.link != nil {
		r.path = d.link(s)
	}
	switch {
	case !next:
	case s.Next != "":
		r.next = d.words.next + line(s.Next, d.rootOf(s), maxLineText)
	case s.Open != "":
		r.next = d.words.open + line(s.Open, d.rootOf(s), maxLineText)
	}
	return d.row(r)
}

// rootOf is what paths in a session's texts are written from.
func (d digest) rootOf(s Session) string {
	if d.workspace != "" {
		return d.workspace
	}
	return s.Workspace
}

// linkBelow gives the path of a session's document from dir, both below root;
// empty if it lies elsewhere.
func linkBelow(root, dir string) func(Session) string {
	return func(s Session) string {
		if s.Path == "" {
			return ""
		}
		rel, err := filepath.Rel(filepath.Join(root, filepath.FromSlash(dir)), filepath.FromSlash(s.Path))
		if err != nil || !filepath.IsLocal(rel) || !onlyPrintable(rel) {
			return ""
		}
		return path.Clean(filepath.ToSlash(rel))
	}
}

// asked leaves out the sessions in which nothing was asked.
func asked(sessions []Session) []Session {
	var out []Session
	for _, s := range sessions {
		if s.State != transcript.StateEmpty {
			out = append(out, s)
		}
	}
	return out
}

// safeID is the short id of a thread as far as it is one.
func safeID(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return -1
	}, shortID(id))
}
