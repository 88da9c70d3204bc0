package summarizing

import (
	"errors"
	"testing"
	"time"
)

func TestWhoIsDue(t *testing.T) {
	r := rules{chars: 8000, turns: 10, quiet: 2 * time.Minute, cooldown: 10 * time.Minute}
	long := about{documented: true, chars: 8001, turns: 1, rested: time.Hour}
	with := func(f func(*about)) about { a := long; f(&a); return a }
	old := r
	old.oldest = 24 * time.Hour
	for name, tt := range map[string]struct {
		a    about
		r    rules
		want verdict
		wait time.Duration
	}{
		"long":                 {long, r, verdictNow, 0},
		"many turns":           {with(func(a *about) { a.chars, a.turns = 10, 10 }), r, verdictNow, 0},
		"short":                {with(func(a *about) { a.chars, a.turns = 8000, 9 }), r, verdictNever, 0},
		"denied":               {with(func(a *about) { a.denied = true }), r, verdictNever, 0},
		"a sub-agent's":        {with(func(a *about) { a.documented = false }), r, verdictNever, 0},
		"nothing new":          {with(func(a *about) { a.covered = true }), r, verdictNever, 0},
		"goes on":              {with(func(a *about) { a.rested = 90 * time.Second }), r, verdictLater, 30 * time.Second},
		"just summarized":      {with(func(a *about) { a.tried, a.since = true, 4*time.Minute }), r, verdictLater, 6 * time.Minute},
		"long ago":             {with(func(a *about) { a.tried, a.since = true, 10*time.Minute }), r, verdictNow, 0},
		"failed once":          {with(func(a *about) { a.tried, a.since, a.failures = true, 10*time.Minute, 1 }), r, verdictLater, 10 * time.Minute},
		"failed twice":         {with(func(a *about) { a.tried, a.since, a.failures = true, 10*time.Minute, 2 }), r, verdictLater, 30 * time.Minute},
		"failed three times":   {with(func(a *about) { a.tried, a.since, a.failures = true, 100*time.Hour, 3 }), r, verdictNever, 0},
		"old":                  {with(func(a *about) { a.age = 25 * time.Hour }), old, verdictNever, 0},
		"not too old":          {with(func(a *about) { a.age = 23 * time.Hour }), old, verdictNow, 0},
		"any age":              {with(func(a *about) { a.age = 9000 * time.Hour }), r, verdictNow, 0},
		"goes on, and denied":  {with(func(a *about) { a.rested, a.denied = 0, true }), r, verdictNever, 0},
		"no rest asked for":    {with(func(a *about) { a.rested = 0 }), rules{}, verdictNow, 0},
		"no rest after failed": {with(func(a *about) { a.tried, a.failures = true, 1 }), rules{}, verdictLater, 2 * time.Minute},
	} {
		if got, wait := due(tt.a, tt.r); got != tt.want || wait != tt.wait {
			t.Errorf("%s: %d after %v, want %d after %v", name, got, wait, tt.want, tt.wait)
		}
	}
}

func TestTheBreakerOpensAfterThreeFailures(t *testing.T) {
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	lets := func(b breaker, at time.Duration) bool { ok, _ := b.lets(now.Add(at)); return ok }
	var b breaker
	bad := errors.New("x")
	for n := 1; n <= 2; n++ {
		if b = b.failed(now, bad, false, 0); !lets(b, 0) {
			t.Errorf("open after %d", n)
		}
	}
	b = b.failed(now, bad, false, 0)
	if lets(b, openFor-1) || !lets(b, openFor) {
		t.Error("not open for half an hour")
	}
	// The first that fails afterwards opens it again.
	if b = b.failed(now.Add(openFor), bad, false, 0); lets(b, 2*openFor-1) || !lets(b, 2*openFor) {
		t.Error("not open again")
	}
	if b := (breaker{}).failed(now, bad, false, time.Hour); lets(b, time.Hour-1) || !lets(b, time.Hour) {
		t.Error("what the endpoint asked for")
	}
	b = (breaker{}).failed(now, bad, true, 0)
	if ok, next := b.lets(now.AddDate(9, 0, 0)); ok || !next.IsZero() {
		t.Error("a refusal is not for good")
	}
}
