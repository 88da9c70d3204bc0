package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// Next is what the newest answer says of the time after it.
type Next struct {
	Text  string // verbatim, on one line, list marks removed
	Turn  int
	Offer bool // the agent asks whether it shall; else it names a step
	// Also is what it offers beside the step.
	Also string
}

// Words that begin or head what is still to be done. All lists are only read.
var (
	nextHeads = []string{
		"next steps", "next step", "suggested next steps", "recommended next steps", "what's next", "next up", "remaining work", "remaining steps", "still to do", "still open", "what is left", "what's left", "left to do", "follow-ups", "follow-up", "todo", "to do", "next",
		"下一步", "下一步建议", "建议的下一步", "后续步骤", "后续建议", "后续", "接下来", "待办", "剩余工作", "未完成",
		"次のステップ", "次の手順", "次の作業", "次にやること", "残りの作業", "残作業", "今後の作業", "未対応",
		"nächste schritte", "nächster schritt", "die nächsten schritte", "der nächste schritt", "offene punkte", "noch offen", "noch zu tun", "als nächstes", "weiteres vorgehen",
		"다음 단계", "남은 작업", "prochaines étapes", "prochaine étape", "reste à faire", "próximos pasos", "siguientes pasos", "siguiente paso", "следующие шаги", "следующий шаг", "осталось",
	}
	nextHeadStarts = []string{
		"left before", "left to", "left for", "what is left", "what's left", "what remains", "remaining", "still to", "still open", "still missing", "next steps", "next step", "the next step",
		"下一步", "接下来", "还剩", "剩下", "还需", "尚需", "次の", "残り", "残作業", "noch offen", "noch zu", "es fehlt", "nächste", "nächster", "남은", "다음", "reste", "prochaine", "falta", "pendiente", "осталось", "следующ",
	}
	nextOpeners = []string{
		"next step is", "the next step is", "next steps are", "the next steps are", "next, ", "next i ", "next you ", "what remains is", "what is left is", "still to do", "still open", "remaining:",
		"下一步", "接下来", "还需要", "剩下的是", "次は", "次に", "残りは",
		"als nächstes", "der nächste schritt ist", "der nächste schritt wäre", "offen ist noch", "offen sind noch", "es fehlt noch",
		"다음은", "reste à", "la prochaine étape", "el siguiente paso", "следующий шаг", "осталось",
	}
	offerOpeners = []string{
		"shall i", "should i", "do you want", "would you like", "want me to", "if you want", "if you'd like", "if you like", "let me know if", "let me know whether", "i can also", "i could also", "i can continue", "i can go on", "can i go on", "may i",
		"要不要", "是否需要", "是否要", "需要我", "要我", "如果需要", "如需", "如果你", "如果您", "你希望", "您希望", "要继续",
		"我可以接着", "我可以繼續", "我可以继续", "我还可以", "我也可以", "还需要我", "接下来我可以", "接下来要不要", "接下来需要我",
		"必要であれば", "必要なら", "よろしければ", "ご希望", "もし必要",
		"soll ich", "möchtest du", "möchten sie", "willst du", "wenn du", "wenn sie möchten", "falls du", "sag bescheid", "gern kann ich",
		"원하시면", "필요하면", "souhaitez-vous", "veux-tu", "voulez-vous", "si tu veux", "si vous", "¿quieres", "¿quiere", "si quieres", "хотите", "если хотите", "хочешь",
	}
	offerClosers = []string{"ましょうか？", "ましょうか?", "ましょうか。", "ましょうか", "ますか？", "ますか?", "でしょうか？", "でしょうか?", "吗？", "吗?", "할까요?"}
	// offersMore tells what "ich kann" offers from what it reports.
	offersMore = pattern.Lazy(`(?i)^(?:gerne? )?(?:ich )?(?:kann|könnte) (?:ich )?.*\b(?:noch|auch|gern|gerne)\b`)
	offersNone = pattern.Lazy(`(?i)\b(?:nicht|kein\w*|nichts|nie)\b`)
)

const (
	maxNext      = 400 // UTF-16 units shown
	maxNextItems = 3   // of a list
	maxHeadWords = 8
)

// nextIn finds what an answer names as the next step, else the offer it closes
// with. What stands in code fences counts for neither.
func nextIn(answer string) Next {
	lines := prose(answer)
	offer := closingOffer(lines)
	step, also := splitOffer(stepIn(lines))
	switch {
	case step != "" && also == "":
		return Next{Text: step, Also: offer}
	case step != "":
		return Next{Text: step, Also: also}
	case also != "":
		return Next{Text: also, Offer: true}
	}
	return Next{Text: offer, Offer: offer != ""}
}

// stepIn finds the step that an answer names, under a heading before in a
// sentence.
func stepIn(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, heads := cutHead(lines[i])
		if !heads {
			continue
		}
		if rest == "" {
			rest = listBelow(lines[i+1:])
		}
		if rest != "" {
			return rest
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		for _, s := range sentences(bare(lines[i])) {
			s = strings.TrimSpace(s)
			if isOffer(s) {
				continue
			}
			if rest, ok := cutHead(s); ok && rest != "" {
				return rest
			}
			if begins(s, nextOpeners) {
				return s
			}
		}
	}
	return ""
}

// splitOffer parts a step from the offer that follows it.
func splitOffer(text string) (step, offer string) {
	parts := sentences(text)
	for i, s := range parts {
		if isOffer(strings.TrimSpace(s)) {
			return strings.TrimRight(strings.TrimSpace(strings.Join(parts[:i], "")), ";；"), strings.TrimSpace(strings.Join(parts[i:], ""))
		}
	}
	return text, ""
}

// closingOffer finds the offer that closes an answer: it stands in its last
// paragraph.
func closingOffer(lines []string) string {
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	start := end
	for start > 0 && lines[start-1] != "" {
		start--
	}
	_, offer := splitOffer(strings.Join(trimmed(lines[start:end]), " "))
	return offer
}

func isOffer(s string) bool {
	return begins(s, offerOpeners) || ends(s, offerClosers) || offersMore().MatchString(s) && !offersNone().MatchString(s)
}

// prose returns the lines of an answer outside of code fences.
func prose(s string) []string {
	var out []string
	fence := ""
	for _, l := range strings.Split(s, "\n") {
		t := strings.TrimSpace(l)
		if mark := fenceOf(t); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence == "" {
			out = append(out, t)
		}
	}
	return out
}

// fenceOf returns the run of marks that opens or closes a fence.
func fenceOf(l string) string {
	for _, c := range [...]string{"`", "~"} {
		if n := len(l) - len(strings.TrimLeft(l, c)); n >= 3 {
			return l[:n]
		}
	}
	return ""
}

// bare takes the marks of headings, lists and emphasis off a line.
func bare(l string) string {
	l = strings.TrimLeft(l, "#>-*+• \t")
	if i := strings.IndexAny(l, ".)"); i > 0 && i < 4 && strings.Trim(l[:i], "0123456789") == "" && strings.HasPrefix(l[i+1:], " ") {
		l = l[i+2:]
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(l, "**", ""), "__", ""))
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = bare(l)
	}
	return out
}

// cutHead tells a line that heads next steps and returns what stands behind
// its colon.
func cutHead(l string) (rest string, ok bool) {
	marked := strings.HasPrefix(l, "#") || strings.HasPrefix(l, "**")
	l = bare(l)
	head, rest, colon := l, "", false
	if i := strings.IndexAny(l, ":："); i >= 0 {
		_, n := utf8.DecodeRuneInString(l[i:])
		head, rest, colon = l[:i], strings.TrimSpace(l[i+n:]), true
	} else if before, after, found := strings.Cut(l, " — "); found {
		head, rest, colon = before, strings.TrimSpace(after), true
	}
	if !colon && !marked {
		return "", false
	}
	head = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(head, "’", "'")))
	if i := strings.IndexAny(head, "(（"); i > 0 {
		head = strings.TrimSpace(head[:i])
	}
	for _, h := range nextHeads {
		if head == h {
			return rest, true
		}
	}
	return rest, colon && len(strings.Fields(head)) <= maxHeadWords && begins(head, nextHeadStarts)
}

// listBelow joins the first items of the list, or the lines of the paragraph,
// below a heading.
func listBelow(lines []string) string {
	var out []string
	for _, l := range lines {
		if l == "" && len(out) == 0 {
			continue
		}
		if strings.HasPrefix(l, "#") || l == "" && !strings.HasPrefix(out[len(out)-1], "\x00") || len(out) == maxNextItems {
			break
		}
		item := l != "" && (strings.ContainsRune("-*+•", firstRune(l)) && strings.HasPrefix(strings.TrimLeft(l, "-*+•"), " ") || unicode.IsDigit(firstRune(l)))
		switch {
		case l == "":
		case item:
			out = append(out, "\x00"+bare(l))
		case len(out) > 0 && !strings.HasPrefix(out[len(out)-1], "\x00"):
			out[len(out)-1] += " " + bare(l)
		case len(out) > 0:
			return joinItems(out)
		default:
			out = append(out, bare(l))
		}
	}
	return joinItems(out)
}

func joinItems(items []string) string {
	for i := range items {
		items[i] = strings.TrimPrefix(items[i], "\x00")
		if i < len(items)-1 {
			items[i] = strings.TrimRight(items[i], ".;。；")
		}
	}
	return strings.Join(items, "; ")
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// begins tells whether s begins with one of the lower case words. A Latin word
// must end there.
func begins(s string, words []string) bool {
	s = strings.ToLower(strings.ReplaceAll(s, "’", "'"))
	for _, w := range words {
		if rest, ok := strings.CutPrefix(s, w); ok {
			after, _ := utf8.DecodeRuneInString(rest)
			before, _ := utf8.DecodeLastRuneInString(w)
			if rest == "" || before >= 0x2e80 || !unicode.IsLetter(before) || !unicode.IsLetter(after) {
				return true
			}
		}
	}
	return false
}

func ends(s string, words []string) bool {
	for _, w := range words {
		if strings.HasSuffix(s, w) {
			return true
		}
	}
	return false
}
