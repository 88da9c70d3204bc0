package memory

import "github.com/session-migrator/session-migrator/pipeline/lang"

// language is that of the headings; quotes keep their own.
type language = lang.Language

const (
	english  = lang.English
	chinese  = lang.Chinese
	japanese = lang.Japanese
	korean   = lang.Korean
	german   = lang.German
	french   = lang.French
	spanish  = lang.Spanish
	russian  = lang.Russian
)
