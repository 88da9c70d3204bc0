package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Long runs of one rune (rules of "=", blank lines, a file of zeros or of what
// is no UTF-8) are where going back costs most: dozens of tokens differ only in
// length. They are also where it is not needed. If a token t can be followed by
// some tokens and then t again, then where t stands in an encoding these can be
// put in after it and all neighbours still agree: so that is the encoding of
// the longer text. A run is therefore counted by a short one, and so many
// tokens more for so many bytes more.

const (
	// runLong is the length of a piece, in bytes, from which runs are sought.
	runLong = 1024
	// runKeep is what is left of a run at least, in bytes. The tokens at its
	// two ends may reach out of it, by less than 128 bytes each, so that what
	// lies inside is the encoding of a run of more than runProof bytes, even
	// where the pattern gives a rune at either end to another piece.
	runKeep  = 512
	runProof = runKeep - 2*127 - 2*utf8.UTFMax
	// runProved is the longest run that is encoded for the proof.
	runProved = runProof + 256
	// periodsKept bounds what is remembered. No honest text has as many.
	periodsKept = 256
)

// period says that in a long run size bytes more are count tokens more: token
// comes again. The zero period says nothing.
type period struct {
	size, count int
	token       uint32
}

// countLong counts a long piece with the runs in it cut short.
func (m *merger) countLong(piece []byte) int {
	kept, extra := m.shorten(piece)
	return extra + m.countRuns(kept)
}

// shorten returns a text that has extra tokens less than text, with shorter
// runs, or text itself. Where the pieces end does not hang on how long a long
// run is, but for numbers: they are cut in threes and left alone.
func (m *merger) shorten(text []byte) (kept []byte, extra int) {
	kept = text
	cut := false // kept is a copy
	for i := 0; i < len(text); {
		n, _ := runLength(text[i:])
		keep := n
		if n > runKeep {
			if p := m.runPeriod(text[i:]); p.size > 0 {
				times := (n - runKeep) / p.size
				extra += times * p.count
				keep = n - times*p.size
			}
		}
		if keep < n && !cut {
			kept, cut = append(make([]byte, 0, len(text)-n+keep), text[:i]...), true
		}
		if cut {
			kept = append(kept, text[i:i+keep]...)
		}
		i += n
	}
	return kept, extra
}

// runLength returns how many bytes the first rune of text goes on for, and how
// many it has.
func runLength(text []byte) (length, unit int) {
	w, n := 1, 1
	if text[0] >= utf8.RuneSelf {
		_, w = utf8.DecodeRune(text)
		n = w
	}
	for n < len(text) && text[n] == text[n-w] {
		n++
	}
	// Runes that share their first bytes are not a run.
	return n / w * w, w
}

// runPeriod returns the period of runs of the first rune of text.
func (m *merger) runPeriod(text []byte) period {
	r, w := utf8.DecodeRune(text)
	p, ok := m.periods[r]
	if !ok {
		if !unicode.Is(unicode.N, r) {
			p = m.provePeriod(text[:w])
		}
		if m.periods == nil || len(m.periods) >= periodsKept {
			m.periods = map[rune]period{}
		}
		m.periods[r] = p
	}
	return p
}

// provePeriod finds a token that comes again in a run of unit, at a distance
// that is a number of whole units, and proves that it is in the encoding of
// every run of at least runProof bytes, whichever byte of unit the run starts
// with: by trial for the lengths of one period, and thence by putting in one
// period more for all.
func (m *merger) provePeriod(unit []byte) period {
	run := make([]byte, 0, runProved+2*utf8.UTFMax)
	for len(run) < runProved+utf8.UTFMax {
		run = append(run, unit...)
	}
	last := m.lastTokens(run[:runProved])
	token, p := m.comesAgain(last, len(unit))
	if p.size == 0 || runProof+p.size > runProved {
		return period{}
	}
	for phase := range unit {
		if phase > 0 {
			last = m.lastTokens(run[phase : phase+runProved])
		}
		holds := make([]bool, len(last))
		for n := 1; n < len(last); n++ {
			holds[n] = last[n] == token || holds[n-m.v.length(last[n])]
			if n >= runProof && !holds[n] {
				return period{}
			}
		}
	}
	return p
}

// comesAgain looks in the encoding that last ends in, from its end, for a token
// that stands there twice, whole units apart, and returns it and what is
// between: the period.
func (m *merger) comesAgain(last []uint32, unit int) (uint32, period) {
	type place struct{ end, index int }
	seen := map[uint32]place{}
	index := 0
	for end := len(last) - 1; end > 0; index++ {
		id := last[end]
		if at, ok := seen[id]; ok && (at.end-end)%unit == 0 {
			return id, period{size: at.end - end, count: index - at.index, token: id}
		}
		seen[id] = place{end: end, index: index}
		end -= m.v.length(id)
	}
	return 0, period{}
}

// lastTokens returns the last token of the encoding of text[:n] for every n
// from 1 on. There is exactly one, and it agrees with the last of what is
// before it.
func (m *merger) lastTokens(text []byte) []uint32 {
	last := make([]uint32, len(text)+1)
	for n := range text {
		for id := m.v.trie.longest(text[n:]); ; {
			row := m.v.info[id]
			if n == 0 || m.agree(last[n], id) {
				last[n+m.v.length(id)] = id
			}
			shorter := uint32(row>>tokenPrefix) & tokenIDMask
			if shorter == id {
				break
			}
			id = shorter
		}
	}
	return last
}
