package daemon

import (
	"testing"
	"time"
)

// Every state answers every event.
func TestPaceOfASink(t *testing.T) {
	now := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	paused := pace{state: sinkPaused, pause: 2 * time.Second, since: now.Add(-3 * time.Second), retry: now}
	longer := func(d time.Duration) pace {
		return pace{state: sinkPaused, pause: d, since: paused.since, retry: now.Add(d)}
	}
	first := pace{state: sinkPaused, pause: firstPause, since: now, retry: now.Add(firstPause)}
	idle, due := pace{state: sinkIdle}, pace{state: sinkDue}
	for _, c := range []struct {
		from pace
		e    sinkEvent
		want pace
	}{
		{idle, sinkNoted, due}, {idle, sinkWrote, idle}, {idle, sinkEmptied, idle}, {idle, sinkFull, first}, {idle, sinkFailed, first},
		{due, sinkNoted, due}, {due, sinkWrote, due}, {due, sinkEmptied, idle}, {due, sinkFull, first}, {due, sinkFailed, first},
		{paused, sinkNoted, paused}, {paused, sinkWrote, due}, {paused, sinkEmptied, paused},
		{paused, sinkFull, longer(4 * time.Second)}, {paused, sinkFailed, longer(4 * time.Second)},
	} {
		if got := next(c.from, c.e, now); got != c.want {
			t.Errorf("state %d, event %d: %+v, want %+v", c.from.state, c.e, got, c.want)
		}
	}
	for e, most := range map[sinkEvent]time.Duration{sinkFull: 4 * time.Second, sinkFailed: time.Minute} {
		p := idle
		for range 20 {
			p = next(p, e, now)
		}
		if p.pause != most || !p.since.Equal(now) {
			t.Errorf("event %d: pauses of %v at last, since %v", e, p.pause, p.since)
		}
	}
}

// Until a sink has a place nothing is done: then nothing is waited for but that,
// whatever is due. Else the loop would turn without end.
func TestSinkWithoutAPlaceSleeps(t *testing.T) {
	now := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	past, later := now.Add(-time.Second), now.Add(placeEvery)
	for _, c := range []struct {
		what string
		pace pace
		want time.Duration
	}{
		{"idle", pace{state: sinkIdle}, placeEvery},
		{"due", pace{state: sinkDue}, placeEvery},
		{"after a pause", pace{state: sinkPaused, retry: past}, placeEvery},
		{"in a pause", pace{state: sinkPaused, retry: now.Add(time.Minute)}, 0}, // the cache's part is prepared
	} {
		o := &outlet{pace: c.pace, absent: later, due: map[string]time.Time{"t": past}, indexes: past, places: past, retains: past, share: newSharings()}
		o.share.due["w"] = past
		if got := o.wait(now); got != c.want {
			t.Errorf("%s: sleeps %s, want %s", c.what, got, c.want)
		}
	}
}
