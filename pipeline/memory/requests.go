package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// ownWords takes what an editor put in front of a request off it.
func ownWords(s string) string {
	head, own, ok := strings.Cut(s, "## My request for Codex:")
	if ok && strings.HasPrefix(strings.TrimSpace(head), "# Context from my IDE setup") {
		return strings.TrimSpace(own)
	}
	return s
}

// steerWords make a message that only pushes on: all words of it must be from
// here. The map is only read.
var steerWords = map[string]bool{
	"y": true, "yes": true, "yep": true, "yeah": true, "ok": true, "okay": true, "k": true, "sure": true, "fine": true, "good": true, "great": true,
	"continue": true, "go": true, "on": true, "ahead": true, "proceed": true, "keep": true, "going": true, "resume": true, "please": true, "next": true,
	"do": true, "it": true, "that": true, "thanks": true, "thank": true, "you": true, "carry": true, "lgtm": true, "yup": true, "retry": true, "again": true,
	"ja": true, "weiter": true, "mach": true, "bitte": true, "gut": true, "danke": true, "genau": true, "passt": true, "los": true,
	"oui": true, "continuez": true, "sí": true, "si": true, "sigue": true, "continúa": true, "vas-y": true, "vas": true, "d'accord": true, "merci": true, "vale": true, "dale": true, "adelante": true, "gracias": true,
	"да": true, "продолжай": true, "продолжайте": true, "дальше": true, "хорошо": true, "ок": true, "спасибо": true, "давай": true,
	"네": true, "예": true, "계속": true, "계속해": true, "계속해줘": true, "계속해주세요": true, "좋아": true, "좋아요": true, "응": true, "진행해": true, "진행해줘": true,
	"开始吧": true, "来吧": true, "接着干": true, "接着来": true, "行吧": true, "可以的": true, "好呀": true, "没错": true, "ok的": true,
	"继续": true, "繼續": true, "好": true, "好的": true, "可以": true, "是": true, "是的": true, "嗯": true, "行": true, "对": true, "请继续": true, "接着": true,
	"继续吧": true, "好吧": true, "没问题": true, "谢谢": true, "下一步": true, "接着做": true, "确认": true, "同意": true,
	"はい": true, "続けて": true, "続けてください": true, "お願いします": true, "続き": true, "次": true, "いいよ": true, "進めて": true, "そうです": true, "了解": true, "了解です": true, "ありがとう": true, "ありがとうございます": true,
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

// ruleWords mark a sentence that sets a rule; they match whole words. Both
// lists are only read.
var (
	ruleWords = []string{
		"never", "don't", "do not", "dont", "must", "mustn't", "only", "always", "without", "at most", "no more than", "make sure", "not allowed", "avoid", "nothing else", "unless", "no commit", "no commits", "leave alone",
		"nie", "niemals", "bitte nicht", "soll nicht", "muss", "müssen", "darf", "nur", "immer", "keine", "kein", "keinen", "auf keinen fall", "höchstens", "nichts", "ohne",
		"jamais", "ne pas", "n'utilise pas", "ne touche pas", "ne modifie pas", "seulement", "uniquement", "toujours", "il faut", "au plus", "sans",
		"nunca", "no toques", "no cambies", "solo", "sólo", "siempre", "hay que", "debe", "como máximo", "sin",
		"никогда", "нельзя", "только", "всегда", "должен", "должна", "должно", "не трогай", "не меняй", "не более", "обязательно",
	}
	// ruleWide mark one in languages that don't set spaces.
	ruleWide = pattern.Lazy(`(?:^|[^要])不要|(?:^|[^能])不能|不得|不准|不许|(?:^|[^可])不可(?:以|能)?|必须|务必|禁止|只能|只准|只许|一定要|千万|(?:^|[，,。；、 先请也都就你们])别[^的人处名墅扭]|必須|先别|仅|始终|确保|` +
		`しないで|ないでください|必ず|だけ|のみ|てはいけない|絶対|하지 ?마|지 ?말|반드시|절대|만 (?:사용|수정|변경)|항상`)
)

const (
	ruleMin = 6   // bytes
	ruleMax = 240 // UTF-16 units: longer is a story, not a rule
)

var listMark = pattern.Lazy(`^(?:[-*•]|\d{1,2}[.)、])\s+`)

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
			s = listMark().ReplaceAllString(strings.TrimLeft(s, "# \t"), "")
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
	for i := 0; i < len(l); i++ {
		if l[i] >= utf8.RuneSelf {
			return ruleWide().MatchString(l)
		}
	}
	return false
}

// numbered tells text that ends with the number of a list's item.
func numbered(s string) bool {
	i := strings.LastIndexByte(s, ' ') + 1
	before := strings.TrimSpace(s[:i])
	return len(s[i:]) < 3 && s[i:] != "" && strings.Trim(s[i:], "0123456789") == "" && (before == "" || strings.IndexByte(":;,", before[len(before)-1]) >= 0)
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
			if (i+1 == len(l) || l[i+1] == ' ') && !numbered(l[start:i]) {
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
