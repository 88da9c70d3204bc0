package decide

import (
	"math"
	"math/bits"
)

// CeilingRule says at which fill the target's program compacts by itself: a
// thread that lands above it is compacted on the target's first turn.
type CeilingRule uint8

const (
	// CeilingShare is 90 % of what is usable: APIs and programs whose
	// threshold is not known.
	CeilingShare CeilingRule = iota + 1
	// CeilingCodex is 90 % of the window.
	CeilingCodex
	// CeilingClaudeCode is the window less the answer (at most 20,000) less
	// 13,000.
	CeilingClaudeCode
	// CeilingGeminiCLI is half of the window.
	CeilingGeminiCLI
)

// Overheads in tokens: what a fresh session holds before its first message.
const (
	// Measured first requests of Codex lie at 6.6k in the median, 9.2k at
	// the ninth decile.
	overheadCodex = 10_000
	// Reported fresh sessions of Claude Code hold 30k to 42k.
	overheadClaudeCode = 35_000
	// A system prompt, a set of tools and project notes of common size.
	overheadOther = 15_000
)

// claudeCodeMargin is what Claude Code keeps free beside the answer.
const claudeCodeMargin = 13_000

// room holds what is left of a window after each step.
type room struct{ reserve, ceiling, overhead, assumed, room int }

func roomOf(w Window, p Options) room {
	window := max(w.WindowTokens, 0)
	rule, assumed := surfaceRule(w.Surface)
	overhead := assumed
	if w.Ceiling != 0 {
		rule = w.Ceiling
	}
	if w.OverheadTokens != 0 {
		overhead = max(w.OverheadTokens, 0)
	}

	// [1] What can be filled at all. A wish of the user is kept to the
	// letter, the default never takes more than half of a tiny window.
	answer := answerReserve(w.MaxOutput, window)
	reserve := answer
	if p.Reserve != 0 {
		reserve = min(max(p.Reserve, 0), window)
	}
	usable := min(share(window, effectivePercent(w)*one/100), window-reserve)
	if w.InputLimit > 0 {
		usable = min(usable, w.InputLimit)
	}

	// [2] What can be filled before the target compacts.
	ceiling := usable
	switch rule {
	case CeilingShare:
		ceiling = share(usable, one*9/10)
	case CeilingCodex:
		ceiling = min(usable, share(window, one*9/10))
	case CeilingClaudeCode:
		left := window - answer
		ceiling = min(usable, left-min(claudeCodeMargin, left/4))
	case CeilingGeminiCLI:
		ceiling = min(usable, window/2)
	}

	// [3] What is left for the conversation.
	overhead, assumed = min(overhead, ceiling/4), min(assumed, ceiling/4)
	return room{reserve: reserve, ceiling: ceiling, overhead: overhead, assumed: assumed, room: ceiling - overhead}
}

// answerReserve is what the target keeps free for its answer by itself.
func answerReserve(maxOutput, window int) int {
	r := DefaultReserve
	if maxOutput > 0 {
		r = min(r, maxOutput)
	}
	return min(r, window/2)
}

// surfaceRule is the one place that knows the programs by name.
func surfaceRule(surface string) (CeilingRule, int) {
	switch surface {
	case "codex":
		return CeilingCodex, overheadCodex
	case "claude-code":
		return CeilingClaudeCode, overheadClaudeCode
	case "gemini-cli":
		return CeilingGeminiCLI, overheadOther
	}
	return CeilingShare, overheadOther
}

func effectivePercent(w Window) int {
	if w.EffectivePercent <= 0 || w.EffectivePercent > 100 {
		return 100
	}
	return w.EffectivePercent
}

// Factors and shares are whole numbers of ten-thousandths: products of floats
// would put 100 × 1.1 at 111 and make the boundary depend on rounding noise.
const one = 10_000

// maxFactor keeps a broken figure from counting as infinity.
const maxFactor = 1_000

func clampFactor(f float64) float64 {
	if !(f > 1) { // also not a number
		return 1
	}
	return min(f, maxFactor)
}

func comfortOf(p Options) int {
	if !(p.Comfort > 0 && p.Comfort <= 1) {
		return parts(DefaultComfort)
	}
	return parts(p.Comfort)
}

func parts(f float64) int { return int(math.Round(f * one)) }

// scaleUp returns ceil(n × p / one), at most the largest int.
func scaleUp(n, p int) int {
	q, r, ok := mulDiv(n, p, one)
	if !ok || (r > 0 && q == math.MaxInt) {
		return math.MaxInt
	}
	if r > 0 {
		q++
	}
	return q
}

// scaleDown returns floor(n × one / p): the most that scaleUp keeps within n.
func scaleDown(n, p int) int {
	q, _, _ := mulDiv(n, one, p) // p ≥ one, so the quotient is ≤ n
	return q
}

// share returns floor(n × p / one) for p ≤ one.
func share(n, p int) int {
	q, _, _ := mulDiv(n, p, one)
	return q
}

// mulDiv returns a × b / c and its remainder for a, b ≥ 0 and c > 0, computed
// in 128 bits; ok is false if the quotient is no int.
func mulDiv(a, b, c int) (q, r int, ok bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 0, 0, false
	}
	quo, rem := bits.Div64(hi, lo, uint64(c))
	if quo > math.MaxInt {
		return 0, 0, false
	}
	return int(quo), int(rem), true
}
