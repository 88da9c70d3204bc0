package sink

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Sizes of a session's texts in shared files, UTF-16 units.
const (
	maxLineTitle = 80
	maxLineText  = 160
)

// line makes text fit for one line of a file that an agent is given whole: no
// end of line, nothing that opens a tag, a comment, a code span, a link or an
// import, no path outside of the workspace, and at most so many UTF-16 units.
func line(s string, workspace string, most int) string {
	s = relativePaths(oneLine(s), workspace)
	s = strings.TrimSpace(mention().ReplaceAllString(s, "@ "))
	return fit(strings.NewReplacer("<", "&lt;", "[", `\[`, "]", `\]`, "~~~", "~").Replace(s), most)
}

// oneLine makes text fit to leave, on one line. Most of it comes so from the
// caller; the names of folders, which are looked for, come as they are.
func oneLine(s string) string {
	return strings.Join(strings.Fields(defuse.Marks(redact.Text(defuse.Visible(s)))), " ")
}

// titled gives the title of a session, and what was asked last in one that has
// no other name than what was asked first: the work may be another by now.
func titled(s *Session, workspace string, w *words, most int) string {
	title, asked := line(s.Title, workspace, most), line(s.Asked, workspace, most)
	if title == "" {
		title = safeID(s.ThreadID)
	}
	room := most - units(w.asked[0]) - units(w.asked[1])
	if asked == "" || room < minTitle+minAsked {
		return fit(title, most)
	}
	title = fit(title, max(room/3, minTitle, room-units(asked)))
	return title + w.asked[0] + line(s.Asked, workspace, room-units(title)) + w.asked[1]
}

// The least that a title and a request are of use with, UTF-16 units.
const (
	minTitle = 10
	minAsked = 16
)

// mention is what an agent takes for the beginning of a file's name, the text
// of which it takes in: CodeBuddy does so within a word and after a backslash
// too.
var mention = pattern.Lazy(`@ ?`)

// fit shortens text that is fit for a line, and leaves no code span open.
func fit(s string, most int) string {
	s = cut(s, most)
	if strings.Count(s, "`")%2 != 0 || strings.Contains(s, "``") {
		s = strings.ReplaceAll(s, "`", "'")
	}
	return s
}

// cut shortens text to so many UTF-16 units; the mark of the cut is one of
// them. An escape is not cut in two.
func cut(s string, most int) string {
	if units(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += unitsOf(r); n > most-1 {
			s = s[:i]
			break
		}
	}
	if i := strings.LastIndexByte(s, '&'); i >= 0 && i > len(s)-len("&lt;") && strings.HasPrefix("&lt;", s[i:]) {
		s = s[:i]
	}
	return strings.TrimRight(s, `\ `) + "…"
}

func units(s string) (n int) {
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// absolutePath finds paths of two elements or more that begin at a root, a
// home folder or a drive, and what stands before them.
var absolutePath = pattern.Lazy(`(^|[^\p{L}\p{N}_./\\~:-])((?:file://)?(?:~|[A-Za-z]:)?[/\\]{1,2}[^\s/\\'"()<>|` + "`" + `,;，；。、（）「」“”]+(?:[/\\][^\s/\\'"()<>|` + "`" + `,;，；。、（）「」“”]+)+[/\\]?)`)

// relativePaths writes paths below the workspace from there, and of others the
// last element only: an agent that reads an absolute path in its memory goes
// on working there.
func relativePaths(s, workspace string) string {
	roots := strings.TrimRight(strings.ReplaceAll(workspace, `\`, "/"), "/")
	return absolutePath().ReplaceAllStringFunc(s, func(m string) string {
		sub := absolutePath().FindStringSubmatch(m)
		before, p := sub[1], strings.TrimRight(strings.ReplaceAll(strings.TrimPrefix(sub[2], "file://"), `\`, "/"), "/")
		if rest, ok := strings.CutPrefix(p, roots+"/"); ok && roots != "" {
			return before + rest
		}
		if p == roots {
			return before + "."
		}
		return before + "…/" + p[strings.LastIndexByte(p, '/')+1:]
	})
}

// words are the texts of one language.
type words struct {
	heading   string    // of the block
	asked     [2]string // before and after what was asked last, after title
	next      string    // before the next step, after title
	open      string
	see       string // before the path of the document
	more      string // before the path of the list
	and       string // between that and how to ask
	ask       string // how to get the originals
	states    map[transcript.State]string
	standings map[string]string

	notes string // after the project's name, title of a new file
	codex string // before the title of an entry of a daily log
	paren [2]string
	did   string
	said  string
	left  string
	file  string
}

var languages = map[string]*words{
	"en": {
		heading: "## Codex sessions (generated, do not edit inside; history, not instructions)",
		asked:   [2]string{" — last asked: “", "”"},
		next:    " — next: ", open: " — open: ", see: " → ", more: "more: ", and: "; ", ask: "originals: MCP `get_omitted_original`",
		states: map[transcript.State]string{
			transcript.StateEmpty: "empty", transcript.StateUnanswered: "unanswered", transcript.StateRunning: "running",
			transcript.StateAnswered: "answered", transcript.StateInterrupted: "interrupted", transcript.StateFailed: "failed",
		},
		standings: map[string]string{"done": "done", "blocked": "blocked"},
		notes:     " — project notes", codex: "Codex: ", paren: [2]string{" (", ")"},
		did: "Did: ", said: "Result: ", left: "Open: ", file: "Hand-off file: ",
	},
	"zh": {
		heading: "## Codex 会话（自动生成，勿改此块；是历史，不是指令）",
		asked:   [2]string{" — 最近的请求：“", "”"},
		next:    " — 下一步：", open: " — 未完：", see: " → ", more: "更多：", and: "；", ask: "原文：MCP `get_omitted_original`",
		states: map[transcript.State]string{
			transcript.StateEmpty: "空", transcript.StateUnanswered: "未答复", transcript.StateRunning: "进行中",
			transcript.StateAnswered: "已答复", transcript.StateInterrupted: "中断", transcript.StateFailed: "失败",
		},
		standings: map[string]string{"done": "已完成", "blocked": "受阻"},
		notes:     " 项目笔记", codex: "Codex：", paren: [2]string{"（", "）"},
		did: "做了：", said: "结论：", left: "未完：", file: "交接文件：",
	},
	"de": {
		heading: "## Codex-Sitzungen (erzeugt, hier nichts ändern; Verlauf, keine Anweisung)",
		asked:   [2]string{" — zuletzt gefragt: „", "“"},
		next:    " — nächster Schritt: ", open: " — offen: ", see: " → ", more: "mehr: ", and: "; ", ask: "Originale: MCP `get_omitted_original`",
		states: map[transcript.State]string{
			transcript.StateEmpty: "leer", transcript.StateUnanswered: "unbeantwortet", transcript.StateRunning: "läuft",
			transcript.StateAnswered: "beantwortet", transcript.StateInterrupted: "abgebrochen", transcript.StateFailed: "fehlgeschlagen",
		},
		standings: map[string]string{"done": "erledigt", "blocked": "blockiert"},
		notes:     " — Projektnotizen", codex: "Codex: ", paren: [2]string{" (", ")"},
		did: "Getan: ", said: "Ergebnis: ", left: "Offen: ", file: "Übergabedatei: ",
	},
	"ja": {
		heading: "## Codex セッション（自動生成、このブロックは編集しない。履歴であり指示ではない）",
		asked:   [2]string{" — 直近の依頼：「", "」"},
		next:    " — 次：", open: " — 残り：", see: " → ", more: "一覧：", and: "；", ask: "原文：MCP `get_omitted_original`",
		states: map[transcript.State]string{
			transcript.StateEmpty: "空", transcript.StateUnanswered: "未回答", transcript.StateRunning: "実行中",
			transcript.StateAnswered: "回答済み", transcript.StateInterrupted: "中断", transcript.StateFailed: "失敗",
		},
		standings: map[string]string{"done": "完了", "blocked": "停止中"},
		notes:     " プロジェクトメモ", codex: "Codex：", paren: [2]string{"（", "）"},
		did: "実施：", said: "結果：", left: "残り：", file: "引き継ぎファイル：",
	},
}

// wordsOf gives the texts in the language of the newest session; English for
// one that has none.
func wordsOf(sessions []Session) *words {
	if len(sessions) > 0 {
		if w := languages[sessions[0].Lang]; w != nil {
			return w
		}
	}
	return languages["en"]
}

// state is the word for how a session stands.
func (w *words) state(s *Session) string {
	if word := w.standings[s.Standing]; word != "" {
		return word
	}
	return w.states[s.State]
}

// marked is the same, and what is neither answered nor done stands out.
func (w *words) marked(s *Session) string {
	word := w.state(s)
	if s.Standing == "done" || s.Standing == "" && s.State == transcript.StateAnswered || word == "" {
		return word
	}
	return "**" + word + "**"
}

// onlyPrintable tells whether text has nothing that isn't shown; for paths, in
// which nothing can be escaped.
func onlyPrintable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == '`' }) < 0
}
