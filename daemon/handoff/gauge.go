// Package handoff tells which sessions should be handed on before they stop: by
// their context window, or by their account's quota.
//
//	[1] gauge: what a session's newest lines say of both, as of now;
//	[2] step: over the threshold, and not below it again (hysteresis);
//	[3] Book: what was said before, so that it is said once, also after a restart;
//	[4] List: the sessions that are due, each with the command that hands it on.
package handoff

import (
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Why is what a session runs out of.
type Why string

// The reasons.
const (
	Context Why = "context"
	Quota   Why = "quota"
)

const (
	// DefaultThreshold is the share in use from which a session is due. It lies
	// below the 90 % at which Codex compacts by itself.
	DefaultThreshold = 0.8
	// falls is the part of the threshold below which a session is no longer due:
	// 70 % of 80 %.
	falls = 7.0 / 8
	// fresh is how long after its newest line a session counts as in use.
	fresh = 24 * time.Hour
	// slack is how far two reports of one reset may lie apart.
	slack = 10 * time.Minute
)

// Due says what a session runs out of.
type Due struct {
	Why     Why
	Percent int       // in use, rounded down
	Resets  time.Time // of the quota; zero: unknown, or Why is Context
}

// gauge is how much of something is in use.
type gauge struct {
	known  bool
	share  float64   // 0 empty, 1 full
	resets time.Time // as told; zero unknown
	until  time.Time // when the share is void at the latest; zero unknown
}

// watched tells whether a session is one to hand on: a person's own, of its own
// words, and in use.
func watched(t *transcript.Thread, now time.Time) bool {
	return !t.Subagent && !t.Archived && !t.Gone && !t.Untouched && t.Turns > 0 && now.Sub(t.Updated) <= fresh
}

// contextGauge measures the window by what the next request starts from. A limit at
// which the session compacts by itself comes before the end of the window.
func contextGauge(t *transcript.Thread) gauge {
	limit := t.Window
	if t.AutoCompact > 0 && (limit == 0 || t.AutoCompact < limit) {
		limit = t.AutoCompact
	}
	if limit <= 0 || t.ContextTokens <= 0 {
		return gauge{}
	}
	return gauge{known: true, share: float64(t.ContextTokens) / float64(limit)}
}

// quotaGauge gives the fullest of the account's limits. One that was reset since
// it was reported says nothing any more.
func quotaGauge(t *transcript.Thread, now time.Time) (g gauge) {
	for _, q := range t.Quotas {
		until := q.Resets
		if until.IsZero() && q.Minutes > 0 && !q.Seen.IsZero() {
			until = q.Seen.Add(time.Duration(min(q.Minutes, maxMinutes)) * time.Minute)
		}
		if !until.IsZero() && !now.Before(until) {
			continue
		}
		if share := q.Percent / 100; !g.known || share > g.share {
			g = gauge{known: true, share: share, resets: q.Resets, until: until}
		}
	}
	return g
}

// maxMinutes keeps a length from overflowing: ten years.
const maxMinutes = 10 * 366 * 24 * 60

func gaugeOf(t *transcript.Thread, why Why, now time.Time) gauge {
	if why == Quota {
		return quotaGauge(t, now)
	}
	return contextGauge(t)
}

// step tells whether a session is due, and what is to be remembered of it: m,
// what was said before; a new mark; or nothing. What is unknown changes nothing.
func step(g gauge, m *Mark, now time.Time, threshold float64) (due bool, after *Mark) {
	if m != nil && !m.Until.IsZero() && !now.Before(m.Until) && m.Until.Sub(g.until).Abs() > slack {
		m = nil // the window it was said of is over
	}
	least := threshold
	if m != nil {
		least *= falls
	}
	switch {
	case !g.known:
		return false, m
	case g.share+rounding < least:
		return false, nil
	case m != nil:
		return true, m
	}
	return true, &Mark{Until: g.until, Said: now.UTC()}
}

// rounding keeps 7/8 of 0.8 from being more than 0.7, and 0.29 × 100 from being
// 28.
const rounding = 1e-9

// dueOf tells what a session runs out of, and what is to be remembered of it.
func dueOf(t *transcript.Thread, before []Mark, now time.Time, threshold float64) (due []Due, after []Mark) {
	if threshold <= 0 {
		threshold = DefaultThreshold
	}
	for _, why := range [...]Why{Context, Quota} {
		g := gauge{}
		if watched(t, now) {
			g = gaugeOf(t, why, now)
		}
		is, m := step(g, markOf(before, why), now, threshold)
		if is {
			due = append(due, Due{Why: why, Percent: int((g.share + rounding) * 100), Resets: g.resets})
		}
		if m != nil {
			kept := *m
			kept.ThreadID, kept.Why = t.ID, why
			after = append(after, kept)
		}
	}
	return due, after
}

func markOf(marks []Mark, why Why) *Mark {
	for i := range marks {
		if marks[i].Why == why {
			return &marks[i]
		}
	}
	return nil
}
