// Package life tells whoever started a daemon that it serves, is alive, or ends.
package life

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// State is what a service manager wants to know of a daemon.
type State uint8

// What it tells.
const (
	Ready    State = iota + 1 // the data folder is ours, and changes are taken in
	Alive                     // told again and again; a minute without it, and something hangs
	Stopping                  // told to stop
)

// String gives the name used in logs.
func (l State) String() string { return [...]string{"", "ready", "alive", "stopping"}[l] }

// every is how often a daemon is alive while it isn't looking after itself:
// at the start, where a large cache is looked over, and between two tries of one
// that is lost again and again.
const every = 10 * time.Second

// Pulse tells of a daemon's life. While one serves, only its own look after
// itself counts: what hangs shall not be kept alive by a clock.
type Pulse struct {
	tell  func(State)
	ready sync.Once
	own   atomic.Bool // the daemon looks after itself
}

// New makes the pulse of a daemon, told to tell, which may be nil.
func New(tell func(State)) *Pulse {
	if tell == nil {
		tell = func(State) {}
	}
	return &Pulse{tell: tell}
}

// Run tells until ctx ends.
func (p *Pulse) Run(ctx context.Context) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if !p.own.Load() {
			p.tell(Alive)
		}
	}
}

// Begin says that the daemon serves.
func (p *Pulse) Begin() {
	p.own.Store(true)
	p.ready.Do(func() { p.tell(Ready) })
}

// Beat says that it looked after itself.
func (p *Pulse) Beat() { p.tell(Alive) }

// End says that it serves no more.
func (p *Pulse) End() { p.own.Store(false) }

// Stop says that it was told to stop.
func (p *Pulse) Stop() { p.tell(Stopping) }
