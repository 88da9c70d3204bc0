package decide_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/decide"
)

func drawWindow(t *rapid.T) decide.Window {
	return decide.Window{
		Surface:          rapid.SampledFrom([]string{"api", "codex", "claude-code", "gemini-cli", "copilot", "?"}).Draw(t, "surface"),
		WindowTokens:     rapid.OneOf(rapid.IntRange(-1, 100_000), rapid.IntRange(100_000, 3_000_000)).Draw(t, "window"),
		InputLimit:       rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 2_000_000)).Draw(t, "input"),
		MaxOutput:        rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 500_000)).Draw(t, "output"),
		EffectivePercent: rapid.SampledFrom([]int{0, 50, 95, 100}).Draw(t, "percent"),
		OverheadTokens:   rapid.OneOf(rapid.Just(0), rapid.IntRange(-1, 60_000)).Draw(t, "overhead"),
		Factor:           rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(0.5, 3)).Draw(t, "factor"),
	}
}

func drawOptions(t *rapid.T) decide.Options {
	return decide.Options{
		Reserve: rapid.OneOf(rapid.Just(0), rapid.IntRange(-1, 200_000)).Draw(t, "reserve"),
		Comfort: rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.01, 1)).Draw(t, "comfort"),
		Policy:  rapid.SampledFrom([]decide.Policy{0, decide.PolicyFits, decide.PolicyComfortable}).Draw(t, "policy"),
	}
}

func TestMoreTokensNeverFitBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWindow(t), drawOptions(t)
		less := rapid.IntRange(0, 3_000_000).Draw(t, "less")
		more := less + rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 1_000_000)).Draw(t, "added")
		a, b := decide.For(w, less, less/2, true, p), decide.For(w, more, more/2, true, p)
		if b.Verdict < a.Verdict || b.Fit < a.Fit || b.Strategy < a.Strategy {
			t.Fatalf("%d tokens: %v %v %v, %d tokens: %v %v %v",
				less, a.Verdict, a.Strategy, a.Fit, more, b.Verdict, b.Strategy, b.Fit)
		}
	})
}

func TestLargerWindowNeverFitsWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWindow(t), drawOptions(t)
		tokens := rapid.IntRange(0, 3_000_000).Draw(t, "tokens")
		small := decide.For(w, tokens, tokens/2, true, p)
		w.WindowTokens += rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 1_000_000)).Draw(t, "added")
		large := decide.For(w, tokens, tokens/2, true, p)
		if large.Room < small.Room || large.Verdict > small.Verdict || large.Fit > small.Fit {
			t.Fatalf("room %d %v %v, with the larger window %d %v %v",
				small.Room, small.Verdict, small.Fit, large.Room, large.Verdict, large.Fit)
		}
	})
}

// The edge is found by bisection, not by the formula: the last thread that is
// direct keeps to the room in the target's tokens, the next one does not.
func TestBoundaryIsTheRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWindow(t), drawOptions(t)
		p.Policy = decide.PolicyFits
		lo, hi := 0, 1<<40
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; decide.For(w, mid, -1, true, p).Verdict == decide.Direct {
				lo = mid
			} else {
				hi = mid
			}
		}
		last, next := decide.For(w, lo, -1, true, p), decide.For(w, hi, -1, true, p)
		if last.TargetTokens > last.Room || next.TargetTokens <= next.Room {
			t.Fatalf("edge between %d (%d) and %d (%d) of room %d",
				lo, last.TargetTokens, hi, next.TargetTokens, last.Room)
		}
		if w.Factor <= 1 && lo != last.Room {
			t.Fatalf("edge at %d, room %d", lo, last.Room)
		}
	})
}

func TestHandOverKeepsToTheRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWindow(t), drawOptions(t)
		tokens := rapid.IntRange(0, 3_000_000).Draw(t, "tokens")
		shrunk := rapid.IntRange(-1, tokens).Draw(t, "shrunk")
		d := decide.For(w, tokens, shrunk, true, p)
		if d.Room < 0 || d.Ceiling > max(w.WindowTokens, 0) || d.Ceiling-d.Overhead != d.Room {
			t.Fatalf("figures do not add up: %+v", d)
		}
		if w.InputLimit > 0 && d.Ceiling > w.InputLimit {
			t.Fatalf("ceiling %d above the input limit %d", d.Ceiling, w.InputLimit)
		}
		if d.Verdict == decide.Direct {
			return
		}
		if again := decide.For(w, *d.Budget, -1, true, p); again.Verdict != decide.Direct {
			t.Fatalf("a hand-over of the whole budget %d is not direct in room %d", *d.Budget, d.Room)
		}
		if d.Strategy == decide.Shrunk && shrunk > *d.Budget {
			t.Fatalf("%d shrunk tokens above the budget %d", shrunk, *d.Budget)
		}
	})
}
