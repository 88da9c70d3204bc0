// Package pattern gives regular expressions that cost nothing until they are
// used: every process would wait for all that its packages compile when it
// starts, and most match little.
package pattern

import (
	"regexp"
	"sync"
)

type lazy struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

// Lazy gives what compiles p when it is first called, and the same pattern from
// then on. It panics there if p is no pattern.
func Lazy(p string) func() *regexp.Regexp { return (&lazy{text: p}).compiled }

func (l *lazy) compiled() *regexp.Regexp {
	l.once.Do(func() { l.re = regexp.MustCompile(l.text) })
	return l.re
}
