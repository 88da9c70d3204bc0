// Package lang tells which language a person writes, of the few that documents
// are written in. It is pure.
package lang

import (
	"strings"
	"unicode"
)

// Language is one that documents are written in.
type Language uint8

// The languages. The zero value means English.
const (
	English Language = iota + 1
	Chinese
	Japanese
	Korean
	German
	French
	Spanish
	Russian
)

// languageNames are BCP 47.
var languageNames = [...]string{"", "en", "zh", "ja", "ko", "de", "fr", "es", "ru"}

// String gives the name in BCP 47.
func (l Language) String() string {
	if l > 0 && int(l) < len(languageNames) {
		return languageNames[l]
	}
	return languageNames[English]
}

// commonWords are the commonest words of languages in Latin script, besides
// those that two of them share. The map is only read.
var commonWords = map[Language]string{
	English: "the and is not i please an with on for to also how can of it this that you we are be in if then from should",
	German:  "der die das und ist nicht ich bitte ein eine mit auf für noch auch wie kann den mach dem im zu sind wir du aber wenn nur",
	French:  "le les et est pas je une avec sur pour aussi comment du dans il faut que tu nous ce cette mais sans s'il vous au aux",
	Spanish: "el los y es no yo un una con para también cómo puede del en que por favor lo las se pero sin esto esta al hay como",
}

// Of judges by what the person wrote: by its script, and where that is Latin by
// the commonest words. English if nothing else shows.
func Of(texts []string) Language {
	var han, kana, hangul, cyrillic, latin, other int
	words := make(map[string]int)
	for _, t := range texts {
		if len(t) > 4000 {
			t = t[:4000] // pasted logs speak for nobody
		}
		for _, r := range t {
			switch {
			case unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r):
				kana++
			case unicode.Is(unicode.Han, r):
				han++
			case unicode.Is(unicode.Hangul, r):
				hangul++
			case unicode.Is(unicode.Cyrillic, r):
				cyrillic++
			case r < 0x250 && unicode.IsLetter(r):
				latin++
			case unicode.IsLetter(r):
				other++
			}
		}
		for _, w := range strings.Fields(strings.ToLower(t)) {
			words[strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })]++ // no parts of names and paths
		}
	}
	// A character of Han stands for a word, a Latin one for a fifth of one;
	// names of programs and files are Latin everywhere.
	wide := han + kana
	switch {
	case wide*4 > latin && wide > other+hangul+cyrillic:
		if kana*10 > wide {
			return Japanese
		}
		return Chinese
	case hangul*3 > latin && hangul > other+cyrillic:
		return Korean
	case cyrillic > latin && cyrillic > other:
		return Russian
	}
	best, most := English, 0
	for _, l := range [...]Language{English, German, French, Spanish} {
		n := 0
		for _, w := range strings.Fields(commonWords[l]) {
			n += words[w]
		}
		if n > most {
			best, most = l, n
		}
	}
	return best
}
