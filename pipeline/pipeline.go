package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/calibration"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
	"github.com/session-migrator/session-migrator/store"
)

// Options say how a Pipeline works; the zero value of each field works.
type Options struct {
	// Targets are the models that every thread is decided for; nil takes the
	// models people use today.
	Targets []string
	// Models replace or add rows of the capacity table.
	Models []capacity.Model
	// Decide is the policy of decisions.
	Decide decide.Options
	// Vocabularies are those that the user imported; nil for none.
	Vocabularies *vocabs.Shelf
	// Calibrations are what vendors counted of the user's own texts; nil for none.
	Calibrations *calibration.Book
	// Counters bounds how many files are read at once; 0 takes the number of
	// processors.
	Counters int
	// Suspect is told of a thread whose rows disagree with each other, so that
	// it is read again; may be nil.
	Suspect func(threadID string)
	// Summarized says that a model is to write summaries, so that a document
	// without one says why.
	Summarized bool
	// Unsummarized says in a few words why a model is never to write one of this
	// thread as it stands; empty: one may be. May be nil.
	Unsummarized func(ctx context.Context, db *store.DB, v View) (why string, err error)
	// TargetChars bounds documents whose size nobody says, in UTF-16 units; 0:
	// the usual size.
	TargetChars int
}

// Pipeline ingests into and answers from one cache. It is safe for concurrent
// use.
type Pipeline struct {
	db       *store.DB
	opt      Options
	counters chan *counters
	files    locks
	huge     chan struct{} // taken by the reader that holds a huge line
	targets  atomic.Pointer[targets]
}

// counters are one worker's: they aren't for concurrent use.
type counters struct {
	o200k, cl100k *tokens.Counter
	used          bool // since Release looked
}

// targets are the figures of the models that every thread is decided for.
type targets struct {
	table   *capacity.Table
	windows []target
	shown   []int // of windows: those that documents name
	imports int64 // of vocabularies and calibrations, when they were asked
}

// target is what one model takes in, and what its chat format adds.
type target struct {
	decide.Window
	framing  capacity.Framing
	imported vocabs.Entry // vocabulary that is the model's own; zero for none
}

// fitsShown bounds how many decisions stand in a document's front matter, which
// consumers read whole: one for each maker of models, the first in the list.
const fitsShown = 6

// observedFor is how long a window that rollouts reported is believed.
const observedFor = 30 * 24 * time.Hour

// New gives a pipeline on db. Nothing starts.
func New(ctx context.Context, db *store.DB, opt Options) (*Pipeline, error) {
	if opt.Counters <= 0 {
		opt.Counters = runtime.GOMAXPROCS(0)
	}
	p := &Pipeline{db: db, opt: opt, counters: make(chan *counters, opt.Counters), huge: make(chan struct{}, 1)}
	for range opt.Counters {
		o, err := tokens.New(tokens.O200kBase)
		if err != nil {
			return nil, fmt.Errorf("make a counter: %w", err)
		}
		c, err := tokens.New(tokens.Cl100kBase)
		if err != nil {
			return nil, fmt.Errorf("make a counter: %w", err)
		}
		p.counters <- &counters{o200k: o, cl100k: c}
	}
	if p.opt.Targets == nil {
		p.opt.Targets = capacity.DefaultTargets()
	}
	return p, p.Retarget(ctx)
}

// Warm builds the vocabularies, so that the first line that comes doesn't wait
// for them.
func (p *Pipeline) Warm(ctx context.Context) {
	select {
	case c := <-p.counters:
		c.item(&transcript.Item{Role: transcript.RoleUser, Text: "warm"})
		p.counters <- c
	case <-ctx.Done():
	}
}

// Release lets go of the vocabularies and caches of counters that were not used
// since it was last called. The next count builds them anew.
func (p *Pipeline) Release() {
	idle := true
	for range cap(p.counters) {
		select {
		case c := <-p.counters:
			if c.used {
				idle = false
			} else {
				c.o200k.Release()
				c.cl100k.Release()
			}
			c.used = false
			p.counters <- c
		default:
			idle = false // one is at work
		}
	}
	if idle {
		tokens.Release()
		p.opt.Vocabularies.Release()
	}
}

// Retarget takes in what the rollouts reported of models' windows since the
// last time.
func (p *Pipeline) Retarget(ctx context.Context) error {
	imports := p.imports()
	table := capacity.Default()
	if p.db != nil {
		seen, err := p.db.Windows(ctx, time.Now().Add(-observedFor))
		if err != nil {
			return err
		}
		var rows []capacity.Model
		for i, w := range seen {
			if i > 0 && seen[i-1].Model == w.Model {
				continue // an older report
			}
			rows = append(rows, capacity.Observed(w.Model, w.Tokens, w.Time.Format(time.DateOnly)))
		}
		table = table.With(rows...)
	}
	table = table.With(p.opt.Models...)
	t := &targets{table: table, imports: imports}
	makers := map[string]bool{}
	for _, id := range p.opt.Targets {
		m, _ := table.Lookup(id)
		t.windows = append(t.windows, p.window(table, id, m))
		if maker := orElse(m.Vendor, m.ID); m.Surface != capacity.SurfaceCodex && !makers[maker] && len(t.shown) < fitsShown {
			makers[maker] = true
			t.shown = append(t.shown, len(t.windows)-1)
		}
	}
	p.targets.Store(t)
	return nil
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Table is the capacity table in use.
func (p *Pipeline) Table() *capacity.Table { return p.targets.Load().table }

// window maps a row of the capacity table to what decide needs.
func (p *Pipeline) window(table *capacity.Table, id string, m capacity.Model) target {
	own, _ := p.opt.Vocabularies.For(table.Canonical(id))
	source := p.calibrate(&m)
	return target{framing: m.Framing, imported: own, Window: decide.Window{
		Model: id, Surface: m.Surface, WindowTokens: m.Window, InputLimit: m.Input, MaxOutput: m.MaxOutput,
		EffectivePercent: m.EffectivePercent,
		Encoding:         m.Encoding.String(), Factor: m.FactorHigh, FactorTypical: m.Factor, FactorLow: m.FactorLow, Exact: m.CountExact, CountSource: source,
		Source: m.Source.String(), Date: m.Date, MatchedBy: m.MatchedBy.String(), Confidence: m.Confidence.String(),
	}}
}

// decisions decides for every target in the list. It is pure.
func (p *Pipeline) decisions(t transcript.Thread) []decide.Decision {
	ts := p.targets.Load()
	out := make([]decide.Decision, len(ts.windows))
	for i, w := range ts.windows {
		out[i] = decideFor(ts.table, w, t, p.opt.Decide)
	}
	return out
}

// decideFor decides for a target of a table.
func decideFor(table *capacity.Table, w target, t transcript.Thread, opt decide.Options) decide.Decision {
	if w.Surface == capacity.SurfaceCodex {
		if n := overheadOf(table, t.First); n > 0 {
			w.OverheadTokens, w.Measured = n, true
		}
	}
	if own := w.imported.Key(); own != "" {
		if n, ok := t.Tokens[own]; ok {
			return decideExactly(w, t, n, t.ShrunkTokens[own], opt)
		}
	}
	n, ok := t.Tokens[w.Encoding]
	if !ok {
		w.Encoding, w.Exact = tokens.O200kBase.String(), false
		n = t.Tokens[w.Encoding]
	}
	shrunk, ok := t.ShrunkTokens[w.Encoding]
	if !ok {
		shrunk = t.ShrunkTokens[tokens.O200kBase.String()]
	}
	return decideOn(w, t, n, shrunk, opt)
}

// decideExactly decides with a count in the model's own vocabulary, which was
// imported.
func decideExactly(w target, t transcript.Thread, n, shrunk int64, opt decide.Options) decide.Decision {
	usual := decideOn(w, t, 0, 0, opt)
	w.Encoding, w.Exact, w.CountSource, w.Factor, w.FactorTypical, w.FactorLow = w.imported.Name, true, "", 1, 1, 1
	d := decideOn(w, t, n, shrunk, opt)
	d.Usual = usual.Basis()
	return d
}

func decideOn(w target, t transcript.Thread, n, shrunk int64, opt decide.Options) decide.Decision {
	c := t.Counts
	others := max(t.Migrated-c.User-c.Assistant-c.ToolCalls-c.ToolResults, 0)
	w.FramingTokens = w.framing.Around(c.User+others, c.Assistant, c.ToolCalls, c.ToolResults)
	d := decide.For(w.Window, int(n), int(shrunk), true, opt)
	d.ThroughSeq = t.LastSeq
	if d.Verdict == decide.Direct {
		d.KeptTokens, d.KeptMessages = d.SessionTokens, t.Migrated
	}
	return d
}

// locks give one lock per name, for as long as someone holds or wants it.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock // guarded by mu
}

type lock struct {
	mu    sync.Mutex
	users int
}

// hold waits for the lock of name and returns its release.
func (l *locks) hold(name string) (release func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[name]
	if k == nil {
		k = &lock{}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	k.mu.Lock()
	return func() {
		k.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}
}

// DecideAnew decides for every thread again if the targets' figures are not
// those that the stored decisions were made with.
func (p *Pipeline) DecideAnew(ctx context.Context) error {
	ts := p.targets.Load()
	sum := sha256.New()
	for _, w := range ts.windows {
		w.Date = ""                         // a figure that was confirmed is the same figure
		_, _ = fmt.Fprintf(sum, "%+v\n", w) // a hash never fails
	}
	_, _ = fmt.Fprintf(sum, "%+v\n", p.opt.Decide)
	mark := hex.EncodeToString(sum.Sum(nil)[:16])
	if was, err := p.db.Targets(ctx); err != nil || was == mark {
		return err
	}
	ids, err := p.db.ThreadIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := p.suspected(id, p.db.Decide(ctx, id, p.decisions)); err != nil && !errors.Is(err, store.ErrChanged) {
			return err // one that is damaged is to be repaired, the others go on
		}
	}
	return p.db.SetTargets(ctx, mark, p.targetModels())
}

func (p *Pipeline) targetModels() (models []string) {
	for _, w := range p.targets.Load().windows {
		models = append(models, w.Model)
	}
	return models
}
