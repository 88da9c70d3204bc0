package search

import "strings"

// stopWords are what questions are made of in English, German, French and
// Spanish. In an index of any size their count would tell; in a small one, and
// where sessions are written in another language, it doesn't. They are written as the
// index has them.
const stopWords = ` a about after again all also an and any anyone are as at be because been before being but by can could did do does doing done for from
 had has have how i if in into is it its just many me much my need of on or our out please remember should so some than that the their them then there these they this
 those to too up us was we were what when where which who whom whose why will with would you your ever get got give go going made make
 ob aber alle als also am an auf aus bei bin bis bitte da damit dann das dass dem den denn der des dessen die dies diese diesem diesen dieser doch dort du durch ein eine einem einen einer
 er es euer fur gab gegen gibt hab habe haben hat hatte hatten hier ich ihr im in ins ist jetzt kann kein keine konnen mal man mein meine mit muss mussen nach nicht noch nun nur obwohl oder schon
 sein seine sich sie sind so soll sollen sollte um und uns unser unsere vom von vor wann war waren warum was weil welche welchem welchen welcher welches wenn wer wie wir wird wo wurde wurden zu zum zur
 au aux avec ce ces cette comment dans de des donc du elle en est et il ils je la le les leur lui ma mais mes mon nous on ou ou par pas pour pourquoi qu quand que quel quelle quelles quels qui sa ses son
 sont sur ta te tu un une vos votre vous ete etait
 al como como con cual cual cuando cuando cuando del desde donde donde el ella ellos era eran esa ese eso esta esta este esto fue ha habia hay la las lo los mas mi muy no nos nuestro o para pero por porque
 que quien quien se si sin sobre su sus tambien tiene un una unas unos y ya `

// stopPairs are the same of Chinese, Japanese and Korean, in pairs of characters,
// and characters that make a pair of it wherever they stand.
const (
	stopPairs = ` 什么 怎么 为什 么样 如何 哪个 哪些 哪里 我们 你们 他们 咱们 是不 不是 有没 没有 可以 还是 这个 那个 这些 那些 时候 一下 以后 之后 以前 之前 现在 已经 因为 所以 原因 问题 多少 解决 處理 是什 了吗
 です ます した ました して から ので どう なぜ どの どこ いつ こと もの ため よう いる ある った では には とは ない どうや うや やっ って かっ
 어떻 떻게 무엇 언제 어디 누가 우리 그리 그런 이런 있었 했습 습니 니다 나요 었나 였지 였나 이유 `
	stopCharacters = "的了吗呢吧啊么嘛是在和与或被把就也都很"
)

func stopWord(w string) bool { return strings.Contains(stopWords, " "+w+" ") }

// stopPair tells of a pair of characters, as it stands in the index.
func stopPair(p string) bool {
	return strings.Contains(stopPairs, " "+p+" ") || strings.ContainsAny(p, stopCharacters)
}
