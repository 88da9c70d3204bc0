package daemon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Life is what a service manager wants to know of a daemon.
type Life uint8

// What it tells.
const (
	LifeReady    Life = iota + 1 // the data folder is ours, and changes are taken in
	LifeAlive                    // told again and again; a minute without it, and something hangs
	LifeStopping                 // told to stop
)

// String gives the name used in logs.
func (l Life) String() string { return [...]string{"", "ready", "alive", "stopping"}[l] }

// lifeEvery is how often a daemon is alive while it isn't looking after itself:
// at the start, where a large cache is looked over, and between two tries of one
// that is lost again and again.
const lifeEvery = 10 * time.Second

// pulse tells of a daemon's life. While one serves, only its own look after
// itself counts: what hangs shall not be kept alive by a clock.
type pulse struct {
	tell  func(Life)
	ready sync.Once
	own   atomic.Bool // the daemon looks after itself
}

func newPulse(tell func(Life)) *pulse {
	if tell == nil {
		tell = func(Life) {}
	}
	return &pulse{tell: tell}
}

// run tells until ctx ends.
func (p *pulse) run(ctx context.Context) {
	for sleep(ctx, lifeEvery) {
		if !p.own.Load() {
			p.tell(LifeAlive)
		}
	}
}

// begin says that the daemon serves.
func (p *pulse) begin() {
	p.own.Store(true)
	p.ready.Do(func() { p.tell(LifeReady) })
}

// beat says that it looked after itself.
func (p *pulse) beat() { p.tell(LifeAlive) }

// end says that it serves no more.
func (p *pulse) end() { p.own.Store(false) }
