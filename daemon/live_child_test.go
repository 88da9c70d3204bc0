//go:build unix

package daemon_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
)

// liveEnv holds the data folder and the Codex home, one a line, of a process
// that is a daemon and nothing else.
const liveEnv = "SESSION_MIGRATOR_TEST_LIVE"

// isReady is what such a process says when all has been read.
const isReady = "the daemon watches"

// served is called first by a test that spawns a daemon: in the spawned process
// it is the daemon, and true.
func served(t *testing.T) bool {
	t.Helper()
	place := os.Getenv(liveEnv)
	if place == "" {
		return false
	}
	data, home, _ := strings.Cut(place, "\n")
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	var once sync.Once
	err := daemon.Run(ctx, daemon.Options{
		Config: config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: data + "/memory"},
		Progress: func(g daemon.Progress) {
			if g.Phase == daemon.PhaseWatch {
				once.Do(func() { _, _ = os.Stdout.WriteString(isReady + "\n") })
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// spawned is a daemon in a process of its own.
type spawned struct {
	t    *testing.T
	cmd  *exec.Cmd
	errs bytes.Buffer
	done chan struct{} // closed when it has ended
	err  error         // then
}

// spawn starts one, by the commands given, and waits until it is ready.
func (p *place) spawn(within time.Duration, by ...string) *spawned {
	p.t.Helper()
	args := append(by, os.Args[0], "-test.run=^"+p.t.Name()+"$", "-test.timeout=30m")
	s := &spawned{t: p.t, cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), liveEnv+"="+p.opt.Config.Home+"\n"+p.codex())
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ready := make(chan struct{})
	var said strings.Builder
	go func() {
		defer close(s.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == isReady {
				close(ready)
			}
			said.WriteString(lines.Text() + "\n")
		}
		s.err = s.cmd.Wait()
	}()
	p.t.Cleanup(func() { s.stop() })
	select {
	case <-ready:
	case <-s.done:
		p.t.Fatalf("the daemon ended: %v\n%s%s", s.err, said.String(), s.errs.String())
	case <-time.After(within):
		p.t.Fatal("the daemon doesn't get ready")
	}
	return s
}

// stop ends it, if it hasn't ended.
func (s *spawned) stop() {
	s.t.Helper()
	select {
	case <-s.done:
		return
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Errorf("stop the daemon: %v", err)
	}
	select {
	case <-s.done:
	case <-time.After(30 * time.Second):
		s.t.Error("the daemon doesn't end")
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// alive checks that it hasn't ended by itself.
func (s *spawned) alive() {
	s.t.Helper()
	select {
	case <-s.done:
		s.t.Fatalf("the daemon ended: %v\n%s", s.err, s.errs.String())
	default:
	}
}

func (p *place) info() daemon.Info {
	p.t.Helper()
	info, err := daemon.Inspect(p.opt.Config)
	if err != nil {
		p.t.Fatal(err)
	}
	return info
}
