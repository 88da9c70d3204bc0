package summarizing

import (
	"context"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// triesMost is how often the same messages are sent in vain: then the thread is
// left alone until it has others.
const triesMost = 3

const (
	firstBackoff = time.Minute
	lastBackoff  = 6 * time.Hour
)

// verdict is what becomes of a thread.
type verdict uint8

const (
	verdictNow   verdict = iota + 1
	verdictLater         // look again after a while
	verdictNever         // until it changes
)

// about is what is known of a thread when it is settled whether it is due.
type about struct {
	documented bool // it has a memory document: a person asked for something
	denied     bool // nothing of it may be sent
	chars      int  // said by people and agents
	turns      int
	covered    bool          // a summary that holds covers all of it, whoever wrote it
	rested     time.Duration // since its newest message, or since we saw it change
	age        time.Duration // of its newest message
	tried      bool
	since      time.Duration // since the last attempt
	failures   int           // in a row, about the messages of now
}

// rules are the figures of the settings.
type rules struct {
	chars, turns            int
	quiet, cooldown, oldest time.Duration // oldest 0: any age
}

func rulesOf(s config.Summaries) rules {
	return rules{chars: s.Chars(), turns: s.Turns(), quiet: s.QuietFor, cooldown: s.CooldownFor, oldest: time.Duration(s.MaxAgeDays) * 24 * time.Hour}
}

// due is pure: what becomes of a thread, and of one to look at later, when.
func due(a about, r rules) (verdict, time.Duration) {
	switch {
	case a.denied || !a.documented || a.covered:
		return verdictNever, 0
	case a.chars <= r.chars && a.turns < r.turns:
		return verdictNever, 0
	case r.oldest > 0 && a.age > r.oldest:
		return verdictNever, 0
	case a.failures >= triesMost:
		return verdictNever, 0
	case a.rested < r.quiet:
		return verdictLater, r.quiet - a.rested
	}
	if wait := pause(r.cooldown, a.failures); a.tried && a.since < wait {
		return verdictLater, wait - a.since
	}
	return verdictNow, 0
}

// Unasked says, for documents, why the settings never have a summary made of a
// thread as it stands; "" where they do.
func Unasked(c config.Config) func(context.Context, *store.DB, pipeline.View) (why string, err error) {
	r, folders := rulesOf(c.Summaries), deny.New(c.Summaries.DenyWorkspaces)
	return func(ctx context.Context, db *store.DB, v pipeline.View) (string, error) {
		denied, err := folders.Lineage(ctx, db, v.Thread)
		switch {
		case err != nil:
			return "", err
		case denied:
			return "nothing of its folder may be sent", nil
		case said(v.Messages) <= r.chars && v.Thread.Turns < r.turns:
			return "too short for one", nil
		}
		return "", nil
	}
}

// pause is how long a thread is left alone after an attempt: longer each time
// one failed.
func pause(cooldown time.Duration, failures int) time.Duration {
	if failures == 0 {
		return cooldown
	}
	return max(cooldown, min(max(cooldown, firstBackoff)<<min(failures, 10), lastBackoff))
}
