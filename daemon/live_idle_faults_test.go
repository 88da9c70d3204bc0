//go:build linux && faults

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// cpu is what the process has used so far.
func (s *spawned) cpu() (used time.Duration) {
	s.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, ticks := range fields[11:13] { // utime, stime, in hundredths of a second
		n, err := strconv.ParseInt(ticks, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		used += time.Duration(n) * 10 * time.Millisecond
	}
	return used
}

// TestFaultLongHistory is a daemon with years of sessions and nothing to do.
func TestFaultLongHistory(t *testing.T) {
	if served(t) {
		return
	}
	if testing.Short() {
		t.Skip("-short: makes 10,000 sessions and looks at an idle daemon for two minutes")
	}
	const sessions = 10_000
	p := newPlace(t)
	history(t, p.codex(), sessions)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	p.lookedAfter()
	s := p.spawn(time.Minute, "sh", "-c", `ulimit -n 1024; exec "$0" "$@"`)
	db := p.reader()
	live := talk(1)
	p.write(live, -1)
	p.until("the live session is read", func() bool { return p.said(db, live.ThreadID()) == "question 1|answer 1" })
	<-time.After(20 * time.Second) // until all has come to rest
	if n := s.openFiles(); n >= 64+1 {
		t.Errorf("%d descriptors, want less than 64 and one for the live file", n)
	}

	began, from := time.Now(), s.cpu()
	<-time.After(65 * time.Second) // one listing at least
	took, to := time.Since(began), s.cpu()
	share := 100 * (to - from).Seconds() / took.Seconds()
	old := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-9000-%012d", 0), Start: time.Date(2023, 1, 1, 9, 0, 0, 0, time.UTC)})
	old.User("question 0").Assistant("answer 0").End()
	tr := s.strace()
	<-time.After(30 * time.Second)
	idle := len(tr.lines())
	old.User("after years").Assistant("it goes on").End()
	path := p.write(old, -1)
	seen := p.untilWithin(3*time.Minute, "the old session that goes on is read", func() bool {
		return strings.HasSuffix(p.said(db, old.ThreadID()), "it goes on")
	})
	lines := tr.lines()
	wakes := float64(bursts(lines[:idle])) / 30
	others := 0
	for _, line := range lines {
		if strings.Contains(line, "open") && strings.Contains(line, "/rollout-") && !strings.Contains(line, filepath.Base(path)) {
			others++
		}
	}
	if others > 0 {
		t.Errorf("%d other rollouts were opened", others)
	}
	reliability.Figure(t, 7, "a daemon with 10,000 sessions, idle for %.0f s with a listing: %.2f %% of a core; %.1f wake-ups a second (strace); %d descriptors; an append to an old session seen after %.0f s, %d other rollouts opened meanwhile",
		took.Seconds(), share, wakes, s.openFiles(), seen.Seconds(), others)
	if share > 5 || wakes > 1.5 {
		t.Errorf("%.2f %% of a core, %.1f wake-ups a second", share, wakes)
	}
}

// lookedAfter says that today's share of old rollouts was checked already: that
// is no idle time.
func (p *place) lookedAfter() {
	p.t.Helper()
	db, err := store.Open(p.t.Context(), p.opt.Config.DB())
	if err != nil {
		p.t.Fatal(err)
	}
	now := time.Now()
	for key, v := range map[string]any{"check": daemon.Check{At: now}, "backup": daemon.Backup{At: now}} {
		text, err := json.Marshal(v)
		if err == nil {
			err = db.SetMeta(p.t.Context(), key, string(text))
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		p.t.Fatal(err)
	}
}

// tracing is strace at work.
type tracing struct {
	t    *testing.T
	path string
}

// strace notes each call to the system from now on; the test is skipped without.
func (s *spawned) strace() tracing {
	s.t.Helper()
	tr := tracing{t: s.t, path: filepath.Join(s.t.TempDir(), "trace")}
	c := exec.Command("strace", "-f", "-qq", "-ttt", "-o", tr.path, "-p", fmt.Sprint(s.cmd.Process.Pid))
	if err := c.Start(); err != nil {
		s.t.Skipf("strace can't be had here: %v", err)
	}
	s.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		_ = c.Wait()
	})
	return tr
}

func (tr tracing) lines() []string {
	tr.t.Helper()
	text, err := os.ReadFile(tr.path)
	if err != nil || len(text) == 0 {
		tr.t.Skipf("strace can't trace here: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// bursts counts how often something was done after a tenth of a second of
// nothing: a wake-up, however many threads it takes.
func bursts(lines []string) (n int) {
	var last float64
	for _, line := range lines {
		fields := strings.Fields(line) // thread, time, call
		if len(fields) < 3 {
			continue
		}
		at, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			continue
		}
		if last > 0 && at-last > 0.1 {
			n++
		}
		last = at
	}
	return n
}

// untilWithin is until for what takes long.
func (p *place) untilWithin(most time.Duration, what string, f func() bool) time.Duration {
	p.t.Helper()
	begun := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if f() {
			break
		}
		if time.Since(begun) > most {
			p.t.Fatalf("never: %s", what)
		}
	}
	return time.Since(begun)
}
