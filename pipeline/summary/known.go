package summary

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// known is what a summary may speak of.
type known struct {
	turns    map[int]bool
	from, to int      // turns that count; 0: no such bound
	texts    []string // as they are: they may be large
	human    string   // letters and digits of what the person said
}

// humanBytes is how much of one message of the person's may be quoted.
const humanBytes = 64 << 10

// newKnown gathers what there is: also what isn't sent again, since notes so far
// may speak of it.
func newKnown(ms []transcript.Message, in Input) *known {
	k := &known{turns: map[int]bool{}}
	var said strings.Builder
	for i := range ms {
		m := &ms[i]
		if m.ThreadTurn > 0 {
			k.turns[m.ThreadTurn] = true
		}
		k.texts = append(k.texts, m.Body())
		if m.Role == transcript.RoleUser {
			said.WriteString(letters(clip(m.Text, humanBytes)))
			said.WriteByte(' ')
		}
	}
	for _, lines := range [][]string{in.Facts.Files, in.Facts.Exits, in.Facts.Plan} {
		k.texts = append(k.texts, lines...)
	}
	if in.Prior != nil {
		d := in.Prior.Doc.clone()
		k.texts = append(k.texts, d.Goal)
		for _, l := range d.lists() {
			for _, p := range l.parts {
				for _, t := range p.texts {
					k.texts = append(k.texts, *t)
				}
			}
		}
		for _, c := range d.Constraints {
			said.WriteString(letters(c.Quote))
			said.WriteByte(' ')
		}
	}
	k.human = said.String()
	return k
}

// of is k for a call: it can't know turns behind it, nor, unless it is given
// notes of them, those before.
func (k *known) of(c Call) *known {
	out := *k
	if out.to = c.To; c.Part == Whole || c.Part == Chunk {
		out.from = c.From
	}
	return &out
}

// letters are those of s, and its digits, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// quoted tells whether the person said so; what is left out within a quote is
// marked by dots.
func (k *known) quoted(quote string) bool {
	for _, piece := range strings.Split(strings.ReplaceAll(quote, "...", "…"), "…") {
		if l := letters(piece); l != "" && !strings.Contains(k.human, l) {
			return false
		}
	}
	return letters(quote) != ""
}

// has tells whether a path or address is in the session, however its slashes
// are written there.
func (k *known) has(word string) bool {
	forms := []string{word}
	if strings.ContainsAny(word, `/\`) && !strings.Contains(word, "://") {
		plain := strings.ReplaceAll(word, `\`, "/")
		forms = append(forms, plain, strings.ReplaceAll(plain, "/", `\`), strings.ReplaceAll(plain, "/", `\\`))
	}
	for _, t := range k.texts {
		for _, f := range forms {
			if strings.Contains(t, f) {
				return true
			}
		}
	}
	return false
}

// turn gives n, or 0 if there is no such turn.
func (k *known) turn(n int) int {
	if !k.turns[n] || n < k.from || k.to > 0 && n > k.to {
		return 0
	}
	return n
}

var span = pattern.Lazy(`^\[?[tT]?(\d{1,9})(?:\s*(?:-|–|—|\.\.|to)\s*[tT]?(\d{1,9}))?\]?$`)

// span gives the turns of a topic as they are written here; empty if there are
// no such turns.
func (k *known) span(s string) string {
	m := span().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return ""
	}
	from, err := strconv.Atoi(m[1])
	if err != nil || k.turn(from) == 0 {
		return ""
	}
	if m[2] == "" {
		return "t" + m[1]
	}
	to, err := strconv.Atoi(m[2])
	switch {
	case err != nil || k.turn(to) == 0 || to < from:
		return ""
	case to == from:
		return "t" + m[1]
	}
	return "t" + m[1] + "-t" + m[2]
}

// extensions are those of files that are named without a folder. Names of
// products end in .js and .io, too.
var extensions = map[string]bool{
	"go": true, "py": true, "rs": true, "ts": true, "tsx": true, "jsx": true, "java": true, "kt": true, "c": true, "h": true, "cc": true, "cpp": true, "hpp": true,
	"cs": true, "rb": true, "php": true, "swift": true, "sh": true, "ps1": true, "sql": true, "md": true, "txt": true, "json": true, "jsonl": true, "toml": true,
	"yaml": true, "yml": true, "xml": true, "html": true, "css": true, "scss": true, "vue": true, "lock": true, "ini": true, "cfg": true, "env": true, "proto": true,
}

var (
	lineOf = pattern.Lazy(`(:\d+(-\d+|:\d+)?|#L\d+(-L?\d+)?)$`)
	drive  = pattern.Lazy(`^[A-Za-z]:[\\/]`)
	ending = pattern.Lazy(`\.([A-Za-z][A-Za-z0-9]{0,9})$`)
)

// pathLike gives the path or address that a word is, without line numbers; empty
// if it is none.
func pathLike(word string) string {
	word = lineOf().ReplaceAllString(word, "")
	if len(word) < 3 {
		return ""
	}
	ext := ""
	if m := ending().FindStringSubmatch(word); m != nil {
		ext = strings.ToLower(m[1])
	}
	slashes := strings.Count(word, "/") + strings.Count(word, `\`)
	switch {
	case strings.Contains(word, "://"), drive().MatchString(word):
		return word
	case slashes == 0:
		if extensions[ext] {
			return word
		}
	case strings.HasPrefix(word, "./"), strings.HasPrefix(word, "../"), strings.HasPrefix(word, "~/"):
		return strings.TrimLeft(word, "./~")
	case word[0] == '/' && slashes > 1, ext != "":
		return word
	}
	return ""
}

// border are the characters around a path in a sentence.
func border(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`()[]{}<>,;|*“”‘’«»「」『』（），。；：、！？", r)
}

// unknown stands for a path that the model made up.
const unknownPath = "…"

// paths replaces paths and addresses that aren't in the session.
func (k *known) paths(s string) string {
	if !strings.ContainsAny(s, `./\`) {
		return s
	}
	var b strings.Builder
	word := func(w string) {
		core := strings.TrimRight(w, ".:!?")
		if p := pathLike(core); p != "" && !k.has(p) {
			b.WriteString(unknownPath + w[len(core):])
			return
		}
		b.WriteString(w)
	}
	last := 0
	for i, r := range s {
		if border(r) {
			word(s[last:i])
			b.WriteRune(r)
			last = i + len(string(r))
		}
	}
	word(s[last:])
	return b.String()
}
