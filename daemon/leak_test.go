package daemon_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// Stopped at any moment, a daemon leaves no goroutine behind.
func TestNothingIsLeftAfterAStop(t *testing.T) {
	p := newPlace(t)
	for i := range 10 {
		b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)})
		for range 30 {
			b.User("question").Call("exec_command", "{}", "some output of a command\n").Assistant("answer").End()
		}
		p.write(b, -1)
	}
	before := goleak.IgnoreCurrent()
	const stops = 15
	for range stops {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(400*time.Millisecond)) // any moment will do
		err := daemon.Run(ctx, p.opt)
		cancel()
		if err != nil {
			t.Error(err)
		}
		if err := goleak.Find(before, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener")); err != nil {
			t.Fatal(err)
		}
	}
	reliability.Figure(t, 23, "0 goroutines left after each of %d stops of the daemon at random moments", stops)
}
