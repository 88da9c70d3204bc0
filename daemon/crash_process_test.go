//go:build crash || faults

package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store/failpoint"
)

// task is what a process of this test binary is started for.
type task struct {
	Kind    string // run, once, rebuild or write
	Data    string // data folder
	Home    string // Codex home
	User    string // home folder of the user; empty: no sink but the drop folder has a place
	Work    string // of the writer: where its workspaces are; empty: nowhere
	Past    string // of the writer: where contents go that it is about to destroy
	Seed    uint64 // of the writer
	Hostile bool   // of the writer
}

// The kinds of a task.
const (
	taskRun     = "run"
	taskOnce    = "once"
	taskRebuild = "rebuild"
	taskWrite   = "write"
)

const taskEnv = "SESSION_MIGRATOR_CRASH_TASK"

// TestProcess is not a test: it is what the processes do that the tests start.
func TestProcess(*testing.T) {
	text := os.Getenv(taskEnv)
	if text == "" {
		return
	}
	var k task
	err := json.Unmarshal([]byte(text), &k)
	if err == nil {
		err = k.perform()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (k task) perform() (err error) {
	opt := daemon.Options{Config: k.config()}
	switch k.Kind {
	case taskRun:
		return daemon.Run(context.Background(), opt)
	case taskOnce:
		s, err := daemon.Once(context.Background(), opt)
		if err == nil && len(s.Unwritten) > 0 {
			err = fmt.Errorf("not written: %v", s.Unwritten)
		}
		return err
	case taskRebuild:
		_, err = daemon.Rebuild(context.Background(), opt, nil)
	case taskWrite:
		return serveWriter(k, os.Stdin, os.Stdout)
	}
	return err
}

// config has a target that is too small for any session, so that there are
// selections, too, and few others.
func (k task) config() config.Config {
	return config.Config{
		Home: k.Data, User: k.User, CodexHomes: []string{k.Home}, MemoryDir: filepath.Join(k.Data, "memory"),
		Models:  map[string]config.Model{"tiny": {Context: 3000}},
		Targets: []string{"tiny", "gpt-5.5", "claude-opus-4-6"},
	}
}

// command is the process of a task. It dies at the failpoint, if one is given.
func (k task) command(at string) (*exec.Cmd, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	c := exec.Command(os.Args[0], "-test.run=^TestProcess$")
	c.Env = append(os.Environ(), taskEnv+"="+string(text))
	if at != "" {
		c.Env = append(c.Env, failpoint.Env+"="+at)
	}
	return c, nil
}

// scribe is a writer process as the test sees it.
type scribe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err *strings.Builder
}

func startScribe(k task) (*scribe, error) {
	c, err := k.command("")
	if err != nil {
		return nil, err
	}
	s := &scribe{cmd: c, err: &strings.Builder{}}
	c.Stderr = s.err
	if s.in, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	return s, c.Start()
}

// tell gives the writer an order and waits until it is carried out: after
// "go" it writes on and on, after "pause" it rests between two steps, anything
// else is done by itself.
func (s *scribe) tell(order string) error {
	if _, err := io.WriteString(s.in, order+"\n"); err != nil {
		return fmt.Errorf("tell the writer %q: %w: %s", order, err, s.err)
	}
	line, err := s.out.ReadString('\n')
	if err == nil && line != "ok\n" {
		err = errors.New(line)
	}
	if err != nil {
		return fmt.Errorf("the writer, told %q: %w: %s", order, err, s.err)
	}
	return nil
}

func (s *scribe) stop() error {
	return errors.Join(s.in.Close(), s.cmd.Wait())
}
