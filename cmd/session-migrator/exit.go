package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/store"
)

// The exit codes, all of them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartly      = 3 // what was left out is listed
	exitNoCache     = 10
	exitLocked      = 11
	exitNotFound    = 12
	exitInterrupted = 130
)

// usageError is what the caller of the command line can mend.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// partlyError says that an answer was given and something left out.
type partlyError struct{ what string }

func (e partlyError) Error() string { return e.what }

// hintError carries the next step.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

func hinted(err error, hint string) error { return &hintError{err, hint} }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// report prints an error with its next step and gives the exit code.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		put(a.err, "interrupted\n")
		return exitInterrupted
	}
	if told, ok := errors.AsType[reported](err); ok {
		return int(told)
	}
	code, hint := classify(err)
	if h, ok := errors.AsType[*hintError](err); ok {
		hint = h.hint
	}
	put(a.err, "%s %s\n", a.paint(a.err, red, "error:"), clean(err.Error(), true))
	if hint != "" {
		put(a.err, "%s %s\n", a.paint(a.err, yellow, "hint:"), hint)
	}
	return code
}

// classify gives an error's exit code and the usual next step.
func classify(err error) (code int, hint string) {
	if l, ok := errors.AsType[*daemon.LockedError](err); ok {
		if !l.Daemon {
			return exitLocked, "it takes new lines in and will be done soon: try again"
		}
		return exitLocked, "stop that daemon first, or give another --home"
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage, ""
	}
	if _, ok := errors.AsType[partlyError](err); ok {
		return exitPartly, ""
	}
	if _, ok := errors.AsType[*store.AmbiguousError](err); ok {
		return exitNotFound, "give more characters of the id"
	}
	if _, ok := errors.AsType[errNoService](err); ok {
		return exitNotFound, ""
	}
	if _, ok := errors.AsType[*store.NewerError](err); ok {
		return exitFailed, "a newer session-migrator wrote the cache: update this one, or give another --home"
	}
	switch {
	case errors.Is(err, store.ErrNone):
		return exitNoCache, `run "session-migrator run --once" to make it`
	case errors.Is(err, store.ErrNotFound):
		return exitNotFound, `run "session-migrator sessions --subagents --archived" to see what is there`
	case errors.Is(err, store.ErrChanged):
		return exitFailed, `a running daemon repairs it in a few seconds; without one run "session-migrator rebuild"`
	case errors.Is(err, store.ErrBusy):
		return exitLocked, "try again in a moment"
	case errors.Is(err, store.ErrForeign):
		return exitFailed, `give another --home, or run "session-migrator run --once": that file is moved aside, never deleted`
	case errors.Is(err, store.ErrDamaged):
		return exitFailed, `run "session-migrator rebuild": a damaged file is set aside and the cache made anew from the rollouts`
	case errors.Is(err, store.ErrFull):
		return exitFailed, "see that the disk of the data folder has room and can be written to"
	}
	return exitFailed, ""
}

func quote(s string) string { return strconv.Quote(s) }

// joined names things for people: "a, b and c".
func joined(list []string) string {
	switch n := len(list); n {
	case 0:
		return "none"
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
}
