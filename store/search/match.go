package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// minBegin is how many characters a word of letters has at least for longer
	// words with the same beginning to be taken as well.
	minBegin = 4
	// minPart is the same of the last part of a name.
	minPart = 3
	// maxClauses bounds the words and pairs that are looked for one by one.
	maxClauses = 28
	// fewHave is how many items have a word at least for its other forms not to be
	// looked for: with few letters in common many words are looked through.
	fewHave = 50
	// maxRun is how many pairs of characters a word has at most: a longer run
	// without spaces is a sentence.
	maxRun = 5
)

// clause is one thing that an item may hold: a word, or a pair of characters of
// a script without spaces.
type clause struct {
	parts []string // all of these
	whole string   // or this
	begin bool     // longer words with the beginning of the last part too
	wide  bool     // these in any case, not only where few have the word itself
	stem  string   // or words that begin so; empty: none
	must  bool     // typed so that nothing without it answers
	stop  bool     // a word that questions are made of
}

// matcher is a question in the words of the index.
type matcher struct {
	clauses []clause // each may stand alone
	all     []clause // the same, where a run without spaces stands as a whole
	without []clause
	phrases []string // folded: as they must stand in the text
	never   []string // folded: phrases that mustn't
	runs    []string // folded: words of scripts without spaces, as they were typed
	shown   []string // what a snippet shows
}

// newMatcher cuts a question into the words of the index.
func newMatcher(q *question) matcher {
	var m matcher
	for _, t := range q.terms {
		all, each := clausesOf(t)
		m.all, m.clauses = append(m.all, all...), append(m.clauses, each...)
		if t.kind == termPhrase && len(all) > 0 {
			m.phrases = append(m.phrases, asText(t.text))
			m.shown = append(m.shown, t.text)
			continue
		}
		for _, w := range words(t.text) {
			m.shown = append(m.shown, w.typed)
			if n := len(w.parts); denseWord(w) && n > 1 && n <= maxRun {
				m.runs = append(m.runs, asText(w.typed))
			}
		}
	}
	for _, t := range q.without {
		all, _ := clausesOf(t)
		if t.kind == termPhrase && len(all) > 0 {
			m.never = append(m.never, asText(t.text))
			continue
		}
		for i := range all {
			m.without = append(m.without, all[i].strict())
		}
	}
	m.clauses, m.all = unique(m.clauses), unique(m.all)
	m.unstop()
	m.shown = notable(m.shown)
	return m
}

// unstop takes the words that questions are made of for what they are only if
// there are others.
func (m *matcher) unstop() {
	if slices.ContainsFunc(m.clauses, func(c clause) bool { return !c.stop }) {
		return
	}
	for i := range m.clauses {
		m.clauses[i].stop = false
	}
	for i := range m.all {
		m.all[i].stop = false
	}
}

// clausesOf gives the clauses of a term, and the same with the runs of scripts
// without spaces taken apart.
func clausesOf(t term) (all, each []clause) {
	ws := words(t.text)
	for i, w := range ws {
		c := clause{parts: w.parts, whole: w.whole, begin: w.begin, wide: w.begin, must: t.kind == termPhrase}
		dense := denseWord(w)
		switch last := w.parts[len(w.parts)-1]; {
		case t.kind == termPrefix && i == len(ws)-1:
			c.begin, c.wide, c.must = true, true, true
		case t.kind != termText || dense:
		case len(w.parts) > 1:
			c.begin = len(last) >= minPart && last[0] > '9'
		default:
			c.stop = stopWord(last)
			c.stem = stem(last)
		}
		if dense && t.kind == termText && len(w.parts) > 1 {
			c.stop = true
			for _, p := range w.parts {
				e := clause{parts: []string{p}, stop: stopPair(p)}
				c.stop = c.stop && e.stop
				each = append(each, e)
			}
		} else {
			each = append(each, c)
		}
		all = append(all, c)
	}
	return all, each
}

func denseWord(w word) bool {
	r, _ := utf8.DecodeRuneInString(w.parts[0])
	return classOf(r) == dense
}

func unique(list []clause) (out []clause) {
	for _, c := range list {
		same := func(o clause) bool { return slices.Equal(o.parts, c.parts) }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].must, out[i].begin, out[i].stop = out[i].must || c.must, out[i].begin || c.begin, out[i].stop && c.stop
			continue
		}
		out = append(out, c)
	}
	return out
}

// notable leaves out of what a snippet looks for the words that questions are
// made of, unless nothing else is there.
func notable(list []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return stopWord(strings.ToLower(s)) })
	if len(out) == 0 {
		return list
	}
	return out
}

// widens tells whether there are more words to be looked for if few items have
// the clause.
func (c *clause) widens() bool { return !c.wide && (c.begin || c.stem != "" || c.whole != "") }

// stem cuts an ending off a word, so that what is left begins its other forms
// too; empty if too little would be left. Endings are those of English and
// German, which are short in French and Spanish as well.
func stem(w string) string {
	for _, r := range w {
		if r < 'a' || r > 'z' && r < 0x80 {
			return "" // a number, or a name with one
		}
	}
	for _, end := range []string{"ations", "ation", "ings", "ing", "ungen", "ung", "ies", "ied", "ed", "es", "en", "ern", "er", "em", "s", "e", "n", "y", "t"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= minBegin {
			return s
		}
	}
	if len(w) >= minBegin {
		return w
	}
	return ""
}

// expression writes the clause for FTS5. If it is to be wide, the parts of a name
// count wherever they stand, and so do words that begin like it. Words have
// letters and digits only, and stand in quotes.
func (c *clause) expression(wide bool) string {
	wide = wide || c.wide
	var b strings.Builder
	if c.whole != "" && !wide {
		quote(&b, c.whole)
		return b.String()
	}
	if len(c.parts) > 1 {
		b.WriteByte('(')
	}
	for i, p := range c.parts {
		if i > 0 {
			b.WriteString(" AND ")
		}
		quote(&b, p)
		if wide && c.begin && i == len(c.parts)-1 {
			b.WriteByte('*')
		}
	}
	if len(c.parts) > 1 {
		b.WriteByte(')')
	}
	if c.whole != "" {
		b.WriteString(" OR ")
		quote(&b, c.whole)
	}
	if wide && c.stem != "" {
		b.WriteString(" OR ")
		quote(&b, c.stem)
		b.WriteByte('*')
	}
	if s := b.String(); strings.Contains(s, " OR ") {
		return "(" + s + ")"
	}
	return b.String()
}

func quote(b *strings.Builder, w string) {
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(w, `"`, `""`))
	b.WriteByte('"')
}

// strict is the clause as an expression that isn't wide takes it.
func (c *clause) strict() clause {
	out := clause{parts: c.parts, whole: c.whole, begin: c.begin && c.wide, wide: c.wide}
	if c.whole != "" && !c.wide {
		out.parts, out.whole = []string{c.whole}, ""
	}
	return out
}

// allExpression asks for the items that hold everything.
func (m *matcher) allExpression() string {
	var all []string
	for i := range m.all {
		if c := &m.all[i]; !c.stop || c.must {
			all = append(all, c.expression(false))
		}
	}
	return m.but(strings.Join(all, " AND "))
}

// allMask has a bit for each clause that an item with everything holds; not ok
// if there are too many.
func (m *matcher) allMask() (mask uint32, ok bool) {
	for i := range m.all {
		if m.all[i].stop && !m.all[i].must {
			continue
		}
		for _, p := range m.all[i].parts {
			one := func(c clause) bool { return len(c.parts) == 1 && c.parts[0] == p }
			whole := func(c clause) bool { return slices.Equal(c.parts, m.all[i].parts) }
			k := slices.IndexFunc(m.clauses, whole)
			if k < 0 {
				k = slices.IndexFunc(m.clauses, one)
			}
			if k < 0 || k >= maxClauses {
				return 0, false
			}
			if !m.clauses[k].stop {
				mask |= 1 << k
			}
		}
	}
	return mask, mask != 0
}

// mustExpression asks for the items that hold what nothing answers without;
// empty if that is nothing.
func (m *matcher) mustExpression() string {
	var must []string
	for i := range m.all {
		if m.all[i].must {
			must = append(must, m.all[i].expression(false))
		}
	}
	return strings.Join(must, " AND ")
}

// but leaves out what the question excludes.
func (m *matcher) but(e string) string {
	if e == "" || len(m.without) == 0 {
		return e
	}
	not := make([]string, 0, len(m.without))
	for i := range m.without {
		not = append(not, m.without[i].expression(false))
	}
	return "(" + e + ") NOT (" + strings.Join(not, " OR ") + ")"
}

// standsIn tells whether a text has all phrases as they stand and none that must
// not be there.
func (m *matcher) standsIn(texts ...string) bool {
	if len(m.phrases)+len(m.never) == 0 {
		return true
	}
	text := asText(strings.Join(texts, "\n"))
	for _, p := range m.phrases {
		if !strings.Contains(text, p) {
			return false
		}
	}
	for _, p := range m.never {
		if strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// runsIn tells whether a text has all runs of characters as they were typed.
func (m *matcher) runsIn(texts ...string) bool {
	text := asText(strings.Join(texts, "\n"))
	for _, r := range m.runs {
		if !strings.Contains(text, r) {
			return false
		}
	}
	return true
}

// asText makes texts equal that differ in case, in the space between words and in
// the escapes that JSON writes for it.
func asText(s string) string {
	s = strings.NewReplacer(`\n`, " ", `\t`, " ", `\"`, `"`, `\\`, `\`).Replace(s)
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}
