package capacity

import (
	"cmp"
	"slices"
	"strings"
)

// Search returns the rows that a query may mean, the best match first, at most
// limit of them and none with a smaller window than minWindow. An empty query
// means every row of the small table. What Lookup finds goes first.
func (t *Table) Search(query string, minWindow, limit int) []Model {
	var found []scored
	n := t.core.name(query)
	words := queryWords(query)
	add := func(m Model, canon string) {
		if m.Window < minWindow || n.surface != "" && m.Surface != n.surface {
			return
		}
		if s := score(n, words, m, canon); s > 0 {
			found = append(found, scored{m, s})
		}
	}
	if len(words) > 0 && !strings.Contains(query, " ") {
		if m, err := t.Lookup(query); err == nil && m.Window >= minWindow {
			found = append(found, scored{m, 1_000})
		}
	}
	for _, e := range t.extra {
		if m := e.over(t.base(e)); m.ID != "" {
			add(m, e.name.canon)
		}
	}
	for i, m := range t.core.rows {
		add(m.matched(MatchExact), t.core.canon[i])
	}
	if len(found) < limit && len(words) > 0 {
		for _, r := range t.hosts().rows {
			if likely(words, r) {
				add(r.model().matched(MatchExact), r.canon)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return distinct(found, limit)
}

// queryWords splits a query at spaces and slashes and normalises each word.
func queryWords(query string) []string {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return r == ' ' || r == '/' })
	for i, w := range words {
		var n name
		words[i] = n.canonical(w)
	}
	return words
}

type scored struct {
	Model
	score int
}

// base returns what the tables say for a row brought by With.
func (t *Table) base(e extra) Model {
	m, _ := t.tables(e.name, orElse(e.Surface, SurfaceAPI))
	return m
}

// likely is a cheap test before a host's row is made.
func likely(words []string, r hostRow) bool {
	for _, w := range words {
		if !strings.Contains(r.canon, w) && !strings.Contains(r.host, w) {
			return false
		}
	}
	return true
}

// score says how well a row answers a query; 0 is not at all.
func score(n name, words []string, m Model, canon string) int {
	if len(words) == 0 {
		return 1
	}
	var s int
	switch {
	case canon == n.canon:
		s = 100
	case strings.HasPrefix(canon, n.canon):
		s = 50
	case strings.Contains(canon, n.canon):
		s = 30
	default:
		where := canon + " " + m.Surface + " " + m.Host + " " + m.Vendor
		for _, w := range words {
			if !strings.Contains(where, w) {
				return 0
			}
		}
		s = 10
	}
	if n.host != "" && m.Host == n.host {
		s += 5
	}
	if m.Source != OriginTable {
		s += 3
	}
	return s + int(m.Confidence)/int(ConfidenceHigh)
}

func distinct(found []scored, limit int) []Model {
	type key struct{ surface, host, id string }
	seen := map[key]bool{}
	var out []Model
	for _, f := range found {
		k := key{f.Surface, f.Host, strings.ToLower(f.ID)}
		if seen[k] {
			continue
		}
		if len(out) == limit {
			break
		}
		seen[k] = true
		out = append(out, f.Model)
	}
	return out
}

// Closest returns up to n ids that an unknown name may have been meant to be,
// the closest first; none if nothing is close.
func (t *Table) Closest(id string, n int) []string {
	asked := t.core.name(id)
	type near struct {
		id   string
		dist int
	}
	var all []near
	seen := map[string]bool{}
	for i, canon := range t.core.canon {
		d := distance(asked.canon, canon)
		if d > max(2, len(asked.canon)/4) || seen[t.core.rows[i].ID] {
			continue
		}
		seen[t.core.rows[i].ID] = true
		all = append(all, near{t.core.rows[i].ID, d})
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.dist, b.dist) })
	var out []string
	for _, a := range all[:min(n, len(all))] {
		out = append(out, a.id)
	}
	return out
}

// distance is how many characters must be put in, taken out, changed or
// swapped with their neighbour to get from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
