package watch

import "time"

// settle holds paths that something happened to until they have been quiet
// for a while, or for as long as can be waited for that. It is bounded by the
// number of paths, not of events.
type settle struct {
	quiet time.Duration // without a touch
	most  time.Duration // since the first touch
	at    map[string]span
	wake  time.Time // no path is due before; zero when there is none
}

type span struct{ first, last time.Time }

func newSettle(quiet, most time.Duration) *settle {
	return &settle{quiet: quiet, most: most, at: make(map[string]span)}
}

func (s *settle) due(sp span) time.Time {
	byQuiet, byMost := sp.last.Add(s.quiet), sp.first.Add(s.most)
	if byMost.Before(byQuiet) {
		return byMost
	}
	return byQuiet
}

// touch notes that something happened to path.
func (s *settle) touch(path string, now time.Time) {
	sp, ok := s.at[path]
	if !ok {
		sp.first = now
	}
	sp.last = now
	s.at[path] = sp
	// A touch only ever moves a path that waits already to later.
	if due := s.due(sp); !ok && (s.wake.IsZero() || due.Before(s.wake)) {
		s.wake = due
	}
}

// take gives the paths that are due, and forgets them.
func (s *settle) take(now time.Time) []string {
	if s.wake.IsZero() || now.Before(s.wake) {
		return nil
	}
	var ready []string
	s.wake = time.Time{}
	for path, sp := range s.at {
		due := s.due(sp)
		if !due.After(now) {
			ready = append(ready, path)
			delete(s.at, path)
			continue
		}
		if s.wake.IsZero() || due.Before(s.wake) {
			s.wake = due
		}
	}
	return ready
}

// waits says that path has been touched and not yet taken.
func (s *settle) waits(path string) bool {
	_, ok := s.at[path]
	return ok
}
