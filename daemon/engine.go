package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/embedding"
	"github.com/session-migrator/session-migrator/daemon/exe"
	"github.com/session-migrator/session-migrator/daemon/life"
	"github.com/session-migrator/session-migrator/daemon/summarizing"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/calibration"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
	"github.com/session-migrator/session-migrator/watch"
)

// Options say what to keep up to date, and who wants to know.
type Options struct {
	Config   config.Config
	Version  string          // of the program, shown by status
	Log      *slog.Logger    // nil: nothing is logged
	Progress func(Progress)  // called now and then, never twice at a time; may be nil
	Index    time.Duration   // what CatchUp may spend on the search index; the least is 300 ms
	Healed   func(Recovered) // told of a cache that was set aside and made anew; nil: the log says so

	Life       func(life.State) // told of the daemon's life, from several goroutines; may be nil
	Service    string           // the service manager that started it; empty: somebody did
	Supervisor int              // the process that starts it again; 0: none of ours

	pulse     *life.Pulse
	consumers []sink.Consumer                      // of documents; nil: all there are
	usage     func(dir string) (disk.Usage, error) // nil: the system's answer
	began     time.Time                            // when Run did; a new cache changes nothing about it
	program   exe.File                             // that Run began from
}

// engine is one writer at work: the lock, the cache and what fills it.
type engine struct {
	opt       Options
	log       *slog.Logger
	lock      *lock
	db        *store.DB
	pipe      *pipeline.Pipeline
	relay     *relay              // what runs out; nil in a run that ends by itself
	later     *later              // what could not be read yet; nil in a run that ends by itself
	index     *indexer            // keeps the search index; nil in a run that ends by itself
	gate      *gate               // what writes to the cache goes through it
	embed     *embedding.Worker   // nil: the settings ask for none, or the run ends by itself
	summaries *summarizing.Worker // the same
	exact     *exact              // counts in imported vocabularies; nil in a run that ends by itself
	aside     string              // where a damaged cache was moved, empty if none was
	cut       bool                // the run before did not come to its end

	troubles troubles
	now      func() time.Time // wall clock, of the daily work
	quiet    time.Duration    // for which nothing must be written before a check goes on
}

// start takes the lock and opens the cache. A damaged cache is moved aside and
// rebuilt from the rollouts; one of a newer program is left alone.
func start(ctx context.Context, opt Options, role string) (*engine, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	home, run := opt.Config.Home, opt.Config.Run()
	var l *lock
	var err error
	if role == roleDaemon {
		l, err = acquireDaemon(ctx, home, run)
	} else {
		l, err = acquireSoon(ctx, home, run)
	}
	if err != nil {
		return nil, err
	}
	if err := writeHolder(run, role); err != nil {
		opt.Log.Debug("can't say who works on the data folder", "err", err) // it is for people only
	}
	e := &engine{
		opt: opt, log: opt.Log, lock: l, now: time.Now, quiet: quiet,
		gate: &gate{dir: home, patient: role == roleDaemon, usage: opt.usage, log: opt.Log},
	}
	if e.gate.usage == nil {
		e.gate.usage = disk.Of
	}
	if err := e.gate.written(ctx, func() error { return e.open(ctx) }); err != nil {
		return nil, errors.Join(err, l.release())
	}
	if e.pipe == nil { // ctx ended while the cache couldn't be written
		return nil, errors.Join(context.Cause(ctx), l.release())
	}
	return e, nil
}

// cleanKey remembers whether the last writer closed the cache itself.
const cleanKey = "clean_shutdown"

func (e *engine) open(ctx context.Context) error {
	db, cause, err := e.openCache(ctx)
	if err != nil {
		return err
	}
	e.db = db
	if err := e.begin(ctx, cause); err != nil && ctx.Err() != nil {
		return errors.Join(err, e.closeCache(ctx)) // told to stop: nothing is wrong with it
	} else if err != nil {
		return Suspect(e.opt.Config, errors.Join(diagnose(ctx, e.db, err), db.Close()))
	}
	return nil
}

// begin makes an open cache ready to be written.
func (e *engine) begin(ctx context.Context, cause error) (err error) {
	if err := os.Remove(filepath.Join(e.opt.Config.Run(), suspectFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget to check the cache: %w", err)
	}
	if err := e.db.SetMeta(ctx, cleanKey, "no"); err != nil {
		return err
	}
	if e.db.Fresh() {
		if err := removeIndex(e.opt.Config.Search()); err != nil {
			e.log.Warn("the search index of the cache before stays until it can be deleted", "err", err)
		}
		if err := e.refill(ctx, cause); err != nil {
			return err
		}
	}
	e.pipe, err = pipeline.New(ctx, e.db, PipelineOptions(e.opt.Config))
	return err
}

// checked looks for damage if the last writer did not end by itself, or if
// somebody met damage. On an error db is closed.
func (e *engine) checked(ctx context.Context, db *store.DB) error {
	mark := filepath.Join(e.opt.Config.Run(), suspectFile)
	_, marked := os.Stat(mark)
	clean, err := db.Meta(ctx, cleanKey)
	e.cut = clean == "no"
	switch {
	case err != nil:
	case marked == nil:
		err = db.CheckAll(ctx)
	case e.cut:
		err = db.Check(ctx)
	}
	if err != nil {
		return errors.Join(diagnose(ctx, db, err), db.Close())
	}
	return nil
}

// suspectFile asks the next writer to look the whole cache over: most damage
// shows only where it is read.
const suspectFile = "suspect"

// Suspect asks the next run to look the cache over, if err tells of damage. It
// gives err back.
func Suspect(c config.Config, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return errors.Join(err, markSuspect(c))
}

func markSuspect(c config.Config) error {
	if err := os.MkdirAll(c.Run(), 0o700); err != nil {
		return fmt.Errorf("mark the cache for a check: %w", err)
	}
	return os.WriteFile(filepath.Join(c.Run(), suspectFile), nil, 0o600)
}

// closed closes the engine after what ended with err. If that is of damage, the
// next run looks the cache over.
func (e *engine) closed(ctx context.Context, err error) error {
	err = diagnose(ctx, e.db, err)
	return Suspect(e.opt.Config, errors.Join(err, e.close(ctx)))
}

// close leaves a clean cache behind, and gives the lock back.
func (e *engine) close(ctx context.Context) error {
	return errors.Join(e.closeCache(ctx), e.lock.release())
}

// closeCache remembers that the cache was closed. It does so even if ctx has
// ended.
func (e *engine) closeCache(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	clean := e.db.SetMeta(ctx, cleanKey, "yes")
	if errors.Is(clean, store.ErrFull) {
		e.log.Warn("the next start will look the cache over", "err", clean)
		clean = nil // nothing is lost, and nothing could be done
	}
	return errors.Join(clean, e.db.Close())
}

// PipelineOptions turns the user's settings into what the pipeline needs. The
// readers, which have no daemon, decide by the same.
func PipelineOptions(c config.Config) pipeline.Options {
	o := pipeline.Options{
		Targets: c.Targets,
		Decide:  decide.Options{Reserve: c.Reserve, Comfort: c.Comfort},
		Suspect: func(threadID string) { askScrub(c, threadID) },

		Summarized: c.Summaries.On(), Unsummarized: summarizing.Unasked(c), TargetChars: c.Summaries.TargetChars,
	}
	// One that can't be read counts for nothing; "tokens import" names it.
	o.Vocabularies, _ = vocabs.Open(c.Vocabularies())
	o.Calibrations, _ = calibration.Open(c.Home) // as above
	for id, m := range c.Models {
		o.Models = append(o.Models, capacity.Model{
			ID: id, Window: m.Context, Input: m.Input, MaxOutput: m.Output, EffectivePercent: 100,
			Source: capacity.OriginOverride, MatchedBy: capacity.MatchOverride, Confidence: capacity.ConfidenceHigh,
			Basis: "config.toml",
		})
	}
	return o
}

// listing is what lies under the homes.
type listing struct {
	files    []store.File // those begun first at the front, home by home
	homes    []string     // that exist
	missing  []string
	problems []watch.Problem
	others   []store.File // other files of a rollout in files, home by home
}

// list finds the rollouts, and records what became of the homes.
func (e *engine) list(ctx context.Context) (l listing, err error) {
	for _, home := range e.opt.Config.CodexHomes {
		h := store.Home{Path: home, Present: true, Listed: time.Now()}
		switch st, err := os.Stat(home); {
		case errors.Is(err, fs.ErrNotExist):
			h.Present, h.Problem = false, "does not exist"
		case err != nil:
			h.Present, h.Problem = false, err.Error()
		case !st.IsDir():
			h.Present, h.Problem = false, "is a file"
		}
		if err := e.gate.through(ctx, func() error { return e.db.SetHome(ctx, h) }); err != nil {
			return l, err
		}
		if !h.Present {
			l.missing = append(l.missing, home)
			continue
		}
		files, problems, err := watch.List(ctx, home)
		if err != nil {
			return l, err
		}
		byPath := make(map[string]watch.File, len(files))
		for _, f := range files {
			byPath[f.Path] = f
		}
		files, others := watch.Resolve(files)
		for _, f := range files {
			l.files = append(l.files, fileOf(home, f))
		}
		l.homes = append(l.homes, home)
		for _, p := range append(problems, others...) {
			switch {
			case errors.Is(p.Err, fs.ErrNotExist): // Codex makes the two folders when it needs them
			case errors.Is(p.Err, watch.ErrDuplicate):
				l.others = append(l.others, fileOf(home, byPath[p.Path]))
			default:
				l.problems = append(l.problems, p)
			}
		}
	}
	return l, nil
}

// fileOf maps what watch saw to what the store keeps.
func fileOf(home string, f watch.File) store.File {
	return store.File{
		RolloutID: f.Name.RolloutID, ThreadID: f.Name.ThreadID, Stamp: f.Name.Stamp,
		Home: home, Path: f.Path, Form: formOf(f.Name.Form), Archived: f.Archived,
		Size: f.Size, ModTimeNs: f.ModTime.UnixNano(), ChangeTimeNs: f.CTimeNs, Dev: f.Dev, Ino: f.Ino,
	}
}

func formOf(f watch.Form) store.Form {
	switch f {
	case watch.Plain:
		return store.FormPlain
	case watch.Zstd:
		return store.FormZstd
	case watch.Document:
		return store.FormDocument
	}
	return store.FormPlain
}

// watchFile maps back: what the cache knows of a file.
func watchFile(c store.Checkpoint) watch.File {
	form := watch.Plain
	switch c.Form {
	case store.FormPlain:
	case store.FormZstd:
		form = watch.Zstd
	case store.FormDocument:
		form = watch.Document
	}
	return watch.File{
		Path: c.Path, Archived: c.Archived, Size: c.Size, ModTime: time.Unix(0, c.ModTimeNs), CTimeNs: c.ChangeTimeNs, Dev: c.Dev, Ino: c.Ino,
		Name: watch.Name{Stamp: c.Stamp, ThreadID: c.ThreadID, RolloutID: c.RolloutID, Form: form},
	}
}
