package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
)

// indexerBeside is the indexer of a daemon whose disk has so much room.
func indexerBeside(t *testing.T, free int64) *indexer {
	t.Helper()
	g := &gate{dir: "/data", patient: true, log: slog.New(slog.DiscardHandler), usage: func(string) (disk.Usage, error) {
		return disk.Usage{Free: free, Total: 10 << 30}, nil
	}}
	return newIndexer(&engine{gate: g, log: g.log, opt: Options{Config: config.Config{Home: t.TempDir()}}})
}

// Live lines go before the search index, but can't keep it waiting for ever.
func TestTheIndexGivesWayToLines(t *testing.T) {
	took := func(t *testing.T, n *indexer) time.Duration {
		t.Helper()
		begun := time.Now()
		if err := n.pause(t.Context()); err != nil {
			t.Error(err)
		}
		return time.Since(begun)
	}
	for name, c := range map[string]struct {
		lines func(n *indexer)
		want  time.Duration
	}{
		"nothing came":    {func(*indexer) {}, 0},
		"a line just now": {func(n *indexer) { n.taking()() }, calm},
		"lines for a while": {func(n *indexer) {
			n.taking()()
			go func() {
				for range 5 {
					time.Sleep(100 * time.Millisecond)
					n.taking()()
				}
			}()
		}, 500*time.Millisecond + calm},
		"a file that takes long": {func(n *indexer) {
			done := n.taking()
			time.AfterFunc(time.Second, done)
		}, time.Second + calm},
		"a file without end": {func(n *indexer) { n.taking() }, calmMost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := indexerBeside(t, 1<<30)
				c.lines(n)
				if got := took(t, n); got != c.want {
					t.Errorf("it waited for %v, want %v", got, c.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		n := indexerBeside(t, 1<<30)
		n.taking()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		begun := time.Now()
		if err := n.pause(ctx); err == nil || time.Since(begun) != 50*time.Millisecond {
			t.Errorf("told to stop: %v after %v", err, time.Since(begun))
		}
	})
	if err := indexerBeside(t, 199<<20).pause(t.Context()); !errors.Is(err, store.ErrFull) {
		t.Errorf("no room: %v", err)
	}
}

// What wants room is tried again soon; what fails otherwise ever more rarely.
func TestAnIndexThatFailsIsTriedAgain(t *testing.T) {
	n := indexerBeside(t, 1<<30)
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
		if n.failed(store.ErrFull); n.pace.pause != want {
			t.Errorf("try %d on a full disk: after %v, want %v", i, n.pace.pause, want)
		}
	}
	n = indexerBeside(t, 1<<30)
	for range 12 {
		n.failed(errors.New("odd"))
	}
	if n.pace.pause != lastPause || len(n.e.troubles.list()) != 1 {
		t.Errorf("pause %v, troubles %v", n.pace.pause, n.e.troubles.list())
	}
}
