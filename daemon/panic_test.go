package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// panicEnv holds the data folder and the Codex home of a daemon with a bug.
const panicEnv = "SESSION_MIGRATOR_TEST_PANIC"

// buggy panics where a goroutine of the daemon logs.
type buggy struct{ slog.Handler }

func (b buggy) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "backfill done" {
		panic("bug: for the test")
	}
	return nil
}

// A bug in one goroutine ends the process, in plain sight: none dies alone
// while the others look healthy. The lock is free then and the cache whole.
func TestPanicEndsTheProcess(t *testing.T) {
	if text := os.Getenv(panicEnv); text != "" {
		data, home, _ := strings.Cut(text, "\n")
		_ = daemon.Run(t.Context(), daemon.Options{Log: slog.New(buggy{slog.NewTextHandler(os.Stderr, nil)}),
			Config: config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}})
		return
	}
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	p.write(b, -1)
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPanicEndsTheProcess$")
	c.Env = append(os.Environ(), panicEnv+"="+p.opt.Config.Home+"\n"+p.codex())
	out, err := c.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok || !bytes.Contains(out, []byte("bug: for the test")) {
		t.Fatalf("%v\n%s", err, out)
	}
	s, err := daemon.Once(t.Context(), p.opt)
	if err != nil || s.Threads != 1 || s.SetAside != "" {
		t.Errorf("%+v, %v", s, err)
	}
	if got := p.said(p.reader(), b.ThreadID()); got != "question|answer" {
		t.Errorf("said %q", got)
	}
}
