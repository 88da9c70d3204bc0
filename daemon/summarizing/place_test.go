package summarizing

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/spend"
)

// script is a model that says what a test wants.
type script struct {
	t       *testing.T
	place   *place
	running atomic.Int32
	says    func(n int, p llm.Plan) (llm.Prior, error) // nil: a summary of all; n counts from 1
	usage   llm.Usage
	local   bool

	asked []sentTo
}

// sentTo is a request that went out.
type sentTo struct {
	thread        string
	at            time.Time
	tokens, bytes int
	kind          llm.Kind
}

func (s *script) Run(_ context.Context, p llm.Plan, before func(llm.Request) error, after func(llm.Usage)) (llm.Prior, error) {
	if s.running.Add(1) != 1 {
		s.t.Error("two at a time")
	}
	defer s.running.Add(-1)
	for _, c := range p.Calls {
		text := c.System() + c.Text()
		if err := before(llm.Request{Part: c.Part, Try: 1, Tokens: c.Tokens, Output: c.Output, Bytes: len(text)}); err != nil {
			return llm.Prior{}, fmt.Errorf("ask: %w", err)
		}
		// In the ledger before it is sent.
		if all, err := s.place.db.Spent(s.t.Context(), time.Unix(0, 0)); err != nil || len(all) == 0 || all[0].Outcome != spend.Pending || all[0].Calls != 1 {
			s.t.Errorf("sent before it was entered: %+v, %v", all, err)
		}
		thread := ""
		for id := range s.place.ids {
			if strings.Contains(text, "session "+id) {
				thread = id
			}
		}
		s.asked = append(s.asked, sentTo{thread, s.place.now, c.Tokens, len(text), p.Kind})
		u := s.usage
		prior, err := llm.Prior{Doc: llm.Doc{Title: "T", Goal: fmt.Sprintf("goal %d", len(s.asked))}, Through: p.Through}, error(nil)
		if s.says != nil {
			prior, err = s.says(len(s.asked), p)
		}
		u.Err = err
		if errors.Is(err, llm.ErrEmpty) {
			u.Err = nil
		}
		after(u)
		if err != nil || c.Part != llm.Chunk {
			return prior, err
		}
	}
	return llm.Prior{}, nil
}

func (s *script) Window(context.Context) (int, string) { return 0, "" }
func (s *script) Host() string                         { return "models.example" }
func (s *script) Local() bool                          { return s.local }
func (s *script) Model() string                        { return "gpt-4o-mini" }
func (s *script) Close()                               {}

// place is a cache with threads, a clock and a model.
type place struct {
	t    *testing.T
	cfg  config.Config
	db   *store.DB
	pipe *pipeline.Pipeline
	now  time.Time
	to   *script
	ids  map[string]int64 // threads by the number of their items
	new  []string         // whose documents are due
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, cfg: config.Config{Home: filepath.Join(t.TempDir(), "data"), File: "config.toml"}, now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), ids: map[string]int64{}}
	one := 1
	p.cfg.Summaries = config.Summaries{Provider: "openai", Model: "gpt-4o-mini", Remote: true, Key: "k", MinTurns: &one, QuietFor: 2 * time.Minute, CooldownFor: 10 * time.Minute}
	p.to = &script{t: t, place: p}
	var err error
	if p.db, err = store.Open(t.Context(), p.cfg.DB()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	if p.pipe, err = pipeline.New(t.Context(), p.db, pipeline.Options{Summarized: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

func idOf(n int) string { return fmt.Sprintf("019a0000-0000-7000-8000-%012d", n) }

// say adds a turn to a thread in a folder.
func (p *place) say(id, cwd string, texts ...string) {
	p.t.Helper()
	if len(texts) == 0 {
		texts = []string{fmt.Sprintf("do step %d of session %s", p.ids[id], id), "It is done, all of it."}
	}
	facts := transcript.Facts{ThreadID: id, Cwd: cwd, Model: "m", Updated: p.now}
	b := &store.Batch{
		File:  store.File{RolloutID: id, ThreadID: id, Stamp: "2026-09-01T09-00-00", Home: "/h", Path: "/h/sessions/" + id, Form: store.FormPlain},
		State: store.FileOK, Delta: &transcript.Delta{}, Facts: facts,
	}
	turn := int(p.ids[id]/int64(len(texts))) + 1
	b.Facts.Turns = turn
	for i, text := range texts {
		p.ids[id]++
		it := transcript.Item{Role: transcript.RoleUser, Text: text, Seq: p.ids[id], Turn: turn, Time: p.now}
		if i%2 == 1 {
			it.Role = transcript.RoleAssistant
		}
		it.Ordinal, it.Offset, it.Size, it.Key = it.Seq, it.Seq*100, 100, uint64(it.Seq)
		b.Delta.Items = append(b.Delta.Items, it)
		b.Counts = append(b.Counts, store.ItemCount{Hash: it.BodyHash(), O200k: len(text) / 4, Cl100k: len(text) / 4, Shrunk: len(text) / 4})
	}
	b.Delta.Turns = append(b.Delta.Turns, transcript.Turn{Number: turn, State: transcript.StateAnswered})
	b.Cursor = store.Cursor{Offset: (p.ids[id] + 1) * 100, Line: p.ids[id]}
	if err := p.db.Commit(p.t.Context(), b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) worker() *Worker {
	p.t.Helper()
	w := New(Options{Config: p.cfg, DB: p.db, Pipe: p.pipe, Renew: func(id string) { p.new = append(p.new, id) }})
	if w == nil {
		p.t.Fatal("no worker")
	}
	w.now = func() time.Time { return p.now }
	w.open = func(who) (model, error) { return p.to, nil }
	return w
}

// rounds runs the worker until nothing is due.
func (p *place) rounds(w *Worker) {
	p.t.Helper()
	for n := 0; ; n++ {
		wait, err := w.round(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		if wait > 0 {
			return
		}
		if n > 5000 {
			p.t.Fatal("it never rests")
		}
	}
}

func (p *place) after(d time.Duration) { p.now = p.now.Add(d) }

// reason is what a thread's document says of its summary.
func (p *place) front(id string) string {
	p.t.Helper()
	v, err := p.pipe.View(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := p.pipe.Memory(p.t.Context(), v, pipeline.MemoryRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "\nsummary: \"")
	line, _, _ = strings.Cut(line, "\"\n")
	return line
}

func failure(r chat.Reason) error {
	e := &chat.Error{Reason: r, Host: "models.example", Model: "m"}
	switch r {
	case chat.BadKey:
		e.Status = 401
	case chat.ServerError:
		e.Status = 500
	}
	return e
}
