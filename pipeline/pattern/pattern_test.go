package pattern_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

func TestPatternIsCompiledOnce(t *testing.T) {
	letters := pattern.Lazy(`^[a-z]+$`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if re := letters(); !re.MatchString("abc") || re.MatchString("1") || re != letters() {
				t.Error("not the pattern that was asked for, or not always the same")
			}
		})
	}
	wg.Wait()
}

func TestNothingIsCompiledBeforeItIsAskedFor(t *testing.T) {
	wrong := pattern.Lazy(`(`) // doesn't panic here
	defer func() {
		if recover() == nil {
			t.Error("a pattern that can't be compiled was given")
		}
	}()
	wrong()
}

func TestLazyCostsLittle(t *testing.T) {
	var kept func() *regexp.Regexp
	if n := testing.AllocsPerRun(100, func() { kept = pattern.Lazy(`(?i)\b(?:a|b|c)\b`) }); n > 3 {
		t.Errorf("%v allocations for a pattern that nobody asks for", n)
	}
	_ = kept
}
