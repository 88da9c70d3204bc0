//go:build !windows

package mcpserver_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
)

// isServer is set for a process that is a server and nothing else.
const isServer = "SESSION_MIGRATOR_TEST_SERVER"

// serving is called first by a test that starts this program again: in the
// process that it starts it serves, and never returns.
func serving(t *testing.T) {
	t.Helper()
	if os.Getenv(isServer) == "" {
		return
	}
	if err := mcpserver.ServeStdio(t.Context(), mcpserver.Deps{}); err != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

// again is this program, to be started as the server of a test.
func again(t *testing.T, by ...string) *exec.Cmd {
	t.Helper()
	args := append(by, os.Args[0], "-test.run=^"+t.Name()+"$")
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), isServer+"=1")
	return c
}

// No signal and no end of input tells of a client that was killed while another
// process holds the pipe: here the test, which holds it for all the time.
func TestServerOutlivesNoClient(t *testing.T) {
	serving(t)
	t.Parallel() // most of it is waiting
	client := again(t, "sh", "-c", `exec 3<&0; "$0" "$@" <&3 & echo $!; wait`)
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	if a, err := lines.ReadString('\n'); err != nil || !strings.Contains(a, `"result"`) {
		t.Fatalf("%s %v", a, err)
	}
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	tooLong := time.AfterFunc(20*time.Second, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	defer tooLong.Stop()
	if _, err := lines.ReadString('\n'); !errors.Is(err, io.EOF) { // it has ended
		t.Errorf("said more: %v", err)
	}
	if took := time.Since(killed); took > 6*time.Second {
		t.Errorf("lived on for %v", took)
	}
	_ = client.Wait() // killed
}

// A client that has gone from the other end is an end like others: answers are
// finished and files closed, and no signal ends the process.
func TestServerEndsWellWhenNobodyReads(t *testing.T) {
	serving(t)
	c := again(t)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	tooLong := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	defer tooLong.Stop()
	if _, err := io.WriteString(in, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	if state, err := c.Process.Wait(); err != nil || !state.Success() {
		t.Errorf("ended with %v (%v)", state, err)
	}
}
