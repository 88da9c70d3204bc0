package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func getMigrationDecision() *tool {
	return &tool{
		name: "get_migration_decision", title: "Get migration decision",
		description: "Decide whether a session fits a model's context window, so that the model can take it over as it is: direct (fits whole) or compress (only a selection fits), with the tokens of the session and the budget.",
		search:      "migration decision: does a session or thread fit a model context window, can another model take it over, how many tokens, budget of tokens for a target model",
		params:      []param{sessionParam, {name: "target_model", required: true, other: targetParam.other}, reserveParam},
		input: `{"type":"object","properties":{` +
			`"session":{"type":"string","description":"Session id, unique prefix of 8 or more characters, its last 8, latest, current, or rollout path"},` +
			`"target_model":{"type":"string","description":"Such as gpt-5.5, codex/gpt-5.5, name@window; all: a table. In Codex default: the caller's"},` +
			`"reserve_tokens":{"type":"integer","minimum":0,"description":"To keep free for the answer; 0: by the model"}},` +
			`"required":["session","target_model"],"additionalProperties":false}`,
		output: `{"type":"object","properties":{"session_id":{"type":"string"},"title":{"type":"string"},"target_model":{"type":"string"},"surface":{"type":"string"},` +
			`"decision":{"type":"string","enum":["direct","compress"]},"strategy":{"type":"string"},"fit":{"type":"string"},` +
			`"session_tokens":{"type":"integer"},"context_window":{"type":"integer"},"room_tokens":{"type":"integer"},"budget_tokens":{"type":"integer"},` +
			`"reserve_tokens":{"type":"integer"},"kept_messages":{"type":"integer"},"omitted_messages":{"type":"integer"},"result_tokens":{"type":"integer"},` +
			`"token_count":{"type":"string","enum":["exact","estimate"]},"target_tokens":{"type":"integer"},"target_tokens_low":{"type":"integer"},"target_tokens_high":{"type":"integer"},` +
			`"message_overhead":{"type":"integer"},"overhead_tokens":{"type":"integer"},"overhead_source":{"type":"string"},"encoding":{"type":"string"},"window_source":{"type":"string"},"confidence":{"type":"string"},` +
			`"computed_at":{"type":"string"},"decisions":{"type":"array","items":{"type":"object"}},` +
			`"memory_uri":{"type":"string"},"fresh":{"type":"boolean"},"read_bytes":{"type":"integer"},"behind_bytes":{"type":"integer"},"as_of":{"type":"string"},"age":{"type":"string"},"note":{"type":"string"}},"required":["session_id","fresh"]}`,
		run: runGetMigrationDecision,
	}
}

// verdict is a decision as it is given out. Tokens are of Encoding.
type verdict struct {
	TargetModel   string `json:"target_model"`
	Surface       string `json:"surface"`
	Decision      string `json:"decision"`
	Strategy      string `json:"strategy,omitempty"`
	Fit           string `json:"fit"`
	SessionTokens int    `json:"session_tokens"`
	Window        int    `json:"context_window"`
	Room          int    `json:"room_tokens"` // in the target's own tokens
	Budget        *int   `json:"budget_tokens,omitempty"`
	Reserve       int    `json:"reserve_tokens"`
	Kept          *int   `json:"kept_messages,omitempty"` // left out while no selection was made
	Omitted       *int   `json:"omitted_messages,omitempty"`
	Result        *int   `json:"result_tokens,omitempty"`
	Count         string `json:"token_count"`
	// In the target's own tokens: what is compared with the room, which is the
	// upper bound with what the chat format adds; the bounds; that addition.
	Target     int64 `json:"target_tokens"`
	TargetLow  int64 `json:"target_tokens_low"`
	TargetHigh int64 `json:"target_tokens_high"`
	Framing    int   `json:"message_overhead"`
	// What stands before the conversation, and whether that was measured on the
	// session or is assumed.
	Overhead       int    `json:"overhead_tokens"`
	OverheadSource string `json:"overhead_source"`
	Encoding       string `json:"encoding"`
	Source         string `json:"window_source"`
	Confidence     string `json:"confidence"`
	ComputedAt     string `json:"computed_at"`
}

type decisionAnswer struct {
	SessionID string `json:"session_id"`
	Title     string `json:"title"`
	*verdict
	Decisions []verdict `json:"decisions,omitempty"`
	MemoryURI string    `json:"memory_uri"`
	freshness
}

func runGetMigrationDecision(ctx context.Context, s *server, c call) (result, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	target, err := c.args.text("target_model")
	if err != nil {
		return result{}, err
	}
	if target != "all" {
		if target, err = s.target(h.pipe, c, true); err != nil {
			return result{}, err
		}
	}
	reserve, err := c.args.number("reserve_tokens", 0)
	if err != nil {
		return result{}, err
	}
	if reserve < 0 {
		return result{}, advise("reserve_tokens must not be negative.")
	}
	id, err := s.session(ctx, h, c)
	if err != nil {
		return result{}, err
	}
	t, err := h.db.Thread(ctx, id)
	if err != nil {
		return result{}, err
	}
	fresh, err := h.pipe.Freshness(ctx, &t)
	if err != nil {
		return result{}, err
	}
	changed := h.pipe.Verify(ctx, id)
	if changed != nil && !errors.Is(changed, store.ErrChanged) {
		return result{}, changed
	}
	if err := h.pipe.Recall(ctx, &t); err != nil {
		return result{}, err
	}
	if fresh.Behind > 0 || changed != nil || !h.pipe.Counts(&t, target) {
		// The messages are loaded for the few sessions alone that are being
		// written, or whose rows disagree, and to count them for a model whose
		// vocabulary the user imported.
		v, err := h.pipe.View(ctx, id)
		if err != nil {
			return result{}, err
		}
		if err := h.pipe.CountFor(ctx, &v, target); err != nil {
			return result{}, err
		}
		t, fresh = v.Thread, v.Fresh
	}
	out := decisionAnswer{SessionID: t.ID, Title: titleOf(t.Title), MemoryURI: memoryURI(t.ID), freshness: s.freshness(ctx, fresh)}
	if target == "all" {
		out.Decisions, err = s.everyVerdict(ctx, h, &t, reserve)
	} else {
		var d decide.Decision
		if d, err = s.decision(ctx, h, &t, target, reserve); err == nil {
			v := s.verdict(d)
			out.verdict = &v
		}
	}
	if err != nil {
		return result{}, err
	}
	return dataResult(out)
}

// decision decides for one target, by what is stored where that holds.
func (s *server) decision(ctx context.Context, h *handle, t *transcript.Thread, target string, reserve int) (decide.Decision, error) {
	if reserve == 0 {
		return s.stored(ctx, h, t, target)
	}
	opt := s.deps.PipelineOptions.Decide
	opt.Reserve = reserve
	return h.pipe.Decide(*t, target, opt), nil
}

// stored gives the decision made when the thread was taken in, or makes one if
// there is none or the thread has moved on.
func (s *server) stored(ctx context.Context, h *handle, t *transcript.Thread, target string) (decide.Decision, error) {
	ds, err := h.db.Decisions(ctx, t.ID, target)
	if err != nil {
		return decide.Decision{}, err
	}
	now := h.pipe.Decide(*t, target, decide.Options{})
	if len(ds) == 1 && ds[0].ThroughSeq == t.LastSeq && sameDecision(ds[0], now) {
		return ds[0], nil // with what a selection keeps
	}
	return now, nil
}

// sameDecision tells whether what is stored is what is decided now.
func sameDecision(a, b decide.Decision) bool {
	budget := func(d decide.Decision) int {
		if d.Budget == nil {
			return -1
		}
		return *d.Budget
	}
	return a.Verdict == b.Verdict && a.Strategy == b.Strategy && a.Fit == b.Fit && a.SessionTokens == b.SessionTokens &&
		a.TargetTokens == b.TargetTokens && budget(a) == budget(b) && a.Room == b.Room && a.Basis() == b.Basis()
}

// everyVerdict decides for all targets that are kept ready.
func (s *server) everyVerdict(ctx context.Context, h *handle, t *transcript.Thread, reserve int) ([]verdict, error) {
	ds, err := h.db.Decisions(ctx, t.ID, "")
	if err != nil {
		return nil, err
	}
	out := make([]verdict, 0, len(ds))
	for _, d := range ds {
		if now := h.pipe.Decide(*t, d.TargetModel, decide.Options{}); reserve != 0 || d.ThroughSeq != t.LastSeq || !sameDecision(d, now) {
			if d, err = s.decision(ctx, h, t, d.TargetModel, reserve); err != nil {
				return nil, err
			}
		}
		out = append(out, s.verdict(d))
	}
	return out, nil
}

func (s *server) verdict(d decide.Decision) verdict {
	v := verdict{
		TargetModel: d.TargetModel, Surface: d.Surface, Decision: d.Verdict.String(), Strategy: d.Strategy.String(), Fit: d.Fit.String(),
		SessionTokens: d.SessionTokens, Window: d.Window, Room: d.Room, Budget: d.Budget, Reserve: d.Reserve,
		Count: "estimate", Target: int64(d.TargetTokens), TargetLow: d.Count.Lo, TargetHigh: d.Count.Hi, Framing: d.MessageOverhead,
		Overhead: d.Overhead, OverheadSource: d.OverheadSource.String(), Encoding: d.Encoding, Source: d.WindowSource, Confidence: d.Confidence,
	}
	if d.Exact {
		v.Count = "exact"
	}
	if d.Verdict == decide.Direct || d.KeptMessages > 0 {
		v.Kept, v.Omitted, v.Result = &d.KeptMessages, &d.OmittedMessages, &d.KeptTokens
	}
	at := d.ComputedAt
	if at.IsZero() {
		at = s.now()
	}
	v.ComputedAt = at.UTC().Format(time.RFC3339)
	return v
}
