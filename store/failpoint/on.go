//go:build crash

package failpoint

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// planned is where to die, as the environment says. Package-level state, but
// of test builds alone: the points would else have to be told through every
// layer that has one.
var planned = sync.OnceValue(func() *plan {
	name, at, ok := strings.Cut(os.Getenv(Env), ":")
	if !ok {
		return &plan{}
	}
	n, err := strconv.ParseInt(at, 10, 64)
	for _, p := range Points() {
		if p.String() == name && err == nil && n > 0 {
			left := &plan{point: p}
			left.hits.Store(n)
			return left
		}
	}
	panic("bug: " + Env + "=" + os.Getenv(Env))
})

type plan struct {
	point Point // 0: none
	hits  atomic.Int64
}

// due counts a hit and tells whether it is the one to die at.
func due(p Point) bool {
	w := planned()
	return w.point == p && w.hits.Add(-1) == 0
}

// Hit kills the process, as kill -9 does, if this is the hit that the
// environment names.
func Hit(p Point) {
	if due(p) {
		die()
	}
}

// HitWriting is Hit, but writes half of data to w first.
func HitWriting(p Point, w io.Writer, data []byte) {
	if due(p) {
		_, _ = w.Write(data[:len(data)/2]) // dying all the same
		die()
	}
}

// die ends the process without a chance for anything to be put right.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // there is nobody to tell
	}
	select {} // until the signal is there
}
