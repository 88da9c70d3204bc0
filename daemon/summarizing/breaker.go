package summarizing

import "time"

const (
	failuresMost = 3 // in a row, of any threads
	openFor      = 30 * time.Minute
)

// breaker keeps from asking an endpoint that fails. The zero value lets all
// through. A restart begins with it, because the settings may be others.
type breaker struct {
	failures int
	until    time.Time // nothing is sent before
	stopped  bool      // for good: somebody must change something first
	last     error     // the newest failure
}

// failed gives the breaker after a failure at now; lasting ones stop it. The
// endpoint may have asked to be left alone for a while.
func (b breaker) failed(now time.Time, why error, lasting bool, asked time.Duration) breaker {
	b.failures++
	b.last, b.stopped = why, lasting
	if asked > 0 {
		b.until = now.Add(asked)
	}
	if b.failures >= failuresMost {
		if at := now.Add(openFor); at.After(b.until) {
			b.until = at
		}
	}
	return b
}

// lets tells whether a request may go out, and if not, when next; the zero time:
// not by itself.
func (b breaker) lets(now time.Time) (ok bool, next time.Time) {
	if b.stopped {
		return false, time.Time{}
	}
	return !now.Before(b.until), b.until
}
