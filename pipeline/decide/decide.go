// Package decide answers one question: can a model take a thread over as it
// is, or must the thread be compressed first, and to what size?
//
// It is pure arithmetic over figures its callers bring, and it never fails:
//
//	[1] usable   = min(window × effective %, input limit, window − reserve)
//	[2] ceiling  = the fill at which the target's own program compacts, ≤ usable
//	[3] room     = ceiling − overhead (system prompt, tools, project files)
//	[4] T        = ceil(tokens × factor) + framing: the thread in the target's own
//	             tokens at most, with what the chat format puts around messages
//	[5] limit    = room, or comfort × room under PolicyComfortable
//	    T  ≤ limit   direct
//	    T' ≤ limit   compress, shrunk: T' is the thread with its tool outputs
//	                 replaced by references, budget = limit − framing
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

import (
	"math"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

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
	// Measured says that OverheadTokens was measured on this very thread, rather
	// than assumed for all.
	Measured bool
	// Encoding names the vocabulary the thread was counted with.
	Encoding string
	// Factor converts counted tokens to the target's, as an upper bound;
	// values below 1 count as 1. Four decimals are used.
	Factor float64
	// FactorTypical and FactorLow are the same at the median and as a lower
	// bound; 0 counts as Factor and as 1.
	FactorTypical, FactorLow float64
	// FramingTokens is what the target's chat format adds to the texts of the
	// thread's messages, in the target's tokens.
	FramingTokens int
	// Exact says that Encoding is the target's own vocabulary.
	Exact bool
	// CountSource says whose the factors are, if they aren't the program's own.
	CountSource string
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
	TargetTokens  int     `json:"target_tokens"`  // Count.Hi + MessageOverhead, what is compared
	Encoding      string  `json:"encoding"`
	Exact         bool    `json:"exact"` // counted exactly and in the target's own vocabulary
	Factor        float64 `json:"factor"`
	FactorTypical float64 `json:"factor_typical"`
	FactorLow     float64 `json:"factor_low"`
	// CountSource says whose the factors are, if they aren't the program's own.
	CountSource string `json:"count_source,omitempty"`
	// Count is the thread's texts in the target's own tokens, with bounds;
	// MessageOverhead what the chat format adds around its messages.
	Count           tokens.Result `json:"count"`
	MessageOverhead int           `json:"message_overhead"`

	Window           int `json:"window"`
	EffectivePercent int `json:"effective_percent"`
	Reserve          int `json:"reserve"`
	Overhead         int `json:"overhead"`
	// OverheadSource is whose word Overhead is, OverheadAssumed what is taken
	// where nothing was measured.
	OverheadSource  OverheadSource `json:"overhead_source"`
	OverheadAssumed int            `json:"overhead_assumed"`
	Ceiling         int            `json:"ceiling"`
	Room            int            `json:"room"` // in the target's tokens
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

	// Usual is how the target's tokens are counted where nothing better is known
	// of the thread; zero if that is how they are counted here. Filled in by the
	// caller, for the cache.
	Usual Basis `json:"-"`
}

// Basis is what a target's tokens are told by.
type Basis struct {
	Encoding                         string
	Exact                            bool
	Factor, FactorTypical, FactorLow float64
	CountSource                      string
}

// Basis is that of the decision.
func (d *Decision) Basis() Basis {
	return Basis{d.Encoding, d.Exact, d.Factor, d.FactorTypical, d.FactorLow, d.CountSource}
}

// Rest puts the decision on another basis. Tokens stay as they are.
func (d *Decision) Rest(b Basis) {
	d.Encoding, d.Exact, d.Factor, d.FactorTypical, d.FactorLow, d.CountSource = b.Encoding, b.Exact, b.Factor, b.FactorTypical, b.FactorLow, b.CountSource
}

// Stand sets what stands before the conversation, as far as the ceiling allows.
func (d *Decision) Stand(overhead int, s OverheadSource) {
	d.Overhead, d.OverheadSource = overhead, s
	d.Room = d.Ceiling - d.Overhead
}

// For decides whether the target w can take over a thread of so many tokens.
//
// shrunkTokens is the same thread with every user and assistant word kept and
// its tool outputs replaced by references; a negative value means that this
// form is not to be had. exact says that tokens were counted, not estimated.
// Negative token counts are taken as 0; nothing overflows.
func For(w Window, sessionTokens, shrunkTokens int, exact bool, p Options) Decision {
	r := roomOf(w, p)
	factor, framing := parts(clampFactor(w.Factor)), max(w.FramingTokens, 0)
	need := plus(scaleUp(max(sessionTokens, 0), factor), framing)
	comfortable := share(r.room, comfortOf(p))

	d := Decision{
		TargetModel: w.Model, Surface: w.Surface,
		SessionTokens: max(sessionTokens, 0), TargetTokens: need,
		Encoding: w.Encoding, Exact: exact && w.Exact,
		Factor: float64(factor) / one, FactorTypical: w.FactorTypical, FactorLow: w.FactorLow, CountSource: w.CountSource,
		Window: w.WindowTokens, EffectivePercent: effectivePercent(w),
		Reserve: r.reserve, Overhead: r.overhead, OverheadSource: OverheadAssumed, OverheadAssumed: r.assumed, Ceiling: r.ceiling, Room: r.room,
		WindowSource: w.Source, WindowDate: w.Date,
		MatchedBy: w.MatchedBy, Confidence: w.Confidence,
	}
	if w.Measured && w.OverheadTokens != 0 {
		d.OverheadSource = OverheadMeasured
	}
	d.Recount()
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
	if shrunkTokens >= 0 && plus(scaleUp(shrunkTokens, factor), framing) <= limit {
		d.Strategy = Shrunk
		budget = scaleDown(limit-framing, factor)
	} else {
		d.Strategy = Selected
		budget = min(budget, max(MinBudget, min(r.room/4, MaxBudget)))
	}
	d.Budget = &budget
	return d
}

// Recount fills in Count and MessageOverhead from the figures that they follow
// from, which are all that a cache needs to keep.
func (d *Decision) Recount() {
	d.Count = d.Converted(d.SessionTokens)
	d.MessageOverhead = max(d.TargetTokens-int(d.Count.Hi), 0)
}

// Converted gives so many tokens of Encoding in the target's own.
func (d *Decision) Converted(counted int) tokens.Result {
	factor := parts(clampFactor(d.Factor))
	r := tokens.Ratio{Low: d.FactorLow, Typical: d.FactorTypical, High: float64(factor) / one}
	if !(r.Typical > 0) {
		r.Typical = r.High
	}
	if !(r.Low > 0) {
		r.Low = 1
	}
	r.Typical = min(r.Typical, r.High)
	r.Low = min(r.Low, r.Typical)
	c := r.Apply(int64(counted), d.Encoding, d.Exact)
	if c.Method == tokens.Estimated {
		c.Source = d.CountSource
	}
	c.Hi = int64(scaleUp(max(counted, 0), factor)) // the very figure that is compared
	return c
}

// plus adds and stays an int.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
