package summary

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"

	"github.com/session-migrator/session-migrator/pipeline/lang"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// planner holds what PlanFor has found out so far.
type planner struct {
	in       Input
	count    func(string) int
	language string
	room     int // tokens that go into a call
	output   int
	chars    int // of the Doc, as far as an answer has room for them
	facts    string
}

// PlanFor plans a summary. count counts the tokens of a text. ErrNothing,
// ErrWindow. It is pure.
func PlanFor(in Input, m Model, count func(string) int) (Plan, error) {
	if in.TargetChars <= 0 {
		in.TargetChars = DefaultChars
	}
	ms, _ := loop.Strip(in.Messages)
	p := Plan{Kind: Full, known: newKnown(ms, in), chars: in.TargetChars, count: count}
	if pr := in.Prior; pr != nil && pr.Updates < MaxUpdates && !pr.Doc.bare() && len(ms) > 0 && pr.Through <= ms[len(ms)-1].Position {
		was := *pr
		was.Doc = cleaned(pr.Doc) // it may have been stored by another version
		p.Kind, p.prior = Rolling, &was
	}
	rows := rowsOf(wanted(ms, p.prior), count)
	if len(rows) == 0 || p.Kind != Rolling && !slices.ContainsFunc(rows, func(r row) bool { return r.tier < tools }) {
		return Plan{}, ErrNothing
	}
	p.Through = rows[len(rows)-1].pos
	for i := range rows {
		p.turns = max(p.turns, rows[i].turn)
	}
	pl := planner{in: in, count: count, language: languageFor(in.Language, ms)}
	pl.room, pl.output = m.limits()
	pl.chars = min(in.TargetChars, capacity(pl.output, pl.language))
	pl.facts = pl.factsFor()
	p.notes = min(pl.room/4, pl.notes())
	p.heading = pl.room - count(headingText) - 256
	if err := pl.divide(&p, rows); err != nil {
		return Plan{}, err
	}
	for i := range p.Calls {
		p.Tokens += p.Calls[i].Tokens
	}
	p.Key = key(m, &p)
	return p, nil
}

// wanted are the messages that are to be summarised.
func wanted(ms []transcript.Message, prior *Prior) []transcript.Message {
	if prior == nil {
		return ms
	}
	return slices.DeleteFunc(slices.Clone(ms), func(m transcript.Message) bool { return m.Position <= prior.Through })
}

// capacity is how many characters of notes an answer of so many tokens holds,
// beside its braces and quotes.
func capacity(tokens int, language string) int {
	if wide(language) {
		return tokens / 2
	}
	return tokens * 2
}

// notes is how many tokens the JSON of the Doc has at most.
func (pl *planner) notes() int {
	if wide(pl.language) {
		return 256 + pl.in.TargetChars*5/4
	}
	return 256 + pl.in.TargetChars/2
}

func wide(language string) bool {
	return language == "Chinese" || language == "Japanese" || language == "Korean"
}

// factsFor gives the facts as far as they leave room for the session.
func (pl *planner) factsFor() string {
	text := pl.in.Facts.table()
	for text != "" && pl.count(text) > pl.room/8 {
		lines := strings.SplitAfter(text, "\n")
		text = strings.Join(lines[:len(lines)/2], "")
		if len(lines) < 3 {
			text = ""
		}
	}
	return text
}

// divide makes the calls of p.
func (pl *planner) divide(p *Plan, rows []row) error {
	first := Call{Part: Whole, brief: brief(pl.language, pl.chars), facts: pl.facts}
	if p.prior != nil {
		first.Part = Update
		first.earlier = pl.fit(p.prior.Doc, p.notes)
	}
	used := pl.count(first.System()) + pl.count(first.Text()) + 32 // tags of the history
	notes := 0
	if p.prior != nil {
		notes = max(0, p.notes-pl.count(first.earlier)) // later ones may be longer
	}
	content := pl.room - used
	if content < leastContent {
		return ErrWindow
	}
	total := 0
	for i := range rows {
		total += rows[i].tokens
	}
	if total <= content {
		first.rows, first.through = rows, p.Through
		p.Calls = []Call{pl.done(first)}
		return nil
	}
	if content -= notes; content < leastContent {
		return ErrWindow
	}
	kept, parts := pl.pack(rows, content)
	p.LeftOut = len(rows) - len(kept)
	from := 0
	for i, part := range parts {
		c := Call{Part: Chunk, brief: brief(pl.language, max(800, min(pl.chars, 2*pl.chars/len(parts)))), rows: part, from: from, through: part[len(part)-1].pos}
		if i == 0 {
			c.facts = pl.facts
		}
		if p.prior != nil {
			c.Part, c.brief = Update, first.brief
			if i == 0 {
				c.earlier = first.earlier
			}
		}
		if i == len(parts)-1 {
			c.through = p.Through
		}
		if len(parts) == 1 && p.prior == nil {
			c.Part, c.brief = Whole, first.brief
		}
		from = part[len(part)-1].n + 1
		c = pl.done(c)
		if c.Part == Update && c.earlier == "" {
			c.Tokens += p.notes
		}
		p.Calls = append(p.Calls, c)
	}
	if len(parts) > 1 && p.prior == nil {
		h := pl.done(Call{Part: Heading, brief: first.brief, From: p.Calls[0].From, To: p.turns, through: p.Through})
		h.Tokens += min(p.heading, pl.notes())
		h.Output = min(h.Output, 4096)
		p.Calls = append(p.Calls, h)
	}
	return nil
}

// done fills in what a call's rows tell.
func (pl *planner) done(c Call) Call {
	if len(c.rows) > 0 {
		c.From, c.To = c.rows[0].turn, c.rows[len(c.rows)-1].turn
	}
	c.Output = pl.output
	c.Tokens = pl.count(c.System()) + pl.count(c.Text())
	return c
}

// fit gives the notes so far with at most most tokens.
func (pl *planner) fit(d Doc, most int) string { return fitTokens(d, most, pl.count) }

func fitTokens(d Doc, most int, count func(string) int) string {
	text := jsonOf(d)
	for n := d.Units(); count(text) > most && n > 64; {
		n = n * 3 / 4
		d, _ = d.Fit(n)
		text = jsonOf(d)
	}
	return text
}

// pack picks the rows that there is room for, and cuts them into parts of at
// most content tokens: between turns; within one that has no room alone.
func (pl *planner) pack(rows []row, content int) (kept []row, parts [][]row) {
	gap := pl.count(gapMark(10_000))
	rows = clipped(rows, content-gap, pl.count)
	for budget := MaxCalls * content; ; budget = budget * 9 / 10 {
		kept = pick(rows, budget)
		if parts = cut(kept, content, gap); len(parts) <= MaxCalls {
			return kept, parts
		}
	}
}

// clipped are the rows, none of more than most tokens.
func clipped(rows []row, most int, count func(string) int) []row {
	var out []row
	for i := range rows {
		if rows[i].tokens <= most {
			continue
		}
		if out == nil {
			out = slices.Clone(rows)
		}
		out[i].text = clipTokens(strings.TrimSuffix(rows[i].text, "\n"), most-8, count) + "\n"
		out[i].tokens = count(out[i].text)
	}
	if out == nil {
		return rows
	}
	return out
}

// cut makes parts of at most most tokens; a mark where rows are missing has gap.
func cut(rows []row, most, gap int) (parts [][]row) {
	var part []row
	used, next := 0, 0
	for i := 0; i < len(rows); {
		end, size := i, 0
		for n := next; end < len(rows) && rows[end].turn == rows[i].turn; end++ {
			size += rows[end].cost(n, gap)
			n = rows[end].n + 1
		}
		if size > most { // a turn of its own, row by row
			end, size = i+1, rows[i].cost(next, gap)
		}
		if used+size > most && len(part) > 0 {
			parts, part, used = append(parts, part), nil, 0
		}
		part = append(part, rows[i:end]...)
		used += size
		i, next = end, rows[end-1].n+1
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// cost is the tokens of r where row next would come.
func (r *row) cost(next, gap int) int {
	if r.n > next {
		return r.tokens + gap
	}
	return r.tokens
}

// languageFor words the language of the notes.
func languageFor(tag string, ms []transcript.Message) string {
	names := map[string]string{"en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "de": "German", "fr": "French", "es": "Spanish", "ru": "Russian"}
	if tag != "" {
		if name := names[tag]; name != "" {
			return name
		}
		return oneLine(clip(safe(tag), 40))
	}
	var texts []string
	known, other := 0, 0
	for i := range ms {
		if ms[i].Role != transcript.RoleUser {
			continue
		}
		texts = append(texts, ms[i].Text)
		for _, r := range clip(ms[i].Text, 4000) {
			switch {
			case !unicode.IsLetter(r):
			case unicode.In(r, unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Cyrillic):
				known++
			default:
				other++
			}
		}
	}
	if other > known {
		return "the one the user writes in"
	}
	name := names[lang.Of(texts).String()]
	if name == "English" { // it may be another one in Latin script
		name += " (if the user plainly writes another language, that one)"
	}
	return name
}

// key tells equal questions.
func key(m Model, p *Plan) (k [32]byte) {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = h.Write(n[:]) // never fails
		_, _ = h.Write([]byte(s))
	}
	put(string(rune('0' + promptVersion)))
	put(m.Name)
	put(m.Endpoint)
	for i := range p.Calls {
		put(p.Calls[i].System())
		put(p.Calls[i].Text())
	}
	return [32]byte(h.Sum(nil))
}
