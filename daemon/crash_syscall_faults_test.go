//go:build linux && faults

package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// calls are the kinds of calls to the system that change what is on disk, with
// the calls that stand for each.
var calls = []struct{ name, of string }{
	{"pwrite64", "pwrite64"}, {"fsync", "fsync,fdatasync"}, {"rename", "rename,renameat,renameat2"},
	{"openat", "openat"}, {"ftruncate", "ftruncate"}, {"unlink", "unlink,unlinkat"},
}

// killedBefore are the values of k: the first calls one by one, later ones with
// growing steps.
var killedBefore = []int{1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 60}

// A run is killed before its k-th call of a kind. What it leaves is compared as
// after any other kill.
func TestFaultSyscallKills(t *testing.T) {
	reliability.Fault(t, 7, "strace -f -e inject=CALL:signal=KILL:when=k around a single run, for 6 kinds of calls and 12 values of k")
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing")
	}
	if out, err := exec.Command(strace, "-f", "-qq", "-e", "trace=none", os.Args[0], "-test.run=^$").CombinedOutput(); err != nil {
		t.Skipf("strace can't trace here: %v: %s", err, out)
	}
	killed, ran := 0, 0
	for i, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			dir := t.TempDir()
			k := task{
				Kind: taskWrite, Seed: uint64(i), Data: filepath.Join(dir, "data"), Home: filepath.Join(dir, "home"), Past: filepath.Join(dir, "past"),
			}
			if err := os.Mkdir(k.Home, 0o700); err != nil {
				t.Fatal(err)
			}
			s, err := startScribe(k)
			if err != nil {
				t.Fatal(err)
			}
			c := &checker{task: k, scratch: dir}
			for _, when := range killedBefore {
				for _, order := range []string{"grow", "grow", "begin", "swap"} {
					if err := s.tell(order); err != nil {
						t.Fatal(err)
					}
				}
				died := killAtCall(t, strace, k, call.of, when)
				ran++
				if died {
					killed++
				}
				o, err := c.check(t.Context())
				if err != nil {
					t.Fatalf("before call %d of %s: %v", when, call.name, err)
				}
				if len(o.wrong) > 0 {
					if keep := os.Getenv("CRASH_KEEP"); keep != "" {
						_ = os.CopyFS(filepath.Join(keep, call.name), os.DirFS(dir)) // a help for who looks into it
					}
					t.Fatalf("killed before call %d of %s:\n\t%s", when, call.name, strings.Join(o.wrong, "\n\t"))
				}
			}
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if killed < ran/3 {
		t.Errorf("%d of %d runs were killed: the test tests little", killed, ran)
	}
	if t.Failed() {
		return
	}
	reliability.Figure(t, 3, "%d runs (6 kinds of calls, 12 values of k), %d of them killed before their end: 0 differences", ran, killed)
}

// killAtCall runs once under strace and tells whether that was killed.
func killAtCall(t *testing.T, strace string, k task, call string, when int) bool {
	t.Helper()
	k.Kind = taskOnce
	run, err := k.command("")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "signal=none",
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, when),
	}
	c := exec.Command(strace, append(args, run.Args...)...)
	c.Env = run.Env
	out, err := c.CombinedOutput()
	if err == nil {
		return false
	}
	if bytes.Contains(out, []byte("strace: ptrace(")) {
		t.Logf("%s, before call %d: strace itself failed: %s", call, when, out)
		return false
	}
	// strace ends as what it traced did.
	if c.ProcessState.ExitCode() != -1 && c.ProcessState.ExitCode() != 137 {
		t.Fatalf("%s, killed before call %d: %v: %s", call, when, err, out)
	}
	return true
}
