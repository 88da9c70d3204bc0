package life

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
		var told []State
		take := func() []State {
			mu.Lock()
			defer mu.Unlock()
			out := told
			told = nil
			return out
		}
		p := New(func(l State) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, l)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { p.Run(ctx) })
		step := func(what string, want ...State) {
			t.Helper()
			time.Sleep(2*every + time.Second)
			synctest.Wait()
			if got := take(); !slices.Equal(got, want) {
				t.Errorf("%s: told %v, want %v", what, got, want)
			}
		}
		step("at the start", Alive, Alive)
		p.Begin()
		step("serving, and hanging", Ready)
		p.Beat()
		step("serving", Alive)
		p.End()
		step("waiting for the next try", Alive, Alive)
		p.Begin()
		step("serving again is no news")
		cancel()
		wg.Wait()
	})
}
