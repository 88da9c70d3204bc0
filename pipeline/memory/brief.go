package memory

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Digest is a thread in a few lines, for files that hold many. Each text is
// one line in the language of the person, redacted, not escaped, and without
// absolute paths; empty where there is nothing to say.
type Digest struct {
	Lang     string   // en, zh, ja, de, …
	Standing string   // done or blocked, if somebody said so
	Asked    string   // the request to serve, where the title is an older one's words
	Did      []string // newest first
	Result   string   // what the last answer, else the newest check says
	Open     string
	Next     string // as the agent named it
}

// Sizes of a digest.
const (
	maxDid      = 4
	maxDidUnits = 120 // UTF-16 units of a line of Did
	maxSaid     = 200 // of the other texts
)

// Brief makes the digest of a document.
func Brief(d Document) Digest {
	words := labelsOf(d.lang)
	l := &words
	g := Digest{Lang: d.lang.String(), Standing: d.Standing.String(), Asked: d.askedLast(), Did: d.did(l)}
	g.Result = d.result(l)
	g.Open = d.openWork(l)
	if d.Standing != StandingDone && (!d.Next.Offer || d.Accepted > 0) && d.Next.Turn >= d.Request.Turn {
		g.Next = d.local(d.Next.Text)
	}
	for _, s := range [...]*string{&g.Asked, &g.Result, &g.Open, &g.Next} {
		*s = clipUnits(marked().ReplaceAllString(oneLine(*s), ""), maxSaid)
	}
	return g
}

// marked finds the turns that facts are from: there the document tells them.
var marked = pattern.Lazy(` \[t\d+(?:, t\d+)*\]`)

// askedLast gives the request to serve, if the thread has no name but the words
// of an older one.
func (d *Document) askedLast() string {
	asked, title := oneLine(d.Request.Text), strings.TrimSuffix(oneLine(d.Thread.Title), "…")
	if strings.HasPrefix(asked, title) {
		return ""
	}
	for i := range d.said {
		if m := &d.said[i]; m.Role == transcript.RoleUser && m.ThreadTurn < d.Request.Turn && strings.HasPrefix(oneLine(m.Text), title) {
			return d.local(asked)
		}
	}
	return ""
}

// did names the files changed, newest first, and what was committed.
func (d *Document) did(l *labels) []string {
	var out []string
	files := newest(d.Files)
	for i := range files {
		f := &files[i]
		if f.Patches == 0 {
			continue
		}
		if len(out) == maxDid {
			out[maxDid-1] += ", " + strings.TrimSpace(fmt.Sprintf(l.more, len(files)-maxDid))
			break
		}
		out = append(out, clipUnits(d.local(code(f.Path, 80))+f.figures(l), maxDidUnits))
	}
	return out
}

// result is what the last answer says first, if it is an answer to the
// request; else how the newest check ended.
func (d *Document) result(l *labels) string {
	if d.State == transcript.StateFailed && d.Error != "" {
		return d.local(d.Error)
	}
	if d.State == transcript.StateAnswered && d.Answer.Turn >= d.Request.Turn {
		if s := firstWords(d.Answer.Text); s != "" {
			return d.local(s)
		}
	}
	if len(d.Checks) > 0 {
		return d.local(strings.TrimPrefix(d.checkItems(l)[0].line, "- "))
	}
	return ""
}

// firstWords returns the first lines of prose of an answer.
func firstWords(answer string) string {
	var out []string
	n := 0
	for _, t := range prose(answer) {
		if strings.HasPrefix(t, "#") && len(out) == 0 {
			continue
		}
		if t = bare(t); t == "" {
			if n >= maxSaid/4 {
				break
			}
			continue
		}
		out = append(out, t)
		if n += units(t); n >= maxSaid {
			break
		}
	}
	return strings.Join(out, " ")
}

// openWork tells what isn't done, the request first.
func (d *Document) openWork(l *labels) string {
	var parts []string
	if d.unansweredRequest() {
		parts = append(parts, fmt.Sprintf(l.openRequest, clipUnits(oneLine(d.Request.Text), maxSaid/2)))
	}
	return d.local(strings.Join(append(parts, d.openParts(l)...), "; "))
}

// rootsPattern finds absolute paths of Unix and Windows, home folders and file
// URLs. A route like /api/users is none: a path begins at a folder that
// systems have.
var rootsPattern = pattern.Lazy(`(?i)(^|[^\w.~/\\-])(?:file://)?` +
	`(?:~[\w.-]*/|/(?:home|users|root|tmp|var|etc|opt|usr|private|mnt|media|srv|volumes|workspaces?|nix|library|applications)/|[a-z]:[\\/]+|\\\\[\w.?-]+\\)` +
	"[^\\s\"'`<>|*?:;,()\\[\\]{}，。；：、（）《》“”]*")

// local takes the working folder off the paths in a text and leaves the last
// name of other absolute ones.
func (d *Document) local(s string) string {
	for _, cwd := range [...]string{d.Thread.Cwd, d.Thread.Workspace} {
		s = withoutFolder(s, strings.ReplaceAll(cwd, `\`, "/"))
		s = withoutFolder(s, strings.ReplaceAll(cwd, "/", `\`))
	}
	return rootsPattern().ReplaceAllStringFunc(s, func(m string) string {
		lead := ""
		if sub := rootsPattern().FindStringSubmatch(m); len(sub) > 1 {
			lead = sub[1]
		}
		path := strings.TrimRight(m[len(lead):], `/\`)
		return lead + "…/" + path[strings.LastIndexAny(path, `/\`)+1:]
	})
}

// withoutFolder takes a folder off the paths below it; the folder itself
// becomes a dot.
func withoutFolder(s, folder string) string {
	folder = strings.TrimRight(folder, `/\`)
	if len(folder) < 2 || !strings.Contains(s, folder) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, folder)
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		rest := s[i+len(folder):]
		next, n := utf8.DecodeRuneInString(rest)
		switch {
		case (next == '/' || next == '\\') && len(rest) > n && rest[n] > ' ':
			rest = rest[n:]
		case unicode.IsLetter(next) || unicode.IsDigit(next) || next == '-' || next == '_':
			b.WriteString(folder) // another folder, of a longer name
		default:
			b.WriteString(".")
		}
		s = rest
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
