package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// againFirst is how long is waited before the daemon is started again,
	// againMost what that grows to where it fails at once each time.
	againFirst = 2 * time.Second
	againMost  = 2 * time.Minute
	// wentWell is how long it must have run for a failure to be the first again.
	wentWell = time.Minute
	// stopPatience is what the daemon gets to end by itself.
	stopPatience = 30 * time.Second
)

// again is pure: whether the daemon is started again after it ended with a code
// for the n-th time in a row, and when.
func again(code, n int) (wait time.Duration, yes bool) {
	if code == exitDone || code == exitUsage {
		return 0, false
	}
	return min(againFirst<<min(n-1, 10), againMost), true
}

// keepRunning starts the daemon in a process of its own, and again when that
// fails. It is for systems whose service manager doesn't. The daemon ends when
// we do, for then its stdin ends.
func (r runAs) keepRunning(ctx context.Context) error {
	argv := superviseArgs(os.Args)
	for n := 1; ; n++ {
		begun := time.Now()
		code, err := r.child(ctx, argv)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > wentWell {
			n = 1
		}
		wait, yes := again(code, n)
		if !yes {
			return childError(code)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// childError is the end of the daemon as ours; nil for a good one.
func childError(code int) error {
	if code == exitDone {
		return nil
	}
	return reported(code)
}

// superviseArgs gives the command line of the daemon.
func superviseArgs(own []string) []string {
	out := slices.DeleteFunc(slices.Clone(own), func(a string) bool { return a == "--supervise" })
	return append(out, "--stop-at-eof")
}

// child runs the daemon once and gives its exit code.
func (r runAs) child(ctx context.Context, argv []string) (code int, err error) {
	c := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // our own command line; it is ended by its stdin first
	windowless(c)
	in, err := c.StdinPipe()
	if err != nil {
		return 0, fmt.Errorf("start the daemon: %w", err)
	}
	c.Stderr = os.Stderr
	if r.logFile != "" { // what a crash says, of the last time
		f, err := os.OpenFile(strings.TrimSuffix(r.logFile, ".log")+".crash.log", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			defer func() { _ = f.Close() }()
			c.Stderr = f
		}
	}
	if err := c.Start(); err != nil {
		return 0, fmt.Errorf("start the daemon: %w", err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = in.Close()
		select {
		case <-ended:
		case <-time.After(stopPatience):
			_ = c.Process.Kill()
		}
	})
	defer stop()
	err = c.Wait()
	close(ended)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := exit.ExitCode(); code > 0 {
			return code, nil
		}
		return exitFailed, nil // killed
	}
	return 0, err
}
