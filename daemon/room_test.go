package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
)

func TestRoomThatIsLeft(t *testing.T) {
	for total, want := range map[int64]int64{
		700 << 10: 70 << 10, 1 << 30: 1 << 30 / 10, 10 << 30: 200 << 20, 100 << 30: 1 << 30, 1 << 40: 1 << 40 / 100,
	} {
		if got := needed(total); got != want {
			t.Errorf("of %d bytes %d are left, want %d", total, got, want)
		}
	}
}

func newGate(patient bool, usage func(string) (disk.Usage, error)) (*gate, *bytes.Buffer) {
	var log bytes.Buffer
	return &gate{dir: "/data", patient: patient, usage: usage, log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

// Workers that all find the disk short of room wait, say so once, and go on
// within 5 s of room.
func TestIntakeWaitsForRoom(t *testing.T) {
	reliability.Fault(t, 12, "the system says that less than 200 MiB are free, while 8 workers take files in")
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		g, log := newGate(true, func(string) (disk.Usage, error) {
			if time.Since(begun) < time.Minute {
				return disk.Usage{Free: 199 << 20, Total: 10 << 30}, nil
			}
			return disk.Usage{Free: 201 << 20, Total: 10 << 30}, nil
		})
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				if err := g.through(t.Context(), func() error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if p := g.state(); !strings.Contains(p.Reason, "only 199 MB are free where /data lies, and intake leaves 200 MB") || !p.Since.Equal(begun) {
			t.Errorf("state %+v", p)
		}
		workers.Wait()
		if took := time.Since(begun); took > time.Minute+5*time.Second {
			t.Errorf("went on %v after there was room", took-time.Minute)
		}
		if p := g.state(); p.Reason != "" {
			t.Errorf("state %+v afterwards", p)
		}
		if n := strings.Count(log.String(), "intake waits"); n != 1 {
			t.Errorf("said %d times:\n%s", n, log)
		}
	})
}

func TestWritesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, log := newGate(true, func(string) (disk.Usage, error) { return disk.Usage{}, errors.ErrUnsupported })
		begun := time.Now()
		err := g.through(t.Context(), func() error {
			if time.Since(begun) < 30*time.Second {
				return fmt.Errorf("commit: %w", store.ErrFull)
			}
			return nil
		})
		if took := time.Since(begun); err != nil || took > 35*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if n := strings.Count(log.String(), "intake waits"); n != 1 || g.state().Reason != "" {
			t.Errorf("%+v\n%s", g.state(), log)
		}
		// Other errors are the step's own.
		other := errors.New("other")
		if err := g.through(t.Context(), func() error { return other }); !errors.Is(err, other) {
			t.Error(err)
		}
		// An ended ctx ends the waiting.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := g.through(ctx, func() error { return store.ErrFull }); err != nil {
			t.Error(err)
		}
	})
}

func TestCommandDoesNotWaitForRoom(t *testing.T) {
	g, _ := newGate(false, func(string) (disk.Usage, error) { return disk.Usage{Free: 1, Total: 10 << 30}, nil })
	err := g.through(t.Context(), func() error { t.Error("written"); return nil })
	if !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
	g, _ = newGate(false, disk.Of)
	if err := g.written(t.Context(), func() error { return store.ErrFull }); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
}

func TestRoomIsToldInFittingUnits(t *testing.T) {
	for _, c := range []struct {
		free, total int64
		want        string
	}{
		{52 << 10, 1100 << 10, "only 52 kB are free where /data lies, and intake leaves 110 kB"},
		{199 << 20, 100 << 30, "only 199 MB are free where /data lies, and intake leaves 1024 MB"},
		{0, 64 << 20, "only 0 kB are free where /data lies, and intake leaves 6553 kB"},
	} {
		if got := shortOf("/data", disk.Usage{Free: c.free, Total: c.total}).Error(); !strings.HasSuffix(got, c.want) {
			t.Errorf("got %q, want %q at its end", got, c.want)
		}
	}
}
