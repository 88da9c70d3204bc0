package search

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// expression is the plainest question for what was typed: an item that it
// doesn't give doesn't hold that.
func expression(typed string) string {
	var and []string
	for _, w := range words(typed) {
		for _, p := range w.parts {
			p = `"` + p + `"`
			if w.begin {
				p += "*"
			}
			and = append(and, p)
		}
	}
	return strings.Join(and, " AND ")
}

func TestWhatAScanFindsIsFound(t *testing.T) {
	db := openCache(t)
	c := newCorpus(2)
	texts := map[int64]string{}
	for r := range int64(3) {
		var items []transcript.Item
		for i := range int64(700) {
			it := c.chunk(640)
			if i%3 == 0 {
				var b strings.Builder
				it = c.spread(&b, 640)
			}
			texts[(r+1)<<32|i+1] = strings.ToLower(it.Body())
			items = append(items, it)
		}
		commit(t, db, batch(fmt.Sprintf("019a0000-0000-7000-8000-%012x", r), 1, items...))
	}
	x := openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	catchUpWith(t, x, db)

	scan := func(w string) (ids []int64) {
		for id, text := range texts {
			if strings.Contains(text, strings.ToLower(w)) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return ids
	}
	// Of each language words of each length, often and seldom used.
	asked, runes := 0, map[int]bool{}
	for lang, list := range c.cjk {
		for n := 1; n <= 4; n++ {
			for _, from := range []int{3, 200} {
				k := slices.IndexFunc(list[from:], func(w string) bool { return utf8.RuneCountInString(w) == n && len(scan(w)) > 0 })
				if k < 0 {
					t.Fatalf("no word of %d characters in language %d", n, lang)
				}
				w := list[from+k]
				want, got := scan(w), having(t, x, expression(w))
				if missing := slices.DeleteFunc(want, func(id int64) bool { return slices.Contains(got, id) }); len(missing) > 0 {
					t.Errorf("%s (%s): %d of %d items are not found, as %s", w, expression(w), len(missing), len(want), texts[missing[0]])
				}
				asked++
				runes[n] = true
			}
		}
	}
	if asked < 20 || len(runes) != 4 {
		t.Errorf("asked for %d words of %v characters", asked, runes)
	}

	// Names by their parts and as a whole, however they are written.
	for i := range 40 {
		w := c.names[i*7]
		if len(scan(w)) == 0 {
			continue
		}
		bare := strings.NewReplacer("_", "", "-", "", ".", "").Replace(w)
		for _, typed := range []string{w, strings.ToLower(bare)} {
			got := having(t, x, expression(typed))
			whole := words(w)[0]
			for _, id := range scan(w) {
				// What stands in a longer word of letters isn't a word.
				if slices.Contains(cutUp(texts[id]), strings.ToLower(bare)) && !slices.Contains(got, id) {
					t.Errorf("%s: item %d isn't found by %q (%+v)", w, id, typed, whole)
				}
			}
		}
		for _, p := range words(w)[0].parts {
			got := having(t, x, expression(p))
			for _, id := range having(t, x, expression(w)) {
				if !slices.Contains(got, id) {
					t.Errorf("%s: item %d isn't found by its part %q", w, id, p)
				}
			}
		}
	}
}
