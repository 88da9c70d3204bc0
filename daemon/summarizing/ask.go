package summarizing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/atomicfile"
	"github.com/session-migrator/session-migrator/store/spend"
)

// ErrDenied means that nothing of a thread may be sent.
var ErrDenied = errors.New("the session is of a folder in summaries.deny_workspaces")

// ErrOff means that the settings name nobody who could be asked.
var ErrOff = errors.New("no model for summaries is in the settings")

const (
	asked    = ".ask"
	answered = ".done"
	// askedFor is how old a question may be: who asked has gone by then.
	askedFor = chat.JobFor + time.Minute
)

// folder holds the questions of commands to the daemon, and its answers.
func folder(c config.Config) string { return filepath.Join(c.Run(), "summarize") }

// answer is what became of a question.
type answer struct {
	Result Result `json:"result"`
	Error  string `json:"error,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// FixedError says what kept a summary from being made, and what to do about it.
type FixedError struct {
	What, Fix string
	Partly    bool // a part of it was made, and is kept
}

// Error says what.
func (e *FixedError) Error() string { return e.What }

// Now has a summary of a thread made at once: it need not be long, nor have
// rested. Caps and denied folders hold. For a worker that doesn't run.
func (w *Worker) Now(ctx context.Context, threadID string, wish Wish) (Result, error) {
	if w == nil {
		return Result{}, ErrOff
	}
	defer w.close()
	return w.atOnce(ctx, threadID, wish)
}

func (w *Worker) atOnce(ctx context.Context, id string, wish Wish) (r Result, err error) {
	t, err := w.opt.DB.Thread(ctx, id)
	if err != nil {
		return r, err
	}
	if denied, err := w.deny.Lineage(ctx, w.opt.DB, t); err != nil || denied {
		return r, errors.Join(err, ErrDenied)
	}
	// The breaker keeps the daemon from asking by itself, not a person.
	if _, err := w.capped(ctx); err != nil {
		return r, w.fixed(r, err)
	}
	v, err := w.opt.Pipe.View(ctx, id)
	if err != nil {
		return r, err
	}
	if r, err = w.one(ctx, v, wish); err == nil {
		if r.Requests > 0 {
			w.breaker = breaker{}
			w.say(func(i *Info) { i.LastError, i.LastFix, i.NextTry = "", "", time.Time{} })
		}
		w.drop(id)
		return r, nil
	}
	if _, isChat := errors.AsType[*chat.Error](err); isChat || errors.Is(err, llm.ErrEmpty) {
		if err := w.failed(ctx, v, 0, err); err != nil {
			return r, err
		}
	}
	return r, w.fixed(r, err)
}

func (w *Worker) fixed(r Result, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, store.ErrDamaged) {
		return err
	}
	todo := fix(w.opt.Config, err)
	if bad, ok := errors.AsType[*chat.Error](err); ok && bad.Hint() != "" {
		// It stands in the error already.
		return &FixedError{What: strings.TrimSuffix(err.Error(), "; "+bad.Hint()), Fix: bad.Hint(), Partly: r.Through > 0}
	}
	if strings.HasPrefix(todo, "nothing to do") && !errors.Is(err, spend.ErrCap) {
		todo = "try again, or see docs/summaries.md"
	}
	return &FixedError{What: err.Error(), Fix: todo, Partly: r.Through > 0}
}

// answer answers what commands ask the daemon.
func (w *Worker) answer(ctx context.Context) {
	dir := folder(w.opt.Config)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // nobody asks
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		st, err := e.Info()
		if err != nil || ctx.Err() != nil {
			continue
		}
		if time.Since(st.ModTime()) > askedFor {
			_ = os.Remove(name) // else the next time
			continue
		}
		id, ok := strings.CutSuffix(e.Name(), asked)
		if !ok {
			continue
		}
		var wish Wish
		var a answer
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &wish)
		}
		_ = os.Remove(name) // it is answered once
		if err == nil {
			a.Result, err = w.atOnce(ctx, id, wish)
		}
		if err != nil {
			a.Error = err.Error()
			if f, ok := errors.AsType[*FixedError](err); ok {
				a.Fix = f.Fix
			}
		}
		if text, err = json.Marshal(a); err == nil {
			err = put(dir, id+answered, text)
		}
		if err != nil {
			w.opt.Log.Warn("a question for a summary can't be answered", "thread", id, "err", err)
		}
	}
}

func put(dir, name string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }() // nothing of it is written through
	return atomicfile.Write(root, name, text, atomicfile.FileMode)
}

// Ask has the daemon make a summary, and waits for it.
func Ask(ctx context.Context, c config.Config, threadID string, wish Wish) (r Result, err error) {
	dir := folder(c)
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return r, fmt.Errorf("ask the daemon for a summary: %w", err)
	}
	text, err := json.Marshal(wish)
	if err != nil {
		return r, fmt.Errorf("ask the daemon for a summary: %w", err)
	}
	question, reply := filepath.Join(dir, threadID+asked), filepath.Join(dir, threadID+answered)
	if err := os.Remove(reply); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("ask the daemon for a summary: %w", err)
	}
	if err := put(dir, threadID+asked, text); err != nil {
		return r, fmt.Errorf("ask the daemon for a summary: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askedFor, errors.New("the daemon did not answer in time"))
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		text, err := os.ReadFile(reply)
		if errors.Is(err, fs.ErrNotExist) {
			select {
			case <-ctx.Done():
				_ = os.Remove(question) // if nobody took it up
				return r, context.Cause(ctx)
			case <-poll.C:
			}
			continue
		}
		if err != nil {
			return r, fmt.Errorf("read the daemon's answer: %w", err)
		}
		_ = os.Remove(reply) // it is read once
		var a answer
		if err := json.Unmarshal(text, &a); err != nil {
			return r, fmt.Errorf("read the daemon's answer: %w", err)
		}
		if a.Error != "" {
			return a.Result, &FixedError{What: a.Error, Fix: a.Fix, Partly: a.Result.Through > 0}
		}
		return a.Result, nil
	}
}

// Look says what would be sent for a thread, word for word, and sends nothing.
func Look(ctx context.Context, c config.Config, db *store.DB, pipe *pipeline.Pipeline, v pipeline.View, wish Wish) (p Preview, err error) {
	if !c.Summaries.On() {
		return p, ErrOff
	}
	e, err := endpoint(c.Summaries)
	if err != nil {
		return p, err
	}
	w, err := whoIn(c) // what is wrong with it is told, and no hindrance to look
	if errors.Is(err, chat.ErrOptions) && !errors.Is(err, chat.ErrRemote) {
		return p, err
	}
	w.endpoint = e
	window, output := windowOf(c, w, pipe, 0)
	p.Window, p.Host, p.Local, p.Model, p.Priced = window, w.host, w.local, e.Model, w.priced
	if err != nil {
		p.Fault, p.Fix = err.Error(), fix(c, err)
	}
	if p.Denied, err = denied(ctx, c, db, v); err != nil {
		return p, err
	}
	p.Plan, p.Exact, err = planned(ctx, pipe, w, v, c.Summaries, wish, window, output)
	if errors.Is(err, llm.ErrNothing) {
		p.Same, err = true, nil
	}
	if err != nil {
		return p, &FixedError{What: err.Error(), Fix: fix(c, err)}
	}
	p.MicroUSD = costOf(w, p.Plan)
	return p, nil
}
