// Package capacity knows what each model takes in: its window, the vocabulary
// its text is counted with, and since when and on whose word we believe so.
//
// Figures belong to a surface, a host and a model together, never to a name
// alone: the same model has 1,050,000 tokens at the vendor's API, 272,000 in
// Codex and something else at a reseller. The way from a name to figures, the
// first step that answers ends it:
//
//	[1] a row brought by With: the user's override, then what a session
//	    reported, then what a vendor answered
//	[2] exact       the id as written, at the host named or the model's vendor
//	[3] host        the normalised id at the host named
//	[4] normalized  the normalised id in the words of its vendor
//	[5] prefix      a known id the name begins with, if what follows cannot
//	                be another model
//	[6] percentile  the low end of what all hosts say of the normalised id
//	[7] none        128,000 tokens, said to be a default in every answer
//
// There is no step that guesses a window from a family of models: a name that
// merely looks like a known one was wrong by a factor of five elsewhere.
// Only the counting factor is taken by family, as upper bound.
//
// Steps up to [5] read a small table; only names that it does not hold and
// names at a reseller read the large one, once a process.
package capacity

import (
	"errors"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// Surfaces: the programs and services that figures belong to. Without a
// prefix such as "codex/" a name means SurfaceAPI.
const (
	SurfaceAPI        = "api"
	SurfaceCodex      = "codex"
	SurfaceClaudeCode = "claude-code"
	SurfaceCopilot    = "copilot"
	SurfaceGeminiCLI  = "gemini-cli"
)

// Figures for a model nobody knows: the window most models have at least, and
// an answer of common length.
const (
	UnknownWindow    = 128_000
	UnknownMaxOutput = 8_192
)

// ErrUnknown says that a name is in no table; the model beside it carries the
// default figures.
var ErrUnknown = errors.New("model is unknown")

// ErrWindow says that a name ends in "@" and something that is no window: no
// number of 256 to 100,000,000 tokens. Such a name is unknown too; the model
// beside it carries the default figures, not those of the name before the "@".
var ErrWindow = errors.New("window in the name is no number of tokens")

// Model is what one model takes in on one surface. Figures are in the model's
// own tokens.
type Model struct {
	// ID is the id of the row found; the name as asked for if there is none.
	ID      string `json:"id"`
	Surface string `json:"surface"`
	// Host is who runs the model, in the words of models.dev; Vendor made it.
	// Either may be empty.
	Host   string `json:"host"`
	Vendor string `json:"vendor,omitempty"`
	// Family is of the models whose tokens are counted alike; empty if none is
	// known.
	Family string `json:"family,omitempty"`
	// Window is the whole window, Input a separate limit on the input or 0,
	// MaxOutput the longest answer or 0 if unknown.
	Window    int `json:"window"`
	Input     int `json:"input"`
	MaxOutput int `json:"max_output"`
	// EffectivePercent is the share of Window the surface uses, 1 to 100.
	EffectivePercent int `json:"effective_percent"`
	// Encoding is what to count text with; CountExact says that it is the
	// model's own. Otherwise Factor converts counted tokens to the model's at
	// the median and FactorHigh at the upper end; decide on the latter.
	Encoding   tokens.Encoding `json:"encoding"`
	CountExact bool            `json:"count_exact"`
	Factor     float64         `json:"factor"`
	FactorHigh float64         `json:"factor_high"`
	// FactorLow is the lower end.
	FactorLow float64 `json:"factor_low"`
	// Framing is what the model's chat format adds to the texts of messages.
	Framing Framing `json:"framing"`
	// Source is where the figures are from, Date since when (2026-09-28, may
	// be empty), Basis whose word it is.
	Source Origin `json:"source"`
	Date   string `json:"date"`
	Basis  string `json:"basis,omitempty"`
	// MatchedBy is how the name led here, Confidence how far to trust it.
	MatchedBy  Match      `json:"matched_by"`
	Confidence Confidence `json:"confidence"`
	// Note is a sentence for people, often empty.
	Note string `json:"note,omitempty"`
}

// Known says whether the figures are more than a default.
func (m Model) Known() bool { return m.Source != OriginDefault }

// Ratio converts tokens counted with Encoding to the model's own.
func (m Model) Ratio() tokens.Ratio {
	return tokens.Ratio{Low: m.FactorLow, Typical: m.Factor, High: m.FactorHigh}
}

// Observed makes a row of the window that a Codex session reported for its
// model on the given day (2026-09-28). The reported figure is already what
// Codex will use, so all of it is effective. Give it to With while it is
// younger than a month; a window changes under the same name.
func Observed(model string, usableTokens int, date string) Model {
	return Model{
		ID: model, Surface: SurfaceCodex, Window: usableTokens, EffectivePercent: 100,
		Source: OriginObserved, Date: date, Basis: "reported by a session",
		MatchedBy: MatchObserved, Confidence: ConfidenceHigh,
	}
}

// DefaultTargets returns the models that decisions are kept ready for when the
// user names none, most used vendors first.
func DefaultTargets() []string {
	return []string{
		"codex/gpt-6.2-sol", "codex/gpt-6.1-sol", "codex/gpt-6-sol", "codex/gpt-5.6-sol", "codex/gpt-5.5",
		"gpt-6.1-sol", "gpt-6-sol", "gpt-5.6-sol", "gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex", "gpt-5", "gpt-4.1",
		"claude-code/claude-fable-5-1", "claude-code/claude-opus-5-5", "claude-code/claude-sonnet-5-5",
		"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-sonnet-4-6", "claude-haiku-4-5",
		"gemini-cli/gemini-3.8-flash", "gemini-4-argon", "gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-2.5-pro",
		"deepseek-v4-pro", "deepseek-v4-flash", "deepseek-chat",
		"qwen3.8-max", "qwen3.7-max", "qwen3-coder-plus",
		"kimi-k3", "kimi-k2.6", "glm-5.3", "glm-5.1", "MiniMax-M3",
		"hy4-preview", "hy3", "doubao-seed-2-1-pro-260628",
		"grok-4.7", "grok-4.5", "mistral-large-2512", "llama-4-maverick", "llama-3.3-70b-instruct",
	}
}
