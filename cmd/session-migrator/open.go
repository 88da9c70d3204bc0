package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// reader is the open cache with what answers from it.
type reader struct {
	config config.Config
	db     *store.DB
	pipe   *pipeline.Pipeline

	rebuild *pipeline.Rebuild // nil: all is there
}

// open gives the cache as fresh as it can be had: a daemon keeps it so, and
// without one the new lines are taken in first.
func (a *app) open(ctx context.Context) (*reader, error) { return a.openIndexed(ctx, 0) }

// openIndexed is open for who searches: so much time may go into the search
// index where no daemon keeps it.
func (a *app) openIndexed(ctx context.Context, index time.Duration) (*reader, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	if err := a.catchUp(ctx, c, index); err != nil {
		return nil, err
	}
	r, err := openReader(ctx, c)
	if err != nil {
		return nil, err
	}
	if r.rebuild != nil {
		a.warn("%s; what isn't read yet is missing", r.rebuild)
	}
	return r, nil
}

func openReader(ctx context.Context, c config.Config) (*reader, error) {
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		return nil, err
	}
	p, err := pipeline.New(ctx, db, daemon.PipelineOptions(c))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	filling, err := pipeline.Rebuilding(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &reader{config: c, db: db, pipe: p, rebuild: filling}, nil
}

// close gives the cache back. It was only read: nothing can be lost.
func (r *reader) close() { _ = r.db.Close() }

// catchUp takes new lines in. What keeps it from doing so is said, and only
// fatal if there is no cache to answer from.
func (a *app) catchUp(ctx context.Context, c config.Config, index time.Duration) error {
	have := exists(c.DB())
	missing := missingHomes(c)
	if len(missing) == len(c.CodexHomes) {
		if !have || emptyCache(ctx, c) {
			return noHome(missing, store.ErrNone)
		}
		a.warn("no Codex home at %s: answering from what was kept", joined(missing))
		return nil
	}
	for _, h := range missing {
		a.warn("no Codex home at %s", h)
	}
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	bar := a.progress()
	err = daemon.CatchUp(ctx, daemon.Options{Config: c, Version: version, Log: log, Index: index, Progress: bar.tell, Healed: a.healed})
	bar.done()
	err = a.ofCache(explained(c, err))
	if err != nil && have && ctx.Err() == nil {
		what := err.Error()
		if h, ok := errors.AsType[*hintError](err); ok {
			what += ": " + h.hint
		}
		a.warn("the newest lines could not be taken in: %s", what)
		return nil
	}
	return err
}

// emptyCache tells whether nothing was ever read into the cache. One that can't
// be opened is not empty: the command will say what is wrong with it.
func emptyCache(ctx context.Context, c config.Config) bool {
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		return errors.Is(err, store.ErrNone)
	}
	totals, err := db.Totals(ctx)
	return errors.Join(err, db.Close()) == nil && len(totals) == 0
}

// warn tells on stderr what is amiss without ending the command.
func (a *app) warn(format string, args ...any) {
	put(a.err, "%s %s\n", a.paint(a.err, yellow, "warning:"), clean(fmt.Sprintf(format, args...), false))
}

// noHome is the error where there is nothing to read.
func noHome(missing []string, err error) error {
	for _, m := range missing {
		if st, statErr := os.Stat(m); statErr == nil && !st.IsDir() {
			return hinted(fmt.Errorf("no Codex home at %s, which is a file: %w", m, err), "give the folder that holds sessions/ with --codex-home DIR")
		}
	}
	return hinted(fmt.Errorf("no Codex home at %s: %w", joined(missing), err),
		`start Codex once, give its folder with --codex-home DIR, or see how it works with "session-migrator demo"`)
}

func missingHomes(c config.Config) []string {
	var out []string
	for _, h := range c.CodexHomes {
		if !isHome(h) {
			out = append(out, h)
		}
	}
	return out
}

// isHome tells whether a Codex home is there: one that can't be looked at is, a
// file is none.
func isHome(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// thread finds the thread that a SESSION argument names.
func (r *reader) thread(ctx context.Context, arg string) (string, error) {
	if strings.ContainsAny(arg, `/\`) || strings.Contains(arg, ".json") {
		if abs, err := filepath.Abs(arg); err == nil {
			arg = abs
		}
	}
	id, err := r.db.Resolve(ctx, arg, "", "")
	if e, ok := errors.AsType[*store.AmbiguousError](err); ok {
		return "", candidates(e)
	}
	if errors.Is(err, store.ErrNotFound) {
		return "", r.withNewest(ctx, err)
	}
	return id, err
}

// threads is thread for each of them.
func (r *reader) threads(ctx context.Context, args []string) (ids []string, err error) {
	for _, s := range args {
		id, err := r.thread(ctx, s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// withNewest says which sessions there are.
func (r *reader) withNewest(ctx context.Context, err error) error {
	near, total, listErr := r.db.Threads(ctx, store.Filter{Limit: 5, Archived: true})
	if listErr != nil || total == 0 {
		return err
	}
	var b strings.Builder
	b.WriteString(err.Error())
	b.WriteString("\nthe newest sessions are")
	for _, t := range near {
		listed(&b, t.ID, t.Title)
	}
	return fmt.Errorf("%s%w", b.String(), silent{err})
}

// view opens the cache and gives the thread that arg names with its messages.
func (a *app) view(ctx context.Context, arg string) (*reader, pipeline.View, error) {
	r, err := a.open(ctx)
	if err != nil {
		return nil, pipeline.View{}, err
	}
	id, err := r.thread(ctx, arg)
	if err == nil {
		err = unread(r.pipe.Unread(ctx, id))
	}
	if err != nil {
		r.close()
		return nil, pipeline.View{}, err
	}
	v, err := r.pipe.View(ctx, id)
	if err != nil {
		r.close()
		return nil, v, err
	}
	if v.Fresh.Behind > 0 {
		a.warn("the answer is %s behind the rollout", size(v.Fresh.Behind))
	}
	if v.Fresh.Rederived {
		a.warn("the cache disagreed with itself about this session: it was read from its rollout, and is to be repaired")
	}
	return r, v, nil
}

// windows refuses names that end in "@" and something that is no window, a slip
// that the default figures would hide.
func (r *reader) windows(models ...string) error {
	for _, name := range models {
		if _, err := r.pipe.Table().Lookup(name); errors.Is(err, capacity.ErrWindow) {
			return usageError{err}
		}
	}
	return nil
}

// unread says what to do about a file of which nothing could be read.
func unread(err error) error {
	if e, ok := errors.AsType[*pipeline.UnreadError](err); ok {
		e = &pipeline.UnreadError{Path: e.Path, Reason: without(e.Path, e.Reason)}
		return hinted(e, letRead(e.Path, "see that you may read it")+"; it is then read by itself, or by the next command")
	}
	return err
}

// anySystem matches an absolute path of Windows wherever it is asked for.
var anySystem = pattern.Lazy(`^([A-Za-z]:[\\/]|\\\\)`)

// workspaceKey turns what --workspace says into the store's key; empty for all.
func workspaceKey(dir string) (string, error) {
	if dir == "" || dir == "all" {
		return "", nil
	}
	if !anySystem().MatchString(dir) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", usagef("resolve workspace %q: %w", dir, err)
		}
		dir = abs
	}
	return transcript.WorkspaceKey(dir), nil
}
