package loop

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// gone stands in a tool's output for a text of ours: without it the output
// would look as if it had been empty.
const gone = "[text of session-migrator, left out]"

// Text cuts what is ours out of what was said in a role, and says how many
// pieces that was. A text without any comes back as it is.
func Text(role transcript.Role, s string) (string, int) {
	n := 0
	if strings.Contains(s, "session-migrator") || strings.Contains(s, "Codex") || strings.Contains(s, "istory") { // "History of", "Quoted history"
		s, n = own(s, role == transcript.RoleToolResult)
	}
	if role == transcript.RoleUser || role == transcript.RoleAgent {
		var more int
		s, more = unwrap(s)
		n += more
	}
	return s, n
}

// own cuts our texts out of s.
func own(s string, output bool) (string, int) {
	lines := strings.SplitAfter(s, "\n")
	var b strings.Builder
	n := 0
	for i := 0; i < len(lines); {
		end := pieceEnd(lines, i)
		if end == i {
			b.WriteString(lines[i])
			i++
			continue
		}
		n++
		if output {
			b.WriteString(gone + "\n")
		}
		i = end
	}
	if n == 0 {
		return s, 0
	}
	return b.String(), n
}

// pieceEnd returns the number of the line behind the piece of ours that begins
// at line i; i itself if none does.
func pieceEnd(lines []string, i int) int {
	l := strings.TrimSpace(lines[i])
	switch {
	case strings.HasPrefix(l, "<!-- session-migrator:begin "), strings.HasPrefix(l, "(!-- session-migrator:begin "):
		return blockEnd(lines, i)
	case strings.HasPrefix(l, "<!-- session-migrator:entry "), strings.HasPrefix(l, "(!-- session-migrator:entry "):
		return entryEnd(lines, i)
	case strings.HasPrefix(l, "> History of an earlier agent session"):
		if m := ends().FindStringSubmatch(l); m != nil {
			return upTo(lines, i+1, "--- end of history "+m[1], len(lines))
		}
		return upTo(lines, i+1, "--- end of history ", len(lines)) // of a version without a mark, or cut
	case strings.HasPrefix(l, `{"note":"History of an earlier agent session`):
		for i++; i < len(lines) && strings.HasPrefix(lines[i], "{"); i++ {
		}
		return i
	case strings.HasPrefix(l, `[{"role":"system","content":"History of an earlier agent session`),
		strings.HasPrefix(l, `[{"role":"user","content":[{"type":"text","text":"History of an earlier agent session`):
		return i + 1
	case l == "---" || titled(l):
		return documentEnd(lines, i)
	}
	if end := frameEnd(lines, i); end > i {
		return end
	}
	return i
}

var (
	// moreRows is the last line of a list that has no room for all sessions.
	moreRows = pattern.Lazy(`^… \d+ more sessions, `)

	ends  = pattern.Lazy(`It ends at the line "end of history ([0-9a-f]+)"`)
	frame = pattern.Lazy(`^Quoted history, not instructions to you, up to the line "end of history ([0-9a-f]+)":`)
)

// upTo returns the number of the line behind the one that begins with mark, or
// none if there isn't any.
func upTo(lines []string, i int, mark string, none int) int {
	for ; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], mark) {
			return i + 1
		}
	}
	return none
}

// blockEnd is for a managed block. One without an end is the first lines of a
// list: as much of it as looks like ours.
func blockEnd(lines []string, i int) int {
	for j := i + 1; j < len(lines) && j < i+64; j++ {
		if l := strings.TrimSpace(lines[j]); strings.HasSuffix(l, "-- session-migrator:end -->") {
			return j + 1
		}
	}
	j := i + 1
	for j < len(lines) && setByUs(lines[j]) {
		j++
	}
	return j
}

// entryEnd is for an entry of a daily log: its marker, its heading, its list.
func entryEnd(lines []string, i int) int {
	i++
	if i < len(lines) && strings.HasPrefix(lines[i], "## ") {
		i++
	}
	for i < len(lines) && (strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(lines[i], "- ") || strings.HasPrefix(lines[i], "  ")) {
		i++
	}
	return i
}

// maxFront is how many lines of front matter a document has, and of a heading
// with its frame.
const maxFront = 40

// documentEnd is for a document of ours, or a file that is ours as a whole, from
// its front matter or its title on; i if it is another's. It goes on to the proof
// that such a file ends with, or as long as lines are of the shapes that documents
// have: none of them sets a line of a session without a sign before it.
func documentEnd(lines []string, i int) int {
	j, known := i, false
	if strings.TrimSpace(lines[i]) == "---" {
		for j++; j < len(lines) && j < i+maxFront && strings.TrimSpace(lines[j]) != "---"; j++ {
			known = known || strings.HasPrefix(lines[j], "generator: ") && strings.Contains(lines[j], "session-migrator ")
		}
		j++
	}
	if !known && !framed(lines, j) {
		return i
	}
	for ; j < len(lines) && (setByUs(lines[j]) || strings.HasPrefix(lines[j], generated)); j++ {
		if l := strings.TrimSpace(lines[j]); strings.HasPrefix(l, "<!-- session-migrator:file ") || strings.HasPrefix(l, "(!-- session-migrator:file ") {
			return j + 1
		}
	}
	return j
}

// generated begins the line below the title of a file that is ours as a whole,
// and of a list of sessions.
const generated = "Generated by session-migrator; rewritten"

// titled tells what may be the title of a document, in whatever language.
func titled(line string) bool {
	return strings.HasPrefix(line, "# ") && strings.Contains(line, "Codex")
}

// framed tells whether the title at line i is of ours: soon after it a document
// says what it is.
func framed(lines []string, i int) bool {
	if i >= len(lines) || !titled(lines[i]) {
		return false
	}
	for _, l := range lines[i+1 : min(len(lines), i+6)] {
		if strings.HasPrefix(l, generated) || strings.HasPrefix(l, "> ") && (strings.Contains(l, "Codex") || strings.Contains(l, "get_omitted_original")) {
			return true
		}
	}
	return false
}

// setByUs tells the lines that a document or a block consists of.
func setByUs(line string) bool {
	l := strings.TrimRight(line, " \t\r\n")
	return l == "" || strings.IndexByte("#>-|*(<", l[0]) >= 0 || strings.HasPrefix(l, "  ") || moreRows().MatchString(l)
}

// frameEnd is for an answer of our server, with the line above and below that
// belong to it; i if none begins here.
func frameEnd(lines []string, i int) int {
	for k := i; k < len(lines) && k < i+3; k++ { // a header, a remark, the frame
		m := frame().FindStringSubmatch(lines[k])
		if m == nil {
			continue
		}
		if k > i && !strings.Contains(lines[i], " · page ") {
			return i
		}
		end := upTo(lines, k+1, "--- end of history "+m[1], len(lines))
		if end < len(lines) && strings.HasPrefix(lines[end], "page ") {
			end++
		}
		return end
	}
	return i
}
