package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// steerWords make a message that only pushes on: all words of it must be from
// here. The map is only read.
var steerWords = map[string]bool{
	"y": true, "yes": true, "yep": true, "yeah": true, "ok": true, "okay": true, "k": true, "sure": true, "fine": true, "good": true, "great": true,
	"continue": true, "go": true, "on": true, "ahead": true, "proceed": true, "keep": true, "going": true, "resume": true, "please": true, "next": true,
	"do": true, "it": true, "that": true, "thanks": true, "thank": true, "you": true, "carry": true, "lgtm": true, "yup": true, "retry": true, "again": true,
	"ja": true, "weiter": true, "mach": true, "bitte": true, "gut": true, "danke": true, "genau": true, "passt": true, "los": true,
	"oui": true, "continuez": true, "sí": true, "si": true, "sigue": true, "continúa": true, "да": true, "продолжай": true, "네": true, "계속": true,
	"继续": true, "繼續": true, "好": true, "好的": true, "可以": true, "是": true, "是的": true, "嗯": true, "行": true, "对": true, "请继续": true, "接着": true,
	"继续吧": true, "好吧": true, "没问题": true, "谢谢": true, "下一步": true, "接着做": true, "确认": true, "同意": true,
	"はい": true, "続けて": true, "続けてください": true, "お願いします": true, "続き": true, "次": true, "いいよ": true, "進めて": true, "ok です": true,
}

// isSteer tells a reply that only pushes on from a request.
func isSteer(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" {
		return true
	}
	if utf8.RuneCountInString(s) > 40 {
		return false
	}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) }) {
		if !steerWords[w] {
			return false
		}
	}
	return true
}

// ruleWords mark a sentence that sets a rule. Latin ones match whole words.
// Both lists are only read.
var (
	ruleWords = []string{
		"never", "don't", "do not", "dont", "must", "mustn't", "only", "always", "without", "at most", "no more than", "make sure", "not allowed", "avoid", "nothing else", "unless",
		"nie", "niemals", "bitte nicht", "soll nicht", "muss", "müssen", "darf", "nur", "immer", "keine", "kein", "keinen", "auf keinen fall", "höchstens",
	}
	ruleWide = []string{
		"不要", "不能", "不得", "不准", "不许", "不可", "必须", "务必", "禁止", "只能", "一定要", "别", "必須", "只要", "先别", "仅", "始终", "确保",
		"しないで", "ないでください", "禁止", "必ず", "だけ", "のみ", "てはいけない", "絶対",
	}
)

const (
	ruleMin = 6   // bytes
	ruleMax = 240 // UTF-16 units: longer is a story, not a rule
)

// rulesIn returns the sentences of text that set rules, as they stand.
func rulesIn(text string) []string {
	var rules []string
	inFence := false
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			inFence = !inFence
			continue
		}
		if inFence || len(l) > 4000 {
			continue
		}
		for _, s := range sentences(l) {
			s = strings.TrimSpace(strings.TrimLeft(s, "-*•# \t0123456789.)"))
			if len(s) < ruleMin || units(s) > ruleMax || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
				continue
			}
			if isRule(s) {
				rules = append(rules, s)
			}
		}
	}
	return rules
}

func isRule(s string) bool {
	l := strings.ToLower(strings.ReplaceAll(s, "’", "'"))
	for _, w := range ruleWords {
		for at := 0; ; {
			i := strings.Index(l[at:], w)
			if i < 0 {
				break
			}
			i += at
			before, _ := utf8.DecodeLastRuneInString(l[:i])
			after, _ := utf8.DecodeRuneInString(l[i+len(w):])
			if (i == 0 || !unicode.IsLetter(before)) && (i+len(w) == len(l) || !unicode.IsLetter(after)) {
				return true
			}
			at = i + len(w)
		}
	}
	for _, w := range ruleWide {
		if strings.Contains(l, w) {
			return true
		}
	}
	return false
}

// sentences cuts a line after its full stops.
func sentences(l string) []string {
	var out []string
	start := 0
	for i, r := range l {
		end := -1
		switch r {
		case '。', '！', '？', '；':
			end = i + utf8.RuneLen(r)
		case '.', '!', '?', ';':
			if i+1 == len(l) || l[i+1] == ' ' {
				end = i + 1
			}
		}
		if end > 0 {
			out = append(out, l[start:end])
			start = end
		}
	}
	return append(out, l[start:])
}
