package memory

import (
	"strings"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Standing is how a thread stands beyond what its lines prove: that it is done
// or blocked is somebody's word, never a guess.
type Standing uint8

// The standings. The zero value means that nobody said so.
const (
	StandingDone Standing = iota + 1
	StandingBlocked
)

// String returns the name used in front matter; empty for none.
func (s Standing) String() string {
	switch s {
	case StandingDone:
		return "done"
	case StandingBlocked:
		return "blocked"
	}
	return ""
}

// A sentence says that all is done, or that work stands still, if it says just
// that. Patterns match whole sentences in lower case without the closing mark.
var (
	donePattern = pattern.Lazy(`^(?:(?:ok|okay|great|perfect|nice|good|super|thanks|thank you|cool|yes),? )*(?:` +
		`(?:that's|that is|this is) (?:all|it)(?: for (?:now|today))?|(?:we're|we are|i'm|i am|you're|you are) (?:all )?(?:done|finished)(?: here| with (?:this|it))?|all (?:is )?(?:done|finished)|` +
		`(?:this|it|that|the task|the job)(?:'s| is) (?:all )?(?:done|finished|complete|completed|closed|solved)(?: now)?|(?:you can |please |let's )?close (?:this|it|the (?:task|session))(?: now)?|(?:mark|set|treat) (?:this|it) as (?:done|finished|complete|completed|closed)|` +
		`(?:das ist |es ist |alles |wir sind |ist )?(?:jetzt )?(?:fertig|erledigt|abgeschlossen)|(?:das )?war's|das wäre alles|` +
		`c'est (?:bon|fini|terminé)(?:, merci)?|(?:ya )?está (?:listo|hecho|terminado)|eso es todo|готово|всё готово|на этом всё)$`)
	doneWide = pattern.Lazy(`^(?:好的?|ok|谢谢|感谢|可以了?|很好|嗯)?[，, ]*(?:(?:都|全部|全|任务|这个任务|这事|这件事)?(?:已经?|都)?(?:完成|搞定|做完|弄好|结束)了?(?:，?谢谢)?|就这样吧?|到此为止吧?|没(?:有)?别的(?:事|问题)了)$|` +
		`^(?:ok|はい|ありがとう(?:ございます)?)?[、, ]*(?:これで)?(?:完了|終わり|おしまい|大丈夫|以上)(?:です|しました|でした)$|^(?:네|감사합니다)?[, ]*(?:다 |모두 )?(?:끝났(?:어요|습니다)|완료(?:됐어요|되었습니다|입니다))$`)
	blockedPattern = pattern.Lazy(`^(?:so |ok,? |okay,? |well,? |then )*(?:` +
		`(?:this|that|it|the task|everything|we|i)(?:'s|'re|'m| is| are| am| stays| remains)(?: now| still| therefore)? (?:blocked|on hold|stuck)\b.*|(?:we're|we are|i'm|i am) (?:waiting (?:for|on|until)|blocked)\b.*|` +
		`(?:put|keep|leave) (?:this|it|that)(?: task)? on hold\b.*|(?:mark|treat|set) (?:this|it|that) as blocked\b.*|(?:park|pause) (?:this|it|that)\b.*|blocked (?:by|on|until)\b.*|stop here until\b.*|` +
		`(?:das|es|wir)(?: ist| sind| liegt)? (?:jetzt |noch |derzeit )?(?:blockiert|auf eis)\b.*|wir warten (?:auf|bis)\b.*|(?:leg|legen) (?:das|es)(?: sie)? auf eis\b.*|` +
		`c'est bloqué\b.*|on est bloqués?\b.*|esto está bloqueado\b.*|это заблокировано.*)$`)
	blockedWide = pattern.Lazy(`^(?:好的?|ok|那|这个|这事|这件事|现在|目前|任务)*[，, ]*(?:受阻|卡住了|被.{1,30}(?:卡住|阻塞|挡住)了?|先?(?:搁置|暂停)(?:一下|吧)?|先停在这(?:里|儿)?|先停一下|等.{1,40}(?:再继续|之后再说|以后再说|再说)).*$|` +
		`^(?:これは|今は|この作業は|一旦|いったん)*[、, ]*(?:ブロックされて|保留(?:に|で|です|中)|止まって|.{1,30}(?:待ちです|待ちで止まって)).*$|^(?:이건 |지금 |일단 )*(?:막혔|막혀|보류).*$`)
	wants = pattern.Lazy(`\b(?:please|fix|can you|could you|try|change|make|bitte|mach|kannst du)\b|请|帮|改|修|ください(?:ませんか)?.*直`)
)

// standingIn reads a message that says how the work stands and asks for
// nothing: each sentence of it says so, or only pushes on.
func standingIn(text string) Standing {
	if utf8.RuneCountInString(text) > 240 || strings.ContainsAny(text, "?？`") {
		return 0
	}
	var found Standing
	for _, l := range strings.Split(text, "\n") {
		for _, s := range sentences(l) {
			s = strings.ToLower(strings.ReplaceAll(oneLine(s), "’", "'"))
			s = strings.TrimRight(s, ".!;。！；… ")
			switch {
			case s == "" || isSteer(s):
			case donePattern().MatchString(s) || doneWide().MatchString(s):
				if found == 0 {
					found = StandingDone
				}
			case (blockedPattern().MatchString(s) || blockedWide().MatchString(s)) && !wants().MatchString(s):
				found = StandingBlocked
			default:
				return 0
			}
		}
	}
	return found
}

// standing finds the newest word on how the thread stands. The person's own
// counts first; what a person asked after it takes it back.
func (d *Document) standing(users []Quote) {
	if n := len(users); n > 0 {
		if s := standingIn(users[n-1].Text); s != 0 {
			d.Standing, d.Word = s, users[n-1]
			return
		}
	}
	if d.summary != nil {
		d.Standing = d.summary.Standing
	}
}

// status is the state that is shown: somebody's word, else what the lines
// prove.
func (d *Document) status() string {
	if d.Standing != 0 {
		return d.Standing.String()
	}
	return d.State.String()
}

// unfinished tells that the request has no answer.
func (d *Document) unfinished() bool {
	if d.Standing == StandingDone || d.Standing == StandingBlocked && d.Final && d.Answer.Turn >= d.Request.Turn {
		return false
	}
	return d.State != transcript.StateAnswered && d.State != transcript.StateEmpty
}
