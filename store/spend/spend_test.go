package spend_test

import (
	"errors"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/store/spend"
)

func TestCapsHold(t *testing.T) {
	spent, next := spend.Sum{Calls: 9, Input: 900, Output: 50, MicroUSD: 999}, spend.Sum{Calls: 1, Input: 50, MicroUSD: 1}
	for name, tt := range map[string]struct {
		caps spend.Caps
		what string
	}{
		"none":        {spend.Caps{Calls: spend.NoCap, Tokens: spend.NoCap, MicroUSD: spend.NoCap}, ""},
		"nothing":     {spend.Caps{}, "calls"},
		"no money":    {spend.Caps{Calls: spend.NoCap, Tokens: spend.NoCap}, "micro-USD"},
		"all reached": {spend.Caps{Calls: 10, Tokens: 1000, MicroUSD: 1000}, ""},
		"calls":       {spend.Caps{Calls: 9, Tokens: 1000, MicroUSD: spend.NoCap}, "calls"},
		"tokens":      {spend.Caps{Calls: 10, Tokens: 999, MicroUSD: spend.NoCap}, "tokens"},
		"money":       {spend.Caps{Calls: 10, Tokens: spend.NoCap, MicroUSD: 999}, "micro-USD"},
	} {
		err := tt.caps.Allow(spent, next)
		var cap *spend.CapError
		if errors.As(err, &cap); (err != nil) != (tt.what != "") || err != nil && (cap.What != tt.what || !errors.Is(err, spend.ErrCap)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A cap of 0 also holds for what costs nothing.
func TestACapOfNothing(t *testing.T) {
	if err := (spend.Caps{Calls: spend.NoCap, Tokens: spend.NoCap}).Allow(spend.Sum{}, spend.Sum{}); !errors.Is(err, spend.ErrCap) {
		t.Errorf("got %v", err)
	}
}

func TestCostIsRoundedUp(t *testing.T) {
	for _, tt := range []struct {
		tokens int64
		price  float64
		want   int64
	}{{1_000_000, 0.02, 20_000}, {1, 0.02, 1}, {0, 5, 0}, {5, 0, 0}} {
		if got := spend.Cost(tt.tokens, tt.price); got != tt.want {
			t.Errorf("%d at %v: %d, want %d", tt.tokens, tt.price, got, tt.want)
		}
	}
}

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "word": 2, "words and words": 5, "数据库": 3, "é1": 2} {
		if got := spend.Estimate(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTodayBeginsWhereTheUserIs(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	now := time.Date(2026, 9, 1, 3, 4, 5, 6, zone) // still August in UTC
	if got := spend.Today(now); !got.Equal(time.Date(2026, 9, 1, 0, 0, 0, 0, zone)) {
		t.Errorf("got %v", got)
	}
}

func TestPeriodsByTheUsersClock(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	now := time.Date(2026, 12, 31, 23, 30, 0, 0, zone)
	for p, want := range map[spend.Period][2]time.Time{
		0:             {time.Date(2026, 12, 31, 0, 0, 0, 0, zone), time.Date(2027, 1, 1, 0, 0, 0, 0, zone)},
		spend.Daily:   {time.Date(2026, 12, 31, 0, 0, 0, 0, zone), time.Date(2027, 1, 1, 0, 0, 0, 0, zone)},
		spend.Monthly: {time.Date(2026, 12, 1, 0, 0, 0, 0, zone), time.Date(2027, 1, 1, 0, 0, 0, 0, zone)},
	} {
		if got := [2]time.Time{p.Began(now), p.Ends(now)}; got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	err := spend.Caps{Period: spend.Monthly, Calls: spend.NoCap, Tokens: spend.NoCap, MicroUSD: 5}.Allow(spend.Sum{MicroUSD: 5}, spend.Sum{MicroUSD: 1})
	if err == nil || err.Error() != "the month's cap is reached: 0.000005 USD" {
		t.Errorf("got %v", err)
	}
}

func TestPrices(t *testing.T) {
	for model, known := range map[string]bool{"deepseek-chat": true, "DeepSeek-Chat": true, "openai/gpt-4o-mini": true, "gpt-4o-mini-2024-07-18": true, "nobody-knows": false, "": false} {
		p, ok := spend.PriceOf(model)
		if ok != known || ok && (p.Input <= 0 || p.Output < p.Input) {
			t.Errorf("%q: %+v, %v", model, p, ok)
		}
	}
	p := spend.Price{Input: 1, Output: 10}
	if got := p.Of(3, 2); got != 23 {
		t.Errorf("costs %d", got)
	}
}
