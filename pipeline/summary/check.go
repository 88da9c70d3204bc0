package summary

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

var (
	comment  = pattern.Lazy(`(?s)<!--.*?-->`)
	fence    = pattern.Lazy("`{3,}[a-zA-Z0-9_+-]*|~{3,}")
	imported = pattern.Lazy("(^|[\\s\"'(\\[{<>,;:*`|])@([~./\\\\]|[A-Za-z0-9_-]+[./\\\\~]|[A-Z]{2,}\\b)")
	closer   = strings.NewReplacer("<!--", "", "-->", "")
)

// plain makes a text of a model fit to be kept: one line, nothing that can't be
// seen, no secret, nothing that speaks as a program or this one, no fence and
// nothing that an agent would import.
func plain(s string) string {
	for range 4 { // what is taken out may join what stood around it
		before := s
		s = defuse.Visible(s)
		s, _ = loop.Text(transcript.RoleUser, s)
		s = closer.Replace(comment().ReplaceAllString(s, " "))
		s = fence().ReplaceAllString(s, " ")
		s = oneLine(s)
		s = defuse.Marks(redact.Text(s))
		s = untag(imported().ReplaceAllString(s, "$1$2"))
		if s == before {
			break
		}
	}
	return s
}

// titleUnits bounds a title.
const titleUnits = 120

// checked gives d as it may be kept: each text plain, turns and paths those of
// the session, rules those that the person did set. Items of which nothing is
// left are dropped, and so is what the prompt's example says: it is of no session.
func checked(d Doc, k *known) Doc {
	d = d.clone()
	sample := sampled()
	text := func(s string) string {
		if sample[letters(s)] {
			return ""
		}
		return plain(k.paths(plain(s)))
	}
	d.Title, d.Goal = cutUnits(text(d.Title), titleUnits), text(d.Goal)
	for i := range d.Topics {
		d.Topics[i].Turns = k.span(d.Topics[i].Turns)
	}
	for i := range d.Constraints {
		if !k.quoted(plain(d.Constraints[i].Quote)) {
			d.Constraints[i].Quote = ""
		}
	}
	for _, l := range d.lists() {
		ok := make([]bool, len(l.parts))
		seen := map[string]bool{}
		for i, p := range l.parts {
			for _, t := range p.texts {
				if *t = text(*t); letters(*t) == "" {
					*t = ""
				}
			}
			if p.turn != nil {
				*p.turn = k.turn(*p.turn)
			}
			word := letters(*p.texts[0])
			ok[i] = word != "" && !seen[word]
			seen[word] = true
		}
		l.keep(ok)
	}
	return d
}

// sampled are the texts of the prompt's example by their letters, but for its
// rules: those are held against what the person said. What is shorter than three
// words may well be said of a session, too.
func sampled() map[string]bool {
	d, _, err := decode(example)
	if err != nil {
		panic("bug: the example can't be read: " + err.Error())
	}
	d.Constraints = nil
	out := map[string]bool{letters(d.Title): true, letters(d.Goal): true}
	for _, l := range d.lists() {
		for _, p := range l.parts {
			for _, t := range p.texts {
				if len(strings.Fields(*t)) > 2 {
					out[letters(*t)] = true
				}
			}
		}
	}
	return out
}

// cleaned gives d with each text plain.
func cleaned(d Doc) Doc {
	d = d.clone()
	d.Title, d.Goal = plain(d.Title), plain(d.Goal)
	for _, l := range d.lists() {
		for _, p := range l.parts {
			for _, t := range p.texts {
				*t = plain(*t)
			}
		}
	}
	return d
}

// cutUnits cuts s to most UTF-16 units, at a word where there is one.
func cutUnits(s string, most int) string {
	if units(s) <= most {
		return s
	}
	n := 1 // the dots
	for i, r := range s {
		if n += units(string(r)); n > most {
			s = s[:i]
			break
		}
	}
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ") + "…"
}
