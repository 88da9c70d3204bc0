package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
	"github.com/session-migrator/session-migrator/store/search"
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

// A command that asks for something else makes one step of the index at least,
// and the next goes on where it ended.
func TestBoundedStepsOfTheIndexAddUp(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	for i := range 5 {
		b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)})
		for n := range 10 {
			b.User(fmt.Sprint("question ", n)).Assistant(strings.Repeat(fmt.Sprintf("word%d ", n), 60_000)).End() // 400 kB: 20 MB in all
		}
		path := filepath.Join(home, filepath.FromSlash(b.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := start(t.Context(), Options{Config: config.Config{Home: data, CodexHomes: []string{home}}}, roleCommand)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	tally := newTally(nil)
	l, err := e.list(t.Context())
	if err == nil {
		err = e.catchUp(t.Context(), l, tally)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := int64(100)
	for n := 1; ; n++ {
		if err := e.indexFor(t.Context(), 1, tally); err != nil && !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		x, err := search.OpenReader(t.Context(), e.opt.Config.Search())
		if err != nil {
			t.Fatal(err)
		}
		left, err := x.Behind(t.Context(), e.db)
		if err := errors.Join(err, x.Close()); err != nil {
			t.Fatal(err)
		}
		if left >= all || n == 1 && left == 0 {
			t.Fatalf("step %d leaves %d of %d", n, left, all)
		}
		if all = left; all == 0 {
			break
		}
	}
}
