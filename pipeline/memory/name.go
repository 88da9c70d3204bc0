package memory

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const (
	maxSlug  = 40  // bytes
	maxTitle = 100 // UTF-16 units
)

// FileName returns the name of a thread's document:
// <local start date>-<HHMM>-<slug>-<id8>.md, at most 100 bytes of ASCII. It
// depends on the title, so callers keep the first one they used. The date in
// front keeps it from being a reserved name on any system. loc nil means UTC.
func FileName(t transcript.Thread, loc *time.Location) string {
	return stamp(t, loc, "2006-01-02-1504") + slugPart(t) + "-" + id8(t.ID) + ".md"
}

// stamp formats the thread's start.
func stamp(t transcript.Thread, loc *time.Location, layout string) string {
	if loc == nil {
		loc = time.UTC
	}
	at := t.Created.In(loc)
	if t.Created.IsZero() || at.Year() < 1 || at.Year() > 9999 { // a number in a file can be any time
		return "undated"
	}
	return at.Format(layout)
}

func slugPart(t transcript.Thread) string {
	if s := slug(clean(t.Title)); s != "" {
		return "-" + s
	}
	return ""
}

// minRun is the shortest word that names a title of which other letters are a
// part.
const minRun = 4

// standsFor tells whether the ASCII in a title tells what it is about: there is
// nothing else, or it weighs more and has a word. A letter weighs as many bytes
// as it has: one of Chinese says as much as several.
func standsFor(title string) bool {
	ascii, other, run, longest := 0, 0, 0, 0
	for _, r := range plainLetters.Replace(strings.ToLower(title)) {
		switch {
		case r >= 'a' && r <= 'z':
			ascii++
			run++
			longest = max(longest, run)
			continue
		case unicode.IsLetter(r):
			other += utf8.RuneLen(r)
		}
		run = 0
	}
	return other == 0 || ascii > other && longest >= minRun
}

// plainLetters writes letters with marks without them.
var plainLetters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "å", "a",
	"à", "a", "á", "a", "â", "a", "ã", "a", "ç", "c", "è", "e", "é", "e", "ê", "e", "ë", "e", "ì", "i", "í", "i", "î", "i", "ï", "i", "ñ", "n",
	"ò", "o", "ó", "o", "ô", "o", "õ", "o", "ù", "u", "ú", "u", "û", "u", "ý", "y", "ÿ", "y")

// slug makes lower case words of ASCII, joined by dashes; none of a title that
// they don't stand for.
func slug(s string) string {
	if !standsFor(s) {
		return ""
	}
	var b strings.Builder
	dash := false
	for _, r := range plainLetters.Replace(strings.ToLower(s)) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteByte(byte(r))
			dash = false
		} else {
			dash = true
		}
		if b.Len() > 2*maxSlug {
			break
		}
	}
	out := b.String()
	if len(out) <= maxSlug {
		return out
	}
	out = out[:maxSlug+1]
	if cut := strings.LastIndexByte(out, '-'); cut > maxSlug/2 {
		return out[:cut]
	}
	return out[:maxSlug]
}

// id8 returns the last 8 hex digits of a thread id: the first ones of ids made
// within a minute are the same. An id of another kind gets digits of its own.
func id8(id string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(id) {
		switch {
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'f':
			b.WriteRune(r)
		case r != '-':
			h := fnv.New32a()
			_, _ = h.Write([]byte(id)) // never fails
			s := strconv.FormatUint(uint64(h.Sum32()), 16)
			return strings.Repeat("0", 8-len(s)) + s
		}
	}
	s := b.String()
	if len(s) < 8 {
		return strings.Repeat("0", 8-len(s)) + s
	}
	return s[len(s)-8:]
}

// titleOf returns the thread's title, else the first words asked.
func titleOf(d *Document) string {
	for _, s := range [...]string{d.Thread.Title, oldestRequest(d), d.Request.Text} {
		for _, l := range strings.Split(s, "\n") {
			if l = strings.Join(strings.Fields(l), " "); l != "" {
				return clipUnits(l, maxTitle)
			}
		}
	}
	return "Codex session " + id8(d.Thread.ID)
}

func oldestRequest(d *Document) string {
	if n := len(d.Earlier); n > 0 {
		return d.Earlier[n-1].Text
	}
	return ""
}

// place names the repository and branch, or the folder.
func place(t transcript.Thread) string {
	p := strings.TrimRight(strings.ReplaceAll(t.Cwd, `\`, "/"), "/")
	p = p[strings.LastIndexByte(p, '/')+1:]
	if p != "" && t.GitBranch != "" {
		p += " @ " + t.GitBranch
	}
	return p
}
