package mcpserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

// EndGrace is how long answers under way may take after the client closed its
// end: `printf … | session-migrator mcp` wants its answer. OpenStore must be
// done sooner. A client in a hurry sends a signal.
const EndGrace = 12 * time.Second

const (
	// stopGrace is the same after a signal; clients follow up with SIGKILL.
	stopGrace = time.Second
	// abandonAfter is how long a call that was told to stop may still run.
	abandonAfter = 200 * time.Millisecond
	// parentEvery is how often the parent is looked at: no signal and no end of
	// input tells of a client that was killed while something else holds the pipe.
	parentEvery = 3 * time.Second
)

// Deps are what a server needs from the program around it.
type Deps struct {
	// OpenStore opens the cache for reading, when the first question needs it.
	OpenStore func(context.Context) (*store.DB, error)
	// SearchPath is where the search index lies, opened when the first search
	// needs it; empty or nothing there: searches look through the newest of the cache.
	SearchPath string
	// Meaning adds to a question what search by meaning needs, within a moment,
	// and says why it could not; nil: questions are answered by words only.
	Meaning func(ctx context.Context, db *store.DB, r *search.Request) (note string)
	// PipelineOptions are those of the daemon, so that decisions agree.
	PipelineOptions pipeline.Options
	// Damaged is told when damage to the cache was met; may be nil.
	Damaged func(error)
	// Status tells of the daemon; nil: unknown, taken as stopped.
	Status func(context.Context) (DaemonStatus, error)
	// Spool is the folder through which agents may save summaries of sessions;
	// empty: they may not.
	Spool string
	// Updated says in a few words that another program lies where this one was
	// started from; empty: none does. nil: it is not known. Each answer asks.
	Updated func() string
	// Version of the program.
	Version string
	// Workspace, if set, is the only folder whose sessions are answered from.
	Workspace string
	// Cwd is the folder the client started the server in.
	Cwd string
	// Env reads the environment; nil: it is empty.
	Env func(string) string
	// Log takes what goes wrong, never to stdout; nil: nothing is logged.
	Log *slog.Logger
}

// DaemonStatus is what is known of the daemon.
type DaemonStatus struct {
	Running bool
	PID     int
	Version string
	Since   time.Time // start; zero if unknown
	Spools  bool      // it takes in what agents save
}

// ServeStdio serves on stdin and stdout until the client closes them, the
// parent dies or SIGTERM, SIGINT or SIGHUP arrives; all of these end it without
// an error. From then on os.Stdout is stderr: a stray print can't break the
// protocol.
func ServeStdio(ctx context.Context, d Deps) error {
	out := os.Stdout
	os.Stdout = os.Stderr
	// Else a client that no longer reads stdout, or stderr alone, ends the
	// process in the middle of whatever it does.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		watchParent(ctx, parentEvery)
		cancel()
	})
	return Serve(ctx, d, os.Stdin, out)
}

// Serve answers what comes in until in ends or ctx does; both are a clean end.
// A read of in that is under way when ctx ends is left behind: who owns in
// closes it.
func Serve(ctx context.Context, d Deps, in io.Reader, out io.Writer) error {
	s := newServer(d)
	defer s.close()
	t := newTransport(in, out, s.log)
	w := newWatcher(s, t.notify)
	// The calls' contexts must not end with ctx: they get their grace.
	session, err := newSDK(s, w).Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return fmt.Errorf("start the protocol: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	defer w.start(ctx)()

	ended := ctx.Done()
	for {
		select {
		case err := <-done:
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		case <-ended:
			ended = nil
			t.halt()
		case <-t.drained:
			// [5] is over or out of time; the calls left were told to stop.
			select {
			case <-done: //nolint:errcheck // the end was asked for: how it came about is no news
			case <-time.After(abandonAfter):
				s.log.Warn("calls abandoned at the end")
			}
			return nil
		}
	}
}
