package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Passage is a run of bytes of one of the texts that Best was given.
type Passage struct{ Text, From, To int }

const (
	bestMost    = 40 // passages given
	bestClauses = 32 // of a question: the bits of a mask
	// A passage tells something if its words tell so much, of what those of the
	// best one do; in tenths.
	bestShare = 4
	// A word that more than one passage in so many has tells nothing.
	bestCommon = 6
)

// Best looks through n texts for the passages that say most about a question,
// best first: without an index, for texts that are at hand. Passages have some
// size bytes and end at lines where they can. Words that many of them have tell nothing; a question
// that has no others finds nothing.
func Best(asked string, size, n int, text func(i int) string) []Passage {
	_, clauses := clausesOf(term{termText, head(asked, maxQuestion)})
	clauses = slices.DeleteFunc(unique(clauses), func(c clause) bool { return c.stop })
	clauses = clauses[:min(len(clauses), bestClauses)]
	if len(clauses) == 0 {
		return nil
	}
	type entry struct {
		Passage
		mask  uint32
		words int
	}
	var (
		h     holder
		list  []entry
		all   int
		words int
		count = make([]int, len(clauses))
	)
	for i := range n {
		for _, p := range passages(text(i), size) {
			h.cut(text(i)[p.From:p.To])
			e := entry{Passage: Passage{i, p.From, p.To}, words: strings.Count(h.text, " ")}
			all++
			words += e.words
			for k := range clauses {
				if h.has(&clauses[k]) {
					e.mask |= 1 << k
					count[k]++
				}
			}
			if e.mask != 0 {
				list = append(list, e)
			}
		}
	}
	weights := make([]float64, len(clauses))
	for k, df := range count {
		if df*bestCommon <= all || df <= 2 {
			weights[k] = math.Log1p((float64(all-df) + 0.5) / (float64(df) + 0.5))
		}
	}
	score := func(e entry) float64 {
		long := float64(e.words) * float64(all) / float64(words)
		return sum(e.mask, weights) * (bm25K + 1) / (1 + bm25K*(1-bm25B+bm25B*long))
	}
	list = slices.DeleteFunc(list, func(e entry) bool { return sum(e.mask, weights) == 0 })
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(score(b), score(a)) })
	var out []Passage
	for _, e := range list[:min(len(list), bestMost)] {
		if score(e)*10 < score(list[0])*bestShare {
			break
		}
		out = append(out, e.Passage)
	}
	return out
}

// passages cuts a text where lines end, if they do, into pieces of at most half
// as much again as size.
func passages(text string, size int) (out []Passage) {
	for from := 0; from < len(text); {
		to := len(text)
		if to-from > size*3/2 {
			to = from + size
			if i := strings.LastIndexByte(text[from:to], '\n'); i > size/2 {
				to = from + i + 1
			} else {
				for to > from && text[to]&0xc0 == 0x80 {
					to--
				}
			}
		}
		if to <= from { // bytes that begin no character
			to = min(len(text), from+size)
		}
		out = append(out, Passage{From: from, To: to})
		from = to
	}
	return out
}
