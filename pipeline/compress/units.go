package compress

import (
	"strings"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// unit is what is shown together: a call with its result, or one message.
type unit struct {
	first  int // index of the message; of the call, if it is one
	result int // index of the call's result, -1 if there is none
}

// last is the index of the unit's newest message.
func (u unit) last() int {
	if u.result >= 0 {
		return u.result
	}
	return u.first
}

// unitsOf joins calls and results. A result belongs to the nearest earlier
// call of its id that has none yet; without an id, to the call right before
// it. A result without a call stands alone.
func unitsOf(ms []transcript.Message) []unit {
	units := make([]unit, 0, len(ms))
	open := make(map[string]int) // call id → unit
	last := -1                   // unit of the message before, if it is a call without id and result
	for i := range ms {
		m := &ms[i]
		if !m.Role.Migrates() {
			continue
		}
		if m.Role == transcript.RoleToolResult {
			u, ok := -1, false
			if m.CallID != "" {
				u, ok = open[m.CallID]
				delete(open, m.CallID)
			} else if last >= 0 {
				u, ok = last, true
			}
			if ok {
				units[u].result = i
				last = -1
				continue
			}
		}
		last = -1
		if m.Role == transcript.RoleToolCall {
			if m.CallID != "" {
				open[m.CallID] = len(units)
			} else {
				last = len(units)
			}
		}
		units = append(units, unit{first: i, result: -1})
	}
	return units
}

// tokensOf estimates the tokens of n bytes of m.
func tokensOf(m *transcript.Message, n int) int {
	size := len(m.Body())
	if n == 0 || size == 0 {
		return 0
	}
	total := m.Tokens
	if total <= 0 {
		total = (size + 3) / 4
	}
	return (total*n + size - 1) / size
}

// itemRef returns the ref of m, or of bytes of it. A message without a ref of
// its own is fetched with its turn.
func itemRef(m *transcript.Message, from, length int) Ref {
	r, err := ParseRef(m.Ref)
	if err != nil || r.Kind != RefItem {
		return Ref{Kind: RefTurns, From: m.ThreadTurn, To: m.ThreadTurn}
	}
	r.Offset, r.Len = int64(from), int64(length)
	return r
}

// lineCount counts the lines of s, a last one without an end included.
func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// clip cuts s to at most n bytes at a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:runeStart(s, n)]
}

// runeStart returns the largest border of a character that is ≤ n.
func runeStart(s string, n int) int {
	if n <= 0 {
		return 0
	}
	if n >= len(s) {
		return len(s)
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n // no UTF-8
}

// oneLine makes a short preview of s: white space collapsed, at most n
// characters.
func oneLine(s string, n int) string {
	fields := strings.Fields(clip(s, n*utf8.UTFMax*2))
	out := strings.Join(fields, " ")
	if utf8.RuneCountInString(out) <= n {
		if len(s) > n*utf8.UTFMax*2 {
			out += "…"
		}
		return out
	}
	i := 0
	for at := range out {
		if i == n {
			return out[:at] + "…"
		}
		i++
	}
	return out
}
