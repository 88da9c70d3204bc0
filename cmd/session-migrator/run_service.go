package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/life"
	"github.com/session-migrator/session-migrator/daemon/logfile"
	"github.com/session-migrator/session-migrator/daemon/sdnotify"
	"github.com/session-migrator/session-migrator/install/service"
)

// runAs is how the daemon runs when something else than a shell starts it.
type runAs struct {
	service   string   // manager that starts it
	logFile   string   // where the log goes instead of stderr
	env       []string // NAME=VALUE that count before the environment
	supervise bool     // start the daemon in a process of its own, again and again
	stopAtEOF bool     // end when stdin does: the one that started us is gone
}

func (r *runAs) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.logFile, "log-file", "", "write the log there instead of to stderr, 5 files of 5 MB at most")
	f.StringArrayVar(&r.env, "env", nil, "NAME=VALUE, repeatable: counts as set in the environment, for services that have none")
	f.StringVar(&r.service, "service", "", "the service manager that starts it")
	f.BoolVar(&r.supervise, "supervise", false, "start the daemon again when it fails")
	f.BoolVar(&r.stopAtEOF, "stop-at-eof", false, "end when stdin does")
	for _, name := range []string{"service", "supervise", "stop-at-eof"} {
		_ = f.MarkHidden(name) // it is there
	}
}

// run runs the daemon as it was asked to.
func (r runAs) run(ctx context.Context, a *app) error {
	env, err := overlay(a.env, r.env)
	if err != nil {
		return err
	}
	a.env = env
	if r.service != "" {
		leaveConsole()
	}
	if r.supervise {
		return r.keepRunning(ctx)
	}
	if r.logFile != "" {
		l, err := logfile.Open(r.logFile)
		if err != nil {
			return hinted(err, "give another --log-file")
		}
		defer func() { _ = l.Close() }() // nobody can be told
		a.err = l
	}
	if r.stopAtEOF {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		in := a.in
		go func() { // ends with the process: a read of stdin can't be called off
			_, _ = io.Copy(io.Discard, in)
			stop()
		}()
	}
	if r.service == service.SCM.String() {
		return service.AsService(func(ctx context.Context) error {
			err := runDaemon(ctx, a, r)
			if err != nil && ctx.Err() == nil {
				os.Exit(a.report(ctx, err)) // the manager starts it again
			}
			return err
		})
	}
	err = runDaemon(ctx, a, r)
	if r.logFile != "" && err != nil {
		// The command's own end is told there too, before the file is closed.
		return reported(a.report(ctx, err))
	}
	return err
}

// reported is the exit code of an error that was told already.
type reported int

func (r reported) Error() string { return fmt.Sprintf("exit code %d", int(r)) }

// supervisor is the process that starts us again.
func (r runAs) supervisor() int {
	if !r.stopAtEOF {
		return 0
	}
	return os.Getppid()
}

// overlay lets NAME=VALUE count before the environment.
func overlay(env config.Env, set []string) (config.Env, error) {
	if len(set) == 0 {
		return env, nil
	}
	values := map[string]string{}
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usagef("--env %q is not of the form NAME=VALUE", s)
		}
		values[name] = value
	}
	return func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return env(name)
	}, nil
}

// notifier tells systemd how the daemon is, if that wants to know.
type notifier struct {
	socket *sdnotify.Socket
	log    *slog.Logger
}

func (a *app) notifier(log *slog.Logger) (notifier, error) {
	s, err := sdnotify.Open(a.env("NOTIFY_SOCKET"))
	if err != nil {
		return notifier{}, errors.Join(err, s.Close())
	}
	return notifier{s, log}, nil
}

func (n notifier) tell(what life.State) {
	var word string
	switch what {
	case life.Ready:
		word = sdnotify.Ready
	case life.Alive:
		word = sdnotify.Alive
	case life.Stopping:
		word = sdnotify.Stopping
	}
	if err := n.socket.Tell(word); err != nil {
		n.log.Debug("the service manager can't be told", "err", err)
	}
}

func (n notifier) close() { _ = n.socket.Close() }
