//go:build linux && faults

package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// openFiles counts the descriptors of a process.
func (s *spawned) openFiles() int {
	s.t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(names)
}

func TestFaultFewDescriptors(t *testing.T) {
	if served(t) {
		return
	}
	const threads = 60
	reliability.Fault(t, 36, `ulimit -n 32; then none left at all (prlimit on the running daemon) while 60 sessions grow and a day begins; then 32 again`)
	p := newPlace(t)
	logs := make([]*rollouttest.Rollout, threads)
	grow := func(round string) {
		t.Helper()
		for _, b := range logs {
			b.User("question " + round).Assistant("answer " + round).End()
			p.write(b, -1)
		}
	}
	for i := range logs {
		logs[i] = talk(i)
		p.write(logs[i], -1)
	}
	s := p.spawn(time.Minute, "sh", "-c", `ulimit -n 32; exec "$0" "$@"`)
	db := p.reader()
	all := func(answer string) func() bool {
		return func() bool {
			for _, b := range logs {
				if !strings.HasSuffix(p.said(db, b.ThreadID()), "answer "+answer) {
					return false
				}
			}
			return true
		}
	}
	grow("two")
	p.until("all is read with 32", all("two"))
	if n := s.openFiles(); n > 32 {
		t.Errorf("%d descriptors", n)
	}

	pid := fmt.Sprint(s.cmd.Process.Pid)
	command(t, "prlimit", "--pid", pid, "--nofile=4:32")
	grow("three")
	fresh := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-00000000ffff", Start: time.Date(2026, 9, 30, 9, 0, 0, 0, time.UTC)})
	fresh.User("a new day").Assistant("begins").End()
	p.write(fresh, -1)
	<-time.After(3 * time.Second)
	s.alive()
	if all("three")() {
		t.Fatal("descriptors were left: nothing is tested")
	}
	command(t, "prlimit", "--pid", pid, "--nofile=32:32")
	took := p.until("all is read in the end", all("three"))
	p.until("the new day is read", func() bool { return p.said(db, fresh.ThreadID()) == "a new day|begins" })
	t.Logf("all read %v after there were descriptors again", took)
	grow("four")
	p.until("all goes on", all("four"))
	s.alive()
	var left string
	defer func() {
		if t.Failed() {
			t.Log("complained of: ", left)
		}
	}()
	p.until("nothing is complained of", func() bool {
		problems, err := db.Problems(t.Context())
		left = fmt.Sprint(err, problems, p.info().Problems)
		return err == nil && len(problems) == 0 && len(p.info().Problems) == 0
	})
	s.stop()
	if s.err != nil {
		t.Errorf("%v\n%s", s.err, s.errs.String())
	}
}

// command runs a program of the system; the test is skipped without.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s can't be had here: %v: %s", name, err, out)
	}
}
