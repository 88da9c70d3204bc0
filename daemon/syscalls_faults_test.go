//go:build linux && faults

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// processEnv makes the test below be a process of its own: what to do, a Codex
// home and a data folder.
const processEnv = "SESSION_MIGRATOR_TEST_PROCESS"

// TestTracedProcess is such a process; by itself it does nothing.
func TestTracedProcess(t *testing.T) {
	args := strings.Split(os.Getenv(processEnv), "\n")
	if len(args) != 3 {
		t.Skip("started by other tests")
	}
	opt := settings(args[1], args[2])
	var err error
	switch args[0] {
	case "once":
		err = CatchUp(context.Background(), opt)
	case "run":
		err = Run(context.Background(), opt)
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// traced starts a process below strace with the injection given.
func traced(t *testing.T, log, inject, what, home, data string) *exec.Cmd {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not here")
	}
	calls, _, _ := strings.Cut(inject, ":")
	c := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", log, "-e", "trace="+calls, "-e", "inject="+inject, os.Args[0], "-test.run=^TestTracedProcess$")
	c.Env = append(os.Environ(), processEnv+"="+what+"\n"+home+"\n"+data, reliability.DirEnv+"=")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// failing takes rollouts in while system calls fail again and again. It gives how
// many did, and how many runs ended with an error, and checks after each run that
// the rows are those of the bytes before the cursors.
func failing(t *testing.T, inject func(round int) string, saying string) (injected, failed int) {
	t.Helper()
	home, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	all := fiveThreads()
	opt := settings(home, data)
	put(t, home, all, 0.1)
	if err := CatchUp(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	const rounds = 12
	for i := range rounds {
		put(t, home, all, 0.1+0.9*float64(i+1)/(rounds+1))
		log := filepath.Join(t.TempDir(), "strace.log")
		out, err := traced(t, log, inject(i), "once", home, data).CombinedOutput()
		if err != nil {
			if failed++; !strings.Contains(string(out), saying) {
				t.Errorf("round %d failed with: %.600s", i, out)
			}
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		injected += strings.Count(string(text), "(INJECTED")
		e, err := start(t.Context(), opt, roleCommand)
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if e.aside != "" {
			t.Errorf("round %d: the cache was set aside", i)
		}
		e.quiet = time.Millisecond
		if err := e.check(t.Context(), nil); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		c, err := CareOf(t.Context(), e.db)
		if err != nil || c.Check == nil || c.Check.Repairs > 0 {
			t.Errorf("round %d: %+v, %v", i, c.Check, err)
		}
		if err := e.close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(t, home, all, 1)
	if err := CatchUp(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	if got, want := tables(t, opt.Config.DB()), cleanTables(t, home); got != want {
		t.Errorf("at the end: %s", differ(got, want))
	}
	if injected == 0 || failed == 0 {
		t.Errorf("%d calls failed, %d runs: the test tests nothing", injected, failed)
	}
	return injected, failed
}

func TestFaultWritesFail(t *testing.T) {
	reliability.Fault(t, 9, "strace: every 7th pwrite64 gives EIO, from another one on in each of 12 runs")
	injected, failed := failing(t, func(round int) string { return fmt.Sprintf("pwrite64:error=EIO:when=%d+7", 3+5*round) }, "can't be written")
	t.Logf("%d writes failed, %d of 12 runs ended with an error", injected, failed)
}

func TestFaultSyncsFail(t *testing.T) {
	reliability.Fault(t, 10, "strace: every 2nd fsync and fdatasync gives EIO, from the first one on in some of 12 runs")
	injected, failed := failing(t, func(round int) string { return fmt.Sprintf("fsync,fdatasync:error=EIO:when=%d+2", 1+round%4) }, "can't be written")
	t.Logf("%d syncs failed, %d of 12 runs ended with an error", injected, failed)
}

func TestFaultQuotaUsedUp(t *testing.T) {
	reliability.Fault(t, 14, "strace: every pwrite64 gives EDQUOT from another one on in each of 12 runs")
	injected, failed := failing(t, func(round int) string { return fmt.Sprintf("pwrite64:error=EDQUOT:when=%d+", 1+9*round) }, "can't be written")
	t.Logf("%d writes failed, %d of 12 runs ended with an error", injected, failed)
}

func TestFaultSlowSyncs(t *testing.T) {
	reliability.Fault(t, 11, "strace: each fsync and fdatasync takes 200 ms longer")
	home, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	opt := settings(home, data)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	one := []*rollouttest.Rollout{b, b}
	put(t, home, one, 1)
	c := traced(t, filepath.Join(t.TempDir(), "strace.log"), "fsync,fdatasync:delay_enter=200000", "run", home, data)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // strace and what it traces
		_ = c.Wait()
	}()
	var db *store.DB
	items := func() int {
		if db == nil {
			var err error
			if db, err = store.OpenReader(t.Context(), opt.Config.DB()); err != nil {
				db = nil
				return -1
			}
		}
		ms, err := db.Messages(t.Context(), b.ThreadID(), 0, 0)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		return len(ms)
	}
	await := func(n int) time.Duration {
		begun := time.Now()
		for items() != n {
			if time.Since(begun) > 60*time.Second {
				t.Fatalf("%d items, not %d", items(), n)
			}
			time.Sleep(time.Millisecond)
		}
		return time.Since(begun)
	}
	await(2)
	for watching := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if i, err := Inspect(opt.Config); err == nil && i.Running && i.Backend != "" {
			break
		}
		if time.Since(watching) > 60*time.Second {
			t.Fatal("the daemon doesn't get ready")
		}
	}
	var took, asked []time.Duration
	for i := range 40 {
		b.User(fmt.Sprint("question ", i)).Assistant("answer").End()
		put(t, home, one, 1)
		took = append(took, await(4+2*i))
		begun := time.Now()
		items()
		asked = append(asked, time.Since(begun))
		time.Sleep(50 * time.Millisecond)
	}
	_ = db.Close()
	slices.Sort(took)
	slices.Sort(asked)
	if took[len(took)/2] > time.Second || asked[len(asked)-1] > time.Second {
		t.Errorf("a line takes %v, an answer %v", took[len(took)/2], asked[len(asked)-1])
	}
	reliability.Figure(t, 6, "with syncs that take 200 ms: a line is in the cache after %s, %s at most; an answer takes %s at most",
		took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), asked[len(asked)-1].Round(100*time.Microsecond))
}
