// Package decide answers one question: can a model take a thread over as it
// is, or must the thread be compressed first, and to what size?
//
// It is pure arithmetic over figures its callers bring, and it never fails:
//
//	[1] usable   = min(window × effective %, input limit, window − reserve)
//	[2] ceiling  = the fill at which the target's own program compacts, ≤ usable
//	[3] room     = ceiling − overhead (system prompt, tools, project files)
//	[4] T        = ceil(tokens × factor): the thread in the target's own tokens
//	[5] limit    = room, or comfort × room under PolicyComfortable
//	    T  ≤ limit   direct
//	    T' ≤ limit   compress, shrunk: T' is the thread with its tool outputs
//	                 replaced by references, budget = limit
//	    otherwise    compress, selected: budget = clamp(room / 4, 4,000, 32,000),
//	                 never above the limit
//
// The inequality is "less than or equal": a thread of exactly the limit is
// direct, one token more is not. Every division rounds so that an answer is
// never too generous: shares of a window down, token estimates up.
//
// Reserve, threshold and overhead shrink with tiny windows, so a window of a
// few thousand tokens still leaves room. All steps are monotone: more tokens
// never turn compress into direct, a larger window never turns direct into
// compress.
package decide

import "time"

// Default figures. The reasons are with each.
const (
	// DefaultReserve is kept free for the answer in tokens, unless the model
	// can only write less. Agents cap their own reserve at this figure too;
	// holding back a full output of 64k to 128k would waste a third of a
	// 200k window.
	DefaultReserve = 20_000
	// DefaultComfort is the share of the room below which a thread leaves
	// the target enough to work in before it compacts for the first time.
	DefaultComfort = 0.6
	// MinBudget and MaxBudget bound the budget of a selection in tokens:
	// below, a hand-over says too little; above, it gains next to nothing.
	MinBudget = 4_000
	MaxBudget = 32_000
)

// Window is what a target takes in: one model on one surface.
type Window struct {
	// Model is the id the target is asked for by.
	Model string
	// Surface is the program or service that runs the model: "api", "codex",
	// "claude-code", "copilot", "gemini-cli". Others count as "api".
	Surface string
	// WindowTokens is the whole window, input and output.
	WindowTokens int
	// InputLimit is a separate limit on the input in tokens, 0 if there is none.
	InputLimit int
	// MaxOutput is the longest answer in tokens, 0 if unknown.
	MaxOutput int
	// EffectivePercent is the share of the window the surface really uses;
	// 0 means all of it.
	EffectivePercent int
	// Ceiling is the rule for the threshold of automatic compaction; the zero
	// value takes the surface's.
	Ceiling CeilingRule
	// OverheadTokens is what the target puts before the conversation; 0 takes
	// the surface's default, a negative value means nothing.
	OverheadTokens int
	// Encoding names the vocabulary the thread was counted with.
	Encoding string
	// Factor converts counted tokens to the target's, as an upper bound;
	// values below 1 count as 1. Four decimals are used.
	Factor float64
	// Exact says that Encoding is the target's own vocabulary.
	Exact bool
	// Source, Date, MatchedBy and Confidence tell where the figures are from;
	// they are handed through.
	Source, Date, MatchedBy, Confidence string
}

// Options are the caller's wishes; the zero value is the default policy.
type Options struct {
	// Reserve replaces the default reserve in tokens; 0 keeps the default, a
	// negative value reserves nothing.
	Reserve int
	// Comfort replaces DefaultComfort; values outside (0, 1] keep the default.
	Comfort float64
	// Policy says which limit a direct verdict must keep to.
	Policy Policy
}

// Decision is a verdict with all figures it rests on. Tokens are of Encoding
// unless said otherwise.
type Decision struct {
	TargetModel string   `json:"target_model"`
	Surface     string   `json:"surface"`
	Verdict     Verdict  `json:"verdict"`
	Strategy    Strategy `json:"strategy"` // null when direct
	Fit         Fit      `json:"fit"`

	SessionTokens int     `json:"session_tokens"` // as counted
	TargetTokens  int     `json:"target_tokens"`  // SessionTokens × Factor, what is compared
	Encoding      string  `json:"encoding"`
	Exact         bool    `json:"exact"` // counted exactly and in the target's own vocabulary
	Factor        float64 `json:"factor"`

	Window           int `json:"window"`
	EffectivePercent int `json:"effective_percent"`
	Reserve          int `json:"reserve"`
	Overhead         int `json:"overhead"`
	Ceiling          int `json:"ceiling"`
	Room             int `json:"room"` // in the target's tokens
	// Budget is what the hand-over may count in tokens of Encoding, so that
	// Budget × Factor keeps to the limit; nil when direct.
	Budget *int `json:"budget"`

	// What the hand-over holds is filled in by the caller.
	KeptTokens      int `json:"kept_tokens"`
	KeptMessages    int `json:"kept_messages"`
	OmittedMessages int `json:"omitted_messages"`

	WindowSource string `json:"window_source"`
	WindowDate   string `json:"window_date"`
	MatchedBy    string `json:"matched_by"`
	Confidence   string `json:"confidence"`

	// When and up to which item, filled in by the caller.
	ComputedAt time.Time `json:"computed_at"`
	ThroughSeq int64     `json:"through_seq"`
}

// For decides whether the target w can take over a thread of so many tokens.
//
// shrunkTokens is the same thread with every user and assistant word kept and
// its tool outputs replaced by references; a negative value means that this
// form is not to be had. exact says that tokens were counted, not estimated.
// Negative token counts are taken as 0; nothing overflows.
func For(w Window, tokens, shrunkTokens int, exact bool, p Options) Decision {
	r := roomOf(w, p)
	factor := parts(clampFactor(w.Factor))
	need := scaleUp(max(tokens, 0), factor)
	comfortable := share(r.room, comfortOf(p))

	d := Decision{
		TargetModel: w.Model, Surface: w.Surface,
		SessionTokens: max(tokens, 0), TargetTokens: need,
		Encoding: w.Encoding, Exact: exact && w.Exact,
		Factor: float64(factor) / one,
		Window: w.WindowTokens, EffectivePercent: effectivePercent(w),
		Reserve: r.reserve, Overhead: r.overhead, Ceiling: r.ceiling, Room: r.room,
		WindowSource: w.Source, WindowDate: w.Date,
		MatchedBy: w.MatchedBy, Confidence: w.Confidence,
	}
	switch {
	case need <= comfortable:
		d.Fit = Comfortable
	case need <= r.room:
		d.Fit = Tight
	case need > r.room:
		d.Fit = Over
	}

	// [5] The limit is in the target's tokens, budgets are in counted ones.
	limit := r.room
	if p.Policy == PolicyComfortable {
		limit = comfortable
	}
	if need <= limit {
		d.Verdict = Direct
		return d
	}
	d.Verdict = Compress
	budget := scaleDown(limit, factor)
	if shrunkTokens >= 0 && scaleUp(shrunkTokens, factor) <= limit {
		d.Strategy = Shrunk
	} else {
		d.Strategy = Selected
		budget = min(budget, max(MinBudget, min(r.room/4, MaxBudget)))
	}
	d.Budget = &budget
	return d
}
