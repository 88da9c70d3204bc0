package block

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// sample is a random file of which it is known how it was put together.
type sample struct {
	text      strings.Builder
	rng       *rand.Rand
	eol       []string // line ends, drawn from these
	marks     string   // markers that are none of text: b(egin), e(nd), o(dd)
	lost      bool     // a marker stands in a fence that is never closed
	from, to  int      // the first block
	edited    bool
	mine      []string // lines that somebody wrote into the block
	old, last string   // body of the block; the last line end that was written
}

func (s *sample) pick(of ...string) string { return of[s.rng.IntN(len(of))] }

func (s *sample) line(texts ...string) {
	for _, t := range texts {
		eol := s.pick(s.eol...)
		if t == "" && s.last == "\r" && eol == "\n" {
			eol = "\r\n" // CR and LF would be one line end, not two
		}
		s.last = eol
		s.text.WriteString(t + s.last)
	}
}

// word is text that is nothing but text in any place.
func (s *sample) word() string {
	return s.pick("alpha", "Größe", "約定 10", "😀 ok", "see "+endMark+" there", "`"+beginMark("0123abcd")+"`", "a -- b", "#tag", "x ``` y", "**b**", "http://x/~~~")
}

func (s *sample) body() string {
	rows := []string{"## Codex sessions"}
	for n := s.rng.IntN(5); n > 0; n-- {
		rows = append(rows, fmt.Sprintf("- 2026-02-%02d %s %s %d", 1+s.rng.IntN(28), s.pick("**blocked**", "answered", "受阻"), s.pick("freeze", "发票", "😀"), s.rng.IntN(1000)))
	}
	return strings.Join(rows, "\n")
}

// piece writes something whole: whatever comes next begins anew.
func (s *sample) piece() {
	marker := s.pick(endMark, beginMark("0123abcd"), "<!-- session-migrator:begin v=2 -->", entryStart+"0123abcd@t3"+closing)
	switch s.rng.IntN(16) {
	case 0, 1, 2:
		s.line(s.word(), s.pick(s.word(), "  "+s.word(), "    "+endMark))
	case 3, 4:
		s.line("", s.pick("", " \t", s.word()))
	case 5:
		s.line(s.pick("# ", "## ", "###### ", "  # ")+s.word(), s.pick("", s.word()))
	case 6, 7: // a fence with all that it may hold
		c := s.pick("`", "~")
		n := 3 + s.rng.IntN(3)
		s.line("", s.pick("", " ", "   ")+strings.Repeat(c, n)+s.pick("", "sh", " md title"))
		for k := s.rng.IntN(4); k > 0; k-- {
			s.line(s.pick(marker, s.word(), "# no", strings.Repeat(c, n-1), "    "+strings.Repeat(c, n), strings.Repeat(c, n)+" x", "- a", "> b", "<!--"))
		}
		s.line(s.pick("", "  ") + strings.Repeat(c, n+s.rng.IntN(2)) + s.pick("", " ", "\t"))
	case 8:
		s.line("> ```", "> "+marker, "> x", "")
	case 9:
		s.line("- "+s.word(), "  ```", "  "+marker, "  ```", "", "so much.")
	case 10:
		s.line("- ~~~", "  "+marker, "so much.")
	case 11:
		s.line("<!--", "```", "# no", "-->")
	case 12:
		s.line(entryStart+"b7d20e63@t4"+closing, "## 09:26 "+s.word(), "- "+s.word(), "", "so much.")
	case 13:
		s.line(s.pick("---", "***", "- - -"), "")
	case 14:
		s.line("1. "+s.word(), "   "+s.word(), "   1. "+s.word(), "      ```", "      "+marker, "      ```", "", "so much.")
	default:
		s.line("<pre>", "```", "</pre>", "")
	}
}

// block writes a block as Set does, or an edited one.
func (s *sample) block() {
	from, body := s.text.Len(), s.body()
	rows, edited := strings.Split(body, "\n"), s.rng.IntN(3) == 0
	var mine []string
	if edited {
		for n := 1 + s.rng.IntN(3); n > 0; n-- {
			l := fmt.Sprintf("mine %d", s.rng.IntN(1<<30))
			rows, mine = slices.Insert(rows, s.rng.IntN(len(rows)+1), l), append(mine, l)
		}
	}
	s.line(beginMark(HashOf(body)))
	s.line(rows...)
	s.line(endMark)
	if s.marks += "be"; s.marks == "be" {
		s.from, s.to, s.edited, s.mine, s.old = from, s.text.Len(), edited, mine, body
	}
}

func newSample(rng *rand.Rand) *sample {
	s := &sample{rng: rng}
	s.eol = [][]string{{"\n"}, {"\n"}, {"\r\n"}, {"\n", "\r\n"}, {"\n", "\n", "\r\n", "\r"}}[rng.IntN(5)]
	if rng.IntN(6) == 0 {
		s.text.WriteString(bom)
	}
	if rng.IntN(5) == 0 {
		s.line("---", "name: "+s.word(), "# no title", s.pick("```", "- a", ""), s.pick("---", "...", "--- "))
	}
	if rng.IntN(2) == 0 {
		s.line("# "+s.word(), s.pick("", "", s.word()))
	}
	blocks := [...]int{0, 0, 0, 1, 1, 1, 1, 2}[rng.IntN(8)]
	for n := rng.IntN(7) + blocks; n > 0; n-- {
		if blocks > 0 && rng.IntN(n) < blocks {
			blocks--
			s.block()
			continue
		}
		s.piece()
	}
	if rng.IntN(6) == 0 { // something of a marker where one counts
		m := s.pick("b", "e", "o", "o")
		s.marks += m
		s.line(map[string]string{"b": beginMark("0123abcd"), "e": endMark, "o": s.pick(endMark+" ", " "+endMark, endMark+" x", "<!-- session-migrator:begin v=2 hash=0123abcd -->", "<!--session-migrator:end-->")}[m])
	}
	if rng.IntN(8) == 0 { // a fence that is never closed
		s.line("", s.pick("```", "~~~~ md"), s.word())
		if rng.IntN(2) == 0 {
			s.lost = true
			s.line(s.pick(endMark, beginMark("0123abcd")))
		}
	}
	if s.to != s.text.Len() && s.text.Len() > 0 && rng.IntN(4) == 0 { // no final newline
		t := s.text.String()
		s.text.Reset()
		s.text.WriteString(strings.TrimSuffix(t, s.last))
	}
	return s
}

func (s *sample) wellFormed() bool { return !s.lost && (s.marks == "" || s.marks == "be") }

// TestRandomFiles is the promise of the package on files of every kind.
func TestRandomFiles(t *testing.T) {
	n := randomFiles
	if testing.Short() {
		n = 10_000
	}
	const seed = 20261130
	var malformed, fresh, renewed, edited, noRoom, restored int
	for i := range n {
		s := newSample(rand.New(rand.NewPCG(seed, uint64(i))))
		data := []byte(s.text.String())
		was := bytes.Clone(data)
		body := s.body() + fmt.Sprintf("\n- new %d", i)
		r := Set(data, body, "", Limits{})
		if t.Failed() {
			t.Fatalf("seed %d, file %d", seed, i-1)
		}
		switch {
		case !s.wellFormed():
			malformed++
			untouched(t, r, data)
			untouched(t, Remove(data), data)
			if v := Look(data); v.Has || v.Problem == "" {
				t.Errorf("%q: %+v", data, v)
			}
			continue
		case s.marks == "":
			fresh++
			checkFresh(t, data, r, body)
		default:
			renewed++
			checkRenewed(t, s, data, r, body)
			if s.edited {
				edited++
			}
		}
		if r.Outcome != Written {
			continue
		}
		if again := Set(r.Data, body, "", Limits{}); again.Outcome != Unchanged || !bytes.Equal(again.Data, r.Data) {
			t.Errorf("set again: %v, %q, was %q", again.Outcome, again.Data, r.Data)
		}
		other := Set(r.Data, "- other", "", Limits{})
		back := Set(other.Data, body, "", Limits{})
		same := bytes.Equal(back.Data, r.Data)
		if s.edited { // moved lines may have turned the majority of line ends
			same = norm(back.Data) == norm(r.Data)
		}
		if other.Outcome != Written || back.Outcome != Written || !same {
			t.Errorf("%q, then other, is %q", r.Data, back.Data)
		}
		if s.marks == "" {
			restored++
			if gone := Remove(r.Data); gone.Outcome != Written || !bytes.Equal(gone.Data, data) {
				t.Errorf("removed: %v, %q, was %q", gone.Outcome, gone.Data, data)
			}
		}
		if checkRoom(t, s, data, r.Data, body) {
			noRoom++
		}
		checkLog(t, data)
		if !bytes.Equal(was, data) {
			t.Errorf("%q: the bytes given were written to", was)
		}
	}
	t.Logf("%d files: %d written (%d with a first block, %d renewed, %d of them edited by somebody), %d restored by Remove, %d without room, %d malformed and left alone",
		n, fresh+renewed, fresh, renewed, edited, restored, noRoom, malformed)
	for what, got := range map[string]int{"malformed": malformed, "fresh": fresh, "renewed": renewed, "edited": edited, "without room": noRoom} {
		if got < n/40 {
			t.Errorf("only %d files are %s", got, what)
		}
	}
}

func untouched(t *testing.T, r Result, data []byte) {
	t.Helper()
	if r.Outcome != Malformed || !bytes.Equal(r.Data, data) || r.Why == "" {
		t.Errorf("%q: %v, %s, %q", data, r.Outcome, r.Why, r.Data)
	}
}

func norm(data []byte) string {
	return strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
}

// asLines is the block as it must stand in a file with these line ends.
func asLines(body, eol string) string {
	return strings.ReplaceAll(beginMark(HashOf(body))+"\n"+body+"\n"+endMark, "\n", eol)
}

// eolOf counts line ends by the letter.
func eolOf(data string) string {
	crlf := strings.Count(data, "\r\n")
	lf := strings.Count(data, "\n") - crlf
	if i := strings.IndexByte(data, '\n'); crlf > lf || crlf == lf && i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func ended(s string) bool { return strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r") }

// checkFresh finds the block by its text alone: all else must be the file, and
// at most two line ends.
func checkFresh(t *testing.T, data []byte, r Result, body string) {
	t.Helper()
	is, old := string(r.Data), string(data)
	text := asLines(body, eolOf(old))
	before, behind, ok := strings.Cut(is, text)
	if r.Outcome != Written || !ok || strings.Count(is, text) != 1 {
		t.Errorf("%q: %v, %s, %q", data, r.Outcome, r.Why, is)
		return
	}
	eol := eolOf(old)
	fits := false
	for _, b := range []string{before, strings.TrimSuffix(before, eol), strings.TrimSuffix(before, eol+eol)} {
		for _, e := range []string{behind, strings.TrimPrefix(behind, eol), strings.TrimPrefix(behind, eol+eol)} {
			fits = fits || b+e == old
		}
	}
	if !fits {
		t.Errorf("%q: bytes outside changed: %q", old, is)
	}
	if strings.TrimPrefix(old, bom) != "" && ended(is) != ended(old) {
		t.Errorf("%q: final newline of %q", old, is)
	}
	if strings.Count(strings.TrimLeft(before, bom), "\n") > 5+titleWithin+2 {
		t.Errorf("%q: the block is far down", is)
	}
}

func checkRenewed(t *testing.T, s *sample, data []byte, r Result, body string) {
	t.Helper()
	before, behind := string(data[:s.from]), string(data[s.to:])
	eol := eolOf(before + "\x00" + behind) // a CR and an LF apart are no CRLF
	if !strings.Contains(before+behind, "\n") {
		eol = eolOf(string(data))
	}
	v := Look(data)
	if !v.Has || v.Edited != s.edited || v.Hash != HashOf(s.old) || !s.edited && v.Body != s.old {
		t.Errorf("%q: %+v", data, v)
	}
	is, ok := strings.CutPrefix(string(r.Data), before+asLines(body, eol)+eol)
	if ok {
		is, ok = strings.CutSuffix(is, behind)
	}
	if !ok || r.Outcome != Written {
		t.Errorf("%q: %v, bytes outside changed: %q", data, r.Outcome, r.Data)
		return
	}
	// What is left was moved: their lines, each once, and nothing else.
	got := strings.FieldsFunc(is, func(r rune) bool { return r == '\n' || r == '\r' })
	slices.Sort(got)
	slices.Sort(s.mine)
	if !slices.Equal(got, s.mine) {
		t.Errorf("%q: moved %q, want %q", data, got, s.mine)
	}
	gone := Remove(data)
	for _, l := range s.mine {
		if bytes.Count(gone.Data, []byte(l)) != 1 {
			t.Errorf("%q: removed, without %q: %q", data, l, gone.Data)
		}
	}
	if gone.Outcome != Written || Look(gone.Data) != (View{}) {
		t.Errorf("%q: removed: %v, %q", data, gone.Outcome, gone.Data)
	}
	if !s.edited && string(gone.Data) != lessABlankLine(before, behind) {
		t.Errorf("%q: removed, bytes outside changed: %q", data, gone.Data)
	}
}

// lessABlankLine is what must be left of what stood around a block.
func lessABlankLine(before, behind string) string {
	eols := []string{"\r\n", "\n", "\r"}
	for _, eol := range eols {
		if b, ok := strings.CutSuffix(before, eol); ok {
			if ended(b) {
				return b + behind
			}
			break
		}
	}
	for _, eol := range eols {
		if e, ok := strings.CutPrefix(behind, eol); ok {
			return before + e
		}
	}
	return before + behind
}

// checkRoom sets a limit near the size and counts as a consumer does.
func checkRoom(t *testing.T, s *sample, data, full []byte, body string) (noRoom bool) {
	t.Helper()
	count := func(b []byte, kind int) int {
		switch kind {
		case 0:
			return len(utf16.Encode([]rune(string(b))))
		case 1:
			return len(b)
		}
		text := norm(b)
		return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + min(1, len(text))
	}
	kind := s.rng.IntN(3)
	limit := max(1, count(data, kind)+s.rng.IntN(200)-60)
	lim := [...]Limits{{Units: limit}, {Bytes: limit}, {Lines: limit}}[kind]
	if kind == 2 {
		lim.Lines = max(1, count(data, kind)+s.rng.IntN(12)-3)
		limit = lim.Lines
	}
	r := Set(data, body, "", lim)
	fits := count(full, kind) <= limit
	switch r.Outcome {
	case Written:
		if !fits || !bytes.Equal(r.Data, full) {
			t.Errorf("%+v: written: %q", lim, r.Data)
		}
	case NoRoom:
		want := data
		if s.marks == "be" && count(data, kind) > limit {
			want = Remove(data).Data
		}
		if fits || !bytes.Equal(r.Data, want) || r.Why == "" {
			t.Errorf("%+v: no room: %q, was %q", lim, r.Data, data)
		}
		if again := Set(r.Data, body, "", lim); Look(r.Data).Has && !bytes.Equal(again.Data, r.Data) {
			t.Errorf("%+v: no room, again: %q, was %q", lim, again.Data, r.Data)
		}
	case Unchanged, Malformed, Absent:
		t.Errorf("%+v: %v, %q", lim, r.Outcome, data)
	}
	return r.Outcome == NoRoom
}

func checkLog(t *testing.T, data []byte) {
	t.Helper()
	e := Entry{ID8: "0000000f", Turn: 7, Clock: "09:26", Heading: "Codex: a", Bullets: []string{"b"}}
	text := Append(data, e, "")
	log := slices.Concat(data, text)
	eol := eolOf(string(data))
	lead, rest, ok := strings.Cut(string(text), e.Marker())
	if !ok || strings.Trim(lead, "\r\n") != "" || rest != eol+"## 09:26 Codex: a"+eol+"- b"+eol {
		t.Errorf("%q: appended %q", data, text)
	}
	old := Entries(data)
	old[e.ID8] = e.Turn
	if got := Entries(log); len(got) != len(old) || got[e.ID8] != e.Turn {
		t.Errorf("%q: entries %v, want %v", log, got, old)
	}
	if again := Append(log, e, ""); again != nil {
		t.Errorf("%q: appended again: %q", log, again)
	}
}
