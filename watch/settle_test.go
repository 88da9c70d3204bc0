package watch

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestSettle(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	every := func(step, until int) (at []int) {
		for i := 0; i <= until; i += step {
			at = append(at, i)
		}
		return at
	}
	tests := []struct {
		name    string
		touches []int // ms after the start, of one path
		want    []int // ms at which it is taken
	}{
		{"one touch", []int{0}, []int{20}},
		{"a burst is one", []int{0, 5, 10, 15}, []int{35}},
		{"two bursts are two", []int{0, 5, 50, 55}, []int{25, 75}},
		{"a stream is cut", every(10, 250), []int{100, 200, 270}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, start := newSettle(ms(20), ms(100)), time.Now()
				var got []int
				touches := slices.Clone(test.touches)
				for len(touches) > 0 || !s.wake.IsZero() {
					next := s.wake
					if len(touches) > 0 && (next.IsZero() || start.Add(ms(touches[0])).Before(next)) {
						next = start.Add(ms(touches[0]))
					}
					<-time.After(time.Until(next))
					now := time.Now()
					if len(s.take(now)) > 0 {
						got = append(got, int(now.Sub(start).Milliseconds()))
					}
					if len(touches) > 0 && !now.Before(start.Add(ms(touches[0]))) {
						s.touch("a", now)
						touches = touches[1:]
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("taken at %v ms, want %v", got, test.want)
				}
			})
		})
	}
}

// Whatever the touches: none is forgotten, none waits longer than most, and
// none comes before it has been quiet or has waited for most.
func TestSettleProperty(t *testing.T) {
	const quiet, most = 20, 100
	rapid.Check(t, func(t *rapid.T) {
		zero := time.Unix(1e9, 0)
		at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
		s := newSettle(quiet*time.Millisecond, most*time.Millisecond)
		type span struct{ first, last int }
		model := map[string]span{}
		now := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.IntRange(0, 30).Draw(t, "later")
			if rapid.Bool().Draw(t, "touch") {
				p := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "path"))
				sp, ok := model[p]
				if !ok {
					sp.first = now
				}
				sp.last = now
				model[p] = sp
				s.touch(p, at(now))
				continue
			}
			var want []string
			for p, sp := range model {
				if now >= min(sp.last+quiet, sp.first+most) {
					want = append(want, p)
					delete(model, p)
				}
			}
			got := s.take(at(now))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("at %d ms took %v, want %v", now, got, want)
			}
			for p, sp := range model {
				if due := at(min(sp.last+quiet, sp.first+most)); s.wake.IsZero() || due.Before(s.wake) {
					t.Fatalf("%s is due at %v, wake is %v", p, due, s.wake)
				}
				if !s.waits(p) {
					t.Fatalf("%s does not wait", p)
				}
			}
		}
	})
}
