package search

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const (
	// maxQuestion is how much of a question is read, in bytes. Who pastes more
	// has said what he looks for by then.
	maxQuestion = 8 << 10
	// maxTyped is how long a question is in which quotes, minus signs and filters
	// mean something: a longer one, and one of several lines, was pasted.
	maxTyped = 1000
	// maxTerms bounds the work that a question makes.
	maxTerms = 64
)

// termKind tells how a term is to be found.
type termKind uint8

const (
	termText   termKind = iota + 1 // its words, anywhere
	termPhrase                     // as it stands
	termPrefix                     // words that begin so
)

// term is one thing that is asked for.
type term struct {
	kind termKind
	text string
}

// filter is what a question itself says of where to look. Values of one kind
// are alternatives.
type filter struct {
	paths      []string
	workspaces []string
	roles      []transcript.Role
	tools      []string
	models     []string
	sessions   []string
	since      time.Time
}

// question is a query as it was understood.
type question struct {
	terms   []term
	without []term
	filter  filter
	pasted  bool // nothing in it means more than itself
	notes   []string
}

// note adds a sentence about what was read otherwise than typed, once.
func (q *question) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	for _, n := range q.notes {
		if n == s {
			return
		}
	}
	q.notes = append(q.notes, s)
}

// parse reads a question as people type it. There is none that it refuses:
//
//	word           "words as they stand"    begin*         -without
//	path:x         workspace:x              role:user      tool:exec
//	since:7d       model:x                  session:x
//
// What doesn't look like that is text.
func parse(s string, now time.Time) question {
	var q question
	if len(s) > maxQuestion {
		s = s[:maxQuestion]
		q.note("the question is long; its first %d bytes were looked for", maxQuestion)
	}
	s = clean(s)
	typed := len(s) <= maxTyped && !strings.Contains(strings.TrimSpace(s), "\n")
	q.pasted = !typed
	for s = skipSpace(s); s != ""; s = skipSpace(s) {
		if len(q.terms)+len(q.without) >= maxTerms {
			q.note("the question has more than %d words; the first ones were looked for", maxTerms)
			break
		}
		if !typed {
			var w string
			w, s = cutWord(s, false)
			q.add(term{termText, w})
			continue
		}
		s = q.take(s, now)
	}
	if len(q.terms) == 0 && len(q.without) > 0 && !q.filter.any() {
		for _, t := range q.without {
			q.note("-%s alone leaves nothing to look for; it was searched for as text", t.text)
		}
		q.terms, q.without = q.without, nil
	}
	return q
}

// clean makes valid text of any bytes: what is no character and controls are
// spaces.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == utf8.RuneError || unicode.IsControl(r) || r == '\ufeff':
			return ' '
		}
		return r
	}, s)
}

func skipSpace(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }

// take reads one term or filter off the front of s and gives the rest.
func (q *question) take(s string, now time.Time) string {
	if len(s) > 1 && s[0] == '-' {
		if r, _ := utf8.DecodeRuneInString(s[1:]); unicode.IsLetter(r) || unicode.IsDigit(r) || closing(r) != "" {
			t, rest, ok := takeTerm(s[1:])
			if key, _, found := filterKey(s[1:]); found {
				q.note("-%s: can't be asked for; it was searched for as text", key)
				q.add(t)
				return rest
			}
			if ok {
				q.without = append(q.without, t)
			}
			return rest
		}
	}
	if key, value, found := filterKey(s); found {
		v, rest, quoted := cutValue(value)
		if why := q.filter.set(key, v, now); why != "" {
			q.note("%s:%s %s; it was searched for as text", key, v, why)
			kind := termText
			if quoted {
				kind = termPhrase
			}
			q.add(term{termText, key})
			q.add(term{kind, v})
		}
		return rest
	}
	t, rest, ok := takeTerm(s)
	switch {
	case !ok:
	case t.kind == termText && t.text == "AND":
		// All words are looked for anyhow.
	case t.kind == termText && t.text == "OR":
		q.note("OR is no operator here: items with all words come first, then those with some of them")
	default:
		q.add(t)
	}
	return rest
}

func (q *question) add(t term) {
	if t.text != "" {
		q.terms = append(q.terms, t)
	}
}

// closing gives the marks that close what r opens; empty if it opens nothing.
func closing(r rune) string {
	switch r {
	case '"':
		return `"`
	case '“':
		return `”"`
	case '„':
		return `“”"`
	case '「':
		return "」"
	case '『':
		return "』"
	case '«':
		return "»"
	}
	return ""
}

// takeQuoted reads a quotation; not ok if s doesn't begin with one that ends.
func takeQuoted(s string) (inside, rest string, ok bool) {
	r, size := utf8.DecodeRuneInString(s)
	marks := closing(r)
	if marks == "" {
		return "", s, false
	}
	inside = s[size:]
	end := strings.IndexAny(inside, marks)
	if end < 0 {
		return "", s, false
	}
	_, last := utf8.DecodeRuneInString(inside[end:])
	return inside[:end], inside[end+last:], true
}

// takeTerm reads a quotation, a beginning or a word; not ok if there is nothing
// in it.
func takeTerm(s string) (t term, rest string, ok bool) {
	if inside, rest, ok := takeQuoted(s); ok {
		inside = strings.Join(strings.Fields(inside), " ")
		return term{termPhrase, inside}, rest, inside != ""
	}
	w, rest := cutWord(s, true)
	if begin := strings.TrimRight(w, "*"); begin != w && strings.IndexFunc(begin, isWord) >= 0 {
		return term{termPrefix, begin}, rest, true
	}
	return term{termText, w}, rest, w != ""
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// cutWord cuts at the first space, and if quotes mean something at the first
// that opens; one that stands at the front and doesn't end is passed over.
func cutWord(s string, quotes bool) (w, rest string) {
	for i, r := range s {
		if unicode.IsSpace(r) {
			return s[:i], s[i:]
		}
		if quotes && closing(r) != "" {
			if i == 0 {
				return "", s[utf8.RuneLen(r):]
			}
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// filterKey tells whether s begins with the name of a filter, a colon and a
// value, and gives name and value onwards.
func filterKey(s string) (key, value string, ok bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return !('a' <= r|0x20 && r|0x20 <= 'z') })
	if i <= 0 {
		return "", "", false
	}
	key = strings.ToLower(s[:i])
	r, size := utf8.DecodeRuneInString(s[i:])
	if r != ':' && r != '：' {
		return "", "", false
	}
	switch key {
	case "path", "workspace", "role", "tool", "since", "model", "session":
	default:
		return "", "", false
	}
	value = s[i+size:]
	if value == "" || unicode.IsSpace(firstRune(value)) {
		return "", "", false // "role: the user" is text
	}
	return key, value, true
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func cutValue(s string) (v, rest string, quoted bool) {
	if v, rest, ok := takeQuoted(s); ok {
		return strings.TrimSpace(v), rest, true
	}
	if closing(firstRune(s)) != "" {
		s = s[utf8.RuneLen(firstRune(s)):]
	}
	v, rest = cutWord(s, false)
	return v, rest, false
}

func (f *filter) any() bool {
	return len(f.paths)+len(f.workspaces)+len(f.roles)+len(f.tools)+len(f.models)+len(f.sessions) > 0 || !f.since.IsZero()
}

// set takes a filter in, or says why its value means nothing.
func (f *filter) set(key, v string, now time.Time) (why string) {
	if v == "" {
		return "has no value"
	}
	switch key {
	case "path":
		f.paths = append(f.paths, v)
	case "workspace":
		f.workspaces = append(f.workspaces, v)
	case "tool":
		f.tools = append(f.tools, v)
	case "model":
		f.models = append(f.models, v)
	case "session":
		f.sessions = append(f.sessions, v)
	case "role":
		roles := rolesNamed(v)
		if roles == nil {
			return "is no role (user, assistant, tool, call, output, agent, compaction)"
		}
		f.roles = append(f.roles, roles...)
	case "since":
		t, ok := instant(v, now)
		if !ok {
			return "is no time that is understood (7d, 12h, 2026-11-01, or RFC 3339)"
		}
		if t.After(f.since) {
			f.since = t
		}
	}
	return ""
}

// rolesNamed gives the roles that people mean; nil if none.
func rolesNamed(s string) []transcript.Role {
	switch strings.ToLower(s) {
	case "user", "me":
		return []transcript.Role{transcript.RoleUser}
	case "assistant":
		return []transcript.Role{transcript.RoleAssistant}
	case "tool":
		return []transcript.Role{transcript.RoleToolCall, transcript.RoleToolResult}
	case "call":
		return []transcript.Role{transcript.RoleToolCall}
	case "output", "result":
		return []transcript.Role{transcript.RoleToolResult}
	case "summary":
		return []transcript.Role{transcript.RoleCompaction}
	}
	var r transcript.Role
	if r.UnmarshalText([]byte(strings.ToLower(s))) != nil {
		return nil
	}
	return []transcript.Role{r}
}

// instant reads an age or a time. A date begins where now is.
func instant(s string, now time.Time) (time.Time, bool) {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(s) {
	case "today":
		return day, true
	case "yesterday":
		return day.AddDate(0, 0, -1), true
	}
	if t, err := time.Parse(time.RFC3339, strings.ToUpper(s)); err == nil {
		return t, true
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "2006-01"} {
		if t, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return t, true
		}
	}
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > 100_000 {
		return time.Time{}, false
	}
	switch strings.ToLower(s[len(digits):]) {
	case "m", "min":
		return now.Add(-time.Duration(n) * time.Minute), true
	case "h":
		return now.Add(-time.Duration(n) * time.Hour), true
	case "d":
		return now.AddDate(0, 0, -n), true
	case "w":
		return now.AddDate(0, 0, -7*n), true
	case "y":
		return now.AddDate(-n, 0, 0), true
	}
	return time.Time{}, false
}
