package daemon

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A daemon that serves is alive by its own look after itself alone; one that
// starts, or waits for another try, by the clock.
func TestPulseIsTheDaemonsOwnWhileItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []Life
		take := func() []Life {
			mu.Lock()
			defer mu.Unlock()
			out := told
			told = nil
			return out
		}
		p := newPulse(func(l Life) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, l)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { p.run(ctx) })
		step := func(what string, want ...Life) {
			t.Helper()
			time.Sleep(2*lifeEvery + time.Second)
			synctest.Wait()
			if got := take(); !slices.Equal(got, want) {
				t.Errorf("%s: told %v, want %v", what, got, want)
			}
		}
		step("at the start", LifeAlive, LifeAlive)
		p.begin()
		step("serving, and hanging", LifeReady)
		p.beat()
		step("serving", LifeAlive)
		p.end()
		step("waiting for the next try", LifeAlive, LifeAlive)
		p.begin()
		step("serving again is no news")
		cancel()
		wg.Wait()
	})
}
