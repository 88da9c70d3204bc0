package daemon

import "time"

const (
	// A sink that can't write is tried again after firstPause, then after twice
	// as long each time. Room and rights to write come back unannounced, so
	// where those are missing it never takes longer than fullPause.
	firstPause = time.Second
	fullPause  = 4 * time.Second
	lastPause  = time.Minute
)

// sinkState is what a sink is doing.
type sinkState uint8

const (
	sinkIdle   sinkState = iota + 1 // nothing is due
	sinkDue                         // something is, when it has come to rest
	sinkPaused                      // it couldn't write, and is left alone until the next try
)

// sinkEvent is what happens to a sink.
type sinkEvent uint8

const (
	sinkNoted   sinkEvent = iota + 1 // something became due
	sinkWrote                        // a try went well
	sinkEmptied                      // nothing is due any more
	sinkFull                         // a try failed for want of room
	sinkFailed                       // a try failed otherwise
)

// pace is a sink's state, with how long its pauses are by now.
type pace struct {
	state sinkState
	pause time.Duration // the last one; 0 outside of pauses
	since time.Time     // the pauses began
	retry time.Time     // end of this one
}

// next is total: every state answers every event.
func next(p pace, e sinkEvent, now time.Time) pace {
	switch e {
	case sinkNoted:
		if p.state == sinkIdle {
			p.state = sinkDue
		}
		return p
	case sinkWrote:
		if p.state == sinkPaused {
			return pace{state: sinkDue}
		}
		return p
	case sinkEmptied:
		if p.state == sinkDue {
			p.state = sinkIdle
		}
		return p
	case sinkFull, sinkFailed:
		most := lastPause
		if e == sinkFull {
			most = fullPause
		}
		if p.state != sinkPaused {
			p = pace{since: now}
		}
		p.state, p.pause = sinkPaused, min(max(2*p.pause, firstPause), most)
		p.retry = now.Add(p.pause)
		return p
	}
	return p
}
