package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// advice is an error that the model can mend: its text says how.
type advice struct{ text string }

// Error is the text.
func (a *advice) Error() string { return a.text }

func advise(format string, a ...any) error { return &advice{fmt.Sprintf(format, a...)} }

// explain gives the text for the model, and whether the fault is ours.
func (s *server) explain(ctx context.Context, err error) (text string, ours bool) {
	if a, ok := errors.AsType[*advice](err); ok {
		return a.text, false
	}
	if e, ok := errors.AsType[*store.NewerError](err); ok {
		return fmt.Sprintf("The cache was written by a newer session-migrator (schema %d); this server is %s (reads up to %d). "+
			"Reconnect this MCP server or restart the agent: the binary on disk is already newer.", e.Schema, s.deps.Version, e.Known), false
	}
	if e, ok := errors.AsType[*store.ChangedError](err); ok {
		return fmt.Sprintf("The text behind %s is not the one it was stored with; the cache must be rebuilt: `session-migrator rebuild`.", e.Ref), false
	}
	// The error of package compress, by what it can say.
	if e, ok := errors.AsType[interface {
		error
		TooSmall() (budget, need int)
	}](err); ok {
		budget, need := e.TooSmall()
		return fmt.Sprintf("Not even the newest message fits, cut as it is: the room for it is %s tokens, it needs %s. Give a model with a larger window, or less reserve_tokens.",
			grouped(max(0, budget)), grouped(need)), false
	}
	switch {
	case (errors.Is(err, store.ErrNone) || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrForeign)) && s.daemon(ctx).Running:
		return "The daemon is making the cache anew: ask again in a few seconds.", false
	case errors.Is(err, store.ErrChanged):
		return "What the cache holds of this session disagrees with itself, so nothing is given out. The daemon reads the session anew from its rollouts: try again in a few seconds. Without a daemon: `session-migrator rebuild`.", false
	case errors.Is(err, store.ErrNone):
		return "No session cache yet: the daemon has never run for this user. Start it with `session-migrator run` (or bring the cache up to date once with `session-migrator run --once`). " +
			"model_context_window, list_known_models and migrate_session work without it.", false
	case errors.Is(err, store.ErrBusy):
		return "The cache is busy (3 tries in 1 s). Try again.", false
	case errors.Is(err, store.ErrDamaged):
		return "The cache is damaged. `session-migrator rebuild` sets it aside and makes it anew from the rollouts; a running daemon does so by itself.", false
	case errors.Is(err, store.ErrForeign):
		return "The file in the cache's place is not a session-migrator cache. `session-migrator run --once` moves it aside.", false
	case errors.Is(err, store.ErrFolder), errors.Is(err, fs.ErrPermission):
		return "The cache or its folder can't be read by this user. `session-migrator doctor` names the fix.", false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "The call was cancelled.", false
	}
	return "This is a fault of session-migrator: " + echoed(err.Error(), 400) + ". `session-migrator status` may tell more.", true
}

// echoed is what somebody said, as it may be said back or shown: without secrets,
// which people paste into any argument, one line, short.
func echoed(s string, n int) string { return clip(oneLine(pipeline.RedactText(s)), n) }

// oneLine keeps foreign text from making lines of its own.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }), " ")
}

// clip cuts s to at most n runes.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
