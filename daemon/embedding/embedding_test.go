package embedding

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
	"github.com/session-migrator/session-migrator/store/spend"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// endpoint is a server that gives vectors, or what answer says.
type endpoint struct {
	t *testing.T
	*httptest.Server

	mu       sync.Mutex
	requests int
	bodies   []string
	texts    []string
	answer   func(n int, texts []string, w http.ResponseWriter) bool // true: it answered
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{t: t}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var body strings.Builder
	var ask struct{ Input []string }
	if err := json.NewDecoder(http.MaxBytesReader(w, readTo(r, &body), 1<<24)).Decode(&ask); err != nil {
		e.t.Errorf("request: %v", err)
	}
	e.requests++
	e.bodies, e.texts = append(e.bodies, body.String()), append(e.texts, ask.Input...)
	if e.answer != nil && e.answer(e.requests, ask.Input, w) {
		return
	}
	give(w, ask.Input)
}

// give answers with vectors of three dimensions: how much a text is of two
// things, and of neither.
func give(w http.ResponseWriter, texts []string) {
	type one struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []one
	for i, t := range texts {
		t = strings.ToLower(t)
		of := func(words ...string) (n float64) {
			for _, w := range words {
				n += float64(strings.Count(t, w))
			}
			return n
		}
		data = append(data, one{i, []float64{of("cat", "kitten", "feline"), of("car", "vehicle", "engine"), 0.1}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "usage": map[string]int{"prompt_tokens": 10 * len(texts)}})
}

// place is a cache with a worker that is not running.
type place struct {
	t   *testing.T
	db  *store.DB
	cfg config.Config
	n   int
}

func newPlace(t *testing.T, e *endpoint) *place {
	t.Helper()
	home := filepath.Join(t.TempDir(), "data")
	p := &place{t: t, cfg: config.Config{Home: home}}
	if e != nil {
		p.cfg.Embeddings = config.Embeddings{Provider: "custom", BaseURL: e.URL + "/v1", Model: "m"}
	}
	var err error
	if p.db, err = store.Open(t.Context(), p.cfg.DB()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	return p
}

// say adds a thread in a folder with what a person said in it.
func (p *place) say(cwd string, facts transcript.Facts, texts ...string) (id string) {
	p.t.Helper()
	p.n++
	id = fmt.Sprintf("019a0000-0000-7000-8000-%012d", p.n)
	p.more(id, cwd, facts, 1, texts...)
	return id
}

func (p *place) more(id, cwd string, facts transcript.Facts, first int64, texts ...string) {
	p.t.Helper()
	facts.ThreadID, facts.Cwd, facts.Model = id, cwd, "m"
	if facts.Updated.IsZero() {
		facts.Updated = time.Unix(1_700_000_000+int64(p.n), 0).UTC()
	}
	b := &store.Batch{
		File:  store.File{RolloutID: id, ThreadID: id, Stamp: "2026-09-01T09-00-00", Home: "/h", Path: "/h/sessions/" + id, Form: store.FormPlain},
		State: store.FileOK, Delta: &transcript.Delta{}, Facts: facts,
	}
	for i, text := range texts {
		it := transcript.Item{Role: transcript.RoleUser, Text: text, Seq: first + int64(i)}
		it.Ordinal, it.Offset, it.Size, it.Key = it.Seq, it.Seq*100, 100, uint64(it.Seq)
		b.Delta.Items = append(b.Delta.Items, it)
		b.Counts = append(b.Counts, store.ItemCount{Hash: it.BodyHash()})
	}
	b.Cursor = store.Cursor{Offset: (first + int64(len(texts))) * 100, Line: first}
	if err := p.db.Commit(p.t.Context(), b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) worker() *Worker {
	p.t.Helper()
	w := New(Options{Config: p.cfg, DB: p.db})
	if w == nil {
		p.t.Fatal("no worker")
	}
	p.t.Cleanup(func() { _ = w.close() })
	return w
}

// round runs one, and gives its error.
func (p *place) round(w *Worker) error {
	p.t.Helper()
	_, err := w.round(p.t.Context())
	return err
}

func (p *place) spent() spend.Sum {
	p.t.Helper()
	s, err := p.db.SpentSince(p.t.Context(), spend.Embedding, time.Unix(0, 0))
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func TestWhatWasSaidIsFoundByMeaning(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.say("/w", transcript.Facts{}, "my kitten sleeps", "the engine is broken", "my kitten sleeps")
	w := p.worker()
	if err := p.round(w); err != nil {
		t.Fatal(err)
	}
	if e.requests != 1 || len(e.texts) != 2 {
		t.Errorf("%d requests of %q", e.requests, e.texts)
	}
	if err := p.round(w); err != nil || e.requests != 1 {
		t.Errorf("%d requests after nothing new, %v", e.requests, err)
	}
	if s := p.spent(); s != (spend.Sum{Calls: 1, Input: 20}) {
		t.Errorf("spent %+v", s)
	}
	if i := w.Info(); i.Passages != 3 || i.Behind != 0 || i.Model != "m" || !i.Local {
		t.Errorf("%+v", i)
	}
	ids, err := w.vectors.Nearest(t.Context(), w.model, []float32{1, 0, 0}, nil, 2)
	if err != nil || len(ids) != 2 || ids[0] != 1<<32|3 || ids[1] != 1<<32|1 {
		t.Errorf("nearest %x, %v", ids, err)
	}
}

func TestAModelInAFolderNeedsNoLedger(t *testing.T) {
	p := newPlace(t, nil)
	p.cfg.Embeddings = config.Embeddings{Provider: "model2vec", Dir: t.TempDir(), MaxCallsPerDay: new(int64(1))}
	header := `{"embeddings":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}}`
	model := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for _, f := range []float32{0, 0, 1, 0, 0, 1} {
		model = binary.LittleEndian.AppendUint32(model, math.Float32bits(f))
	}
	for name, text := range map[string]string{"model.safetensors": string(model), "tokenizer.json": `{"normalizer":{"type":"BertNormalizer","lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},
		"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"kitten":1,"engine":2}}}`} {
		if err := os.WriteFile(filepath.Join(p.cfg.Embeddings.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.say("/w", transcript.Facts{}, "the kitten sleeps")
	p.say("/w", transcript.Facts{}, "the engine is broken")
	w := p.worker()
	for range 2 {
		if err := p.round(w); err != nil {
			t.Fatal(err)
		}
	}
	if i := w.Info(); i.Passages != 2 || i.Host != "" || !i.Local || p.spent().Calls != 0 {
		t.Errorf("%+v, spent %+v", i, p.spent())
	}
	a := NewAsker(p.cfg)
	defer func() { _ = a.Close() }()
	r := search.Request{Query: "Engine?"}
	if note := a.Fill(t.Context(), p.db, &r); note != "" {
		t.Fatal(note)
	}
	if ids, err := r.Vectors.Nearest(t.Context(), r.Model, r.Vector, nil, 1); err != nil || len(ids) != 1 || ids[0] != 2<<32|1 {
		t.Errorf("nearest %x, %v", ids, err)
	}
}

// Questions about denied folders are not sent, and none without need.
func TestWhichQuestionsAreSent(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.cfg.Embeddings.DenyWorkspaces = []string{"/secret"}
	ask := func(a *Asker, r search.Request) string {
		t.Helper()
		r.Query = "where is the kitten"
		note := a.Fill(t.Context(), p.db, &r)
		if (note == "") != (r.Vector != nil) {
			t.Errorf("note %q, vector %v", note, r.Vector)
		}
		return note
	}
	if (*Asker)(nil).Fill(t.Context(), p.db, &search.Request{}) != "" || NewAsker(config.Config{}) != nil {
		t.Error("there is an asker without settings")
	}
	a := NewAsker(p.cfg)
	defer func() { _ = a.Close() }()
	if note := ask(a, search.Request{}); !strings.Contains(note, "no vectors yet") || e.requests != 0 {
		t.Errorf("%q after %d requests", note, e.requests)
	}
	denied := p.say("/secret", transcript.Facts{}, "my kitten sleeps")
	open := p.say("/w", transcript.Facts{}, "my kitten sleeps")
	if err := p.round(p.worker()); err != nil {
		t.Fatal(err)
	}
	was := e.requests
	for _, r := range []search.Request{{Workspace: "/secret"}, {Within: "/secret/below"}, {Thread: denied}, {Thread: "gone"}} {
		if note := ask(a, r); !strings.Contains(note, "deny_workspaces") || e.requests != was {
			t.Errorf("%+v: %q", r, note)
		}
	}
	for _, r := range []search.Request{{}, {Workspace: "/w"}, {Thread: open}} {
		if note := ask(a, r); note != "" || e.requests != was+1 { // and once only
			t.Errorf("%+v: %q after %d requests", r, note, e.requests-was)
		}
	}
}

func TestDeletedVectorsAreMadeAnew(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.say("/w", transcript.Facts{}, "some words")
	w := p.worker()
	for n := range 2 {
		if err := p.round(w); err != nil || e.requests != n+1 || w.Info().Passages != 1 {
			t.Fatalf("%v after %d requests, %+v", err, e.requests, w.Info())
		}
		if err := os.Remove(p.cfg.Vectors()); err != nil { // what lies beside it stays
			t.Fatal(err)
		}
	}
}

func TestItGoesOnWhereItWasCutShort(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprintf("request number %d", i))
	}
	p.say("/w", transcript.Facts{}, texts...)
	p.say("/w", transcript.Facts{}, "the newest comes first")
	ctx, cancel := context.WithCancel(t.Context())
	e.answer = func(n int, texts []string, _ http.ResponseWriter) bool {
		if len(texts) > embed.Batch {
			t.Errorf("%d texts", len(texts))
		}
		if n == 3 {
			cancel()
		}
		return false
	}
	w := p.worker()
	if _, err := w.round(ctx); err == nil {
		t.Fatal("not cut short")
	}
	if e.texts[0] != "the newest comes first" {
		t.Errorf("%q came first", e.texts[0])
	}
	_ = w.close()
	if err := p.round(p.worker()); err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, s := range e.texts {
		times[s]++
	}
	twice := 0
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	if len(times) != 301 || twice > embed.Batch {
		t.Errorf("%d texts, %d of them twice", len(times), twice)
	}
}

func TestNothingOfADeniedFolderIsSent(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.cfg.Embeddings.DenyWorkspaces = []string{"/secret", `C:\Work`}
	top := p.say("/secret", transcript.Facts{}, "denied one")
	p.say("/secret/below", transcript.Facts{}, "denied two")
	p.say("/Secret/", transcript.Facts{}, "denied three")
	p.say(`c:\work\x`, transcript.Facts{}, "denied four")
	p.say("", transcript.Facts{}, "denied five")
	fork := p.say("/w", transcript.Facts{ForkedFrom: top}, "denied six")
	p.say("/w", transcript.Facts{Parent: fork}, "denied seven")
	p.say("/secrets", transcript.Facts{}, "may be sent")
	w := p.worker()
	if err := p.round(w); err != nil {
		t.Fatal(err)
	}
	if len(e.texts) != 1 || e.texts[0] != "may be sent" {
		t.Errorf("sent %q", e.texts)
	}
	if p.cfg.Embeddings.DenyWorkspaces = nil; p.round(p.worker()) != nil || len(e.texts) != 8 {
		t.Errorf("sent %q", e.texts)
	}
}

func TestNoSecretIsSent(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.cfg.Embeddings.Key = "sk-endpoint-key"
	secrets := redacttest.All(3)
	var texts []string
	for _, s := range secrets {
		texts = append(texts, s.Text, strings.Repeat("some words before it ", 50)+"\n"+s.Text+"\n"+strings.Repeat("and behind it ", 50))
	}
	p.say("/w", transcript.Facts{}, texts...)
	if err := p.round(p.worker()); err != nil {
		t.Fatal(err)
	}
	if len(e.texts) < len(secrets) {
		t.Fatalf("%d texts were sent", len(e.texts))
	}
	leaks := redacttest.NewLeaks(secrets)
	for _, text := range append(e.texts, e.bodies...) {
		if got := leaks.In(text); len(got) > 0 {
			t.Errorf("sent %v", got)
		}
	}
}

func TestCapsHoldUnderAFlood(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*config.Embeddings)
		over func(spend.Sum) bool
	}{
		"calls":  {func(c *config.Embeddings) { c.MaxCallsPerDay = new(int64(3)) }, func(s spend.Sum) bool { return s.Calls > 3 }},
		"tokens": {func(c *config.Embeddings) { c.MaxTokensPerDay = new(int64(3000)) }, func(s spend.Sum) bool { return s.Input > 3000 }},
		"money":  {func(c *config.Embeddings) { c.USDPerMillionTokens, c.MaxUSDPerDay = 10, new(0.02) }, func(s spend.Sum) bool { return s.MicroUSD > 20_000 }},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			p := newPlace(t, e)
			tt.set(&p.cfg.Embeddings)
			for range 20 {
				var texts []string
				for i := range 60 {
					texts = append(texts, fmt.Sprintf("request %d of thread %d", i, p.n))
				}
				p.say("/w", transcript.Facts{}, texts...)
			}
			now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.Local)
			for range 5 {
				w := p.worker()
				w.now = func() time.Time { return now }
				if err := p.round(w); !errors.Is(err, spend.ErrCap) || pause(err, 1, now) != 12*time.Hour {
					t.Fatalf("got %v", err)
				}
				_ = w.close()
			}
			if s := p.spent(); tt.over(s) || s.Calls == 0 || int64(e.requests) != s.Calls {
				t.Errorf("spent %+v in %d requests", s, e.requests)
			}
			w := p.worker() // the next day it goes on
			w.now = func() time.Time { return now.AddDate(0, 0, 1) }
			was := e.requests
			if err := p.round(w); !errors.Is(err, spend.ErrCap) || e.requests == was {
				t.Errorf("the next day: %v, %d requests", err, e.requests-was)
			}
		})
	}
}

func TestTriesCountAsCalls(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.cfg.Embeddings.MaxCallsPerDay = new(int64(1))
	p.say("/w", transcript.Facts{}, "some words")
	e.answer = func(_ int, _ []string, w http.ResponseWriter) bool { w.WriteHeader(500); return true }
	w := p.worker()
	if err := p.round(w); !errors.Is(err, embed.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if err := p.round(w); !errors.Is(err, spend.ErrCap) || e.requests != 1 {
		t.Errorf("%v after %d requests", err, e.requests)
	}
	if list, err := p.db.Spent(t.Context(), time.Unix(0, 0)); err != nil || len(list) != 1 || list[0].Outcome != spend.Unavailable || list[0].Exact {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestNothingIsSentWithoutALedger(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.say("/w", transcript.Facts{}, "some words")
	w := p.worker()
	broken := errors.New("no room")
	w.opt.Write = func(context.Context, func() error) error { return broken }
	if err := p.round(w); !errors.Is(err, broken) || !errors.Is(err, errEnter) {
		t.Errorf("got %v", err)
	}
	w.opt.Write = func(context.Context, func() error) error { return nil } // gave up without a word
	if err := p.round(w); !errors.Is(err, errEnter) {
		t.Errorf("got %v", err)
	}
	if e.requests != 0 {
		t.Errorf("%d requests", e.requests)
	}
}

func TestOnePassageThatCantBeTakenStopsNoOthers(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("request %d", i))
	}
	texts[17] = "poison of a kind"
	p.say("/w", transcript.Facts{}, texts...)
	e.answer = func(_ int, texts []string, w http.ResponseWriter) bool {
		if strings.Contains(strings.Join(texts, " "), "poison") {
			w.WriteHeader(400)
			return true
		}
		return false
	}
	w := p.worker()
	if err := p.round(w); err != nil {
		t.Fatal(err)
	}
	if i := w.Info(); i.Passages != 39 {
		t.Errorf("%d passages", i.Passages)
	}
	if was := e.requests; p.round(w) != nil || e.requests != was {
		t.Error("asked again")
	}
	// An endpoint that takes nothing at all is not asked for each text.
	e.answer = func(_ int, _ []string, w http.ResponseWriter) bool { w.WriteHeader(400); return true }
	p.say("/w", transcript.Facts{}, "more", "words")
	_ = w.close()
	was := e.requests
	if err := p.round(p.worker()); !errors.Is(err, embed.ErrRequest) || e.requests > was+4 {
		t.Errorf("%v after %d requests", err, e.requests-was)
	}
}

func TestAThreadThatGoesOnIsLeftUntilItRests(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	now := time.Now()
	p.say("/w", transcript.Facts{Updated: now}, "one by one")
	w := p.worker()
	if more, err := w.round(t.Context()); err != nil || !more || e.requests != 0 {
		t.Errorf("%v, %v, %d requests", more, err, e.requests)
	}
	w.now = func() time.Time { return now.Add(rest) }
	if more, err := w.round(t.Context()); err != nil || more || e.requests != 1 {
		t.Errorf("%v, %v, %d requests", more, err, e.requests)
	}
}

func TestWithoutSettingsNothingIsOpened(t *testing.T) {
	p := newPlace(t, nil)
	p.say("/w", transcript.Facts{}, "some words")
	if w := New(Options{Config: p.cfg, DB: p.db}); w != nil || w.Info() != nil || w.Run(t.Context()) != nil {
		t.Error("there is a worker")
	}
	// Settings that don't allow for it open no connection either.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan struct{}, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(conns)
				return
			}
			_ = c.Close()
			conns <- struct{}{}
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	for _, c := range []config.Embeddings{
		{Provider: "custom", BaseURL: fmt.Sprintf("http://localtest.example:%d/v1", port), Model: "m"},
		{Provider: "openai"},
		{Provider: "custom", BaseURL: fmt.Sprintf("http://127.0.0.1:%d/v1", port), Model: "m", KeyVar: "NOT_SET", APIKeyEnv: "NOT_SET"},
	} {
		p.cfg.Embeddings = c
		if err := p.round(p.worker()); !errors.Is(err, embed.ErrOptions) && !errors.Is(err, errKey) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	_ = l.Close()
	if _, sent := <-conns; sent {
		t.Error("a connection was opened")
	}
	if s := p.spent(); s.Calls != 0 {
		t.Errorf("spent %+v", s)
	}
}

func TestPauses(t *testing.T) {
	now := time.Date(2026, 9, 1, 23, 59, 50, 0, time.Local)
	for _, tt := range []struct {
		err  error
		n    int
		want time.Duration
	}{
		{embed.ErrUnavailable, 1, time.Minute},
		{embed.ErrUnavailable, 3, 4 * time.Minute},
		{embed.ErrUnavailable, 99, lastPause},
		{embed.ErrRefused, 1, refusePause},
		{fmt.Errorf("x: %w", &embed.WaitError{For: time.Hour}), 1, time.Hour},
		{&spend.CapError{What: "calls", Limit: 1}, 1, time.Minute},
	} {
		if got := pause(tt.err, tt.n, now); got != tt.want {
			t.Errorf("%v, %d: %v, want %v", tt.err, tt.n, got, tt.want)
		}
	}
}

// Run tells what goes wrong, goes on by itself, and ends when told to.
func TestRunHeals(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.say("/w", transcript.Facts{}, "some words")
	e.answer = func(n int, _ []string, w http.ResponseWriter) bool {
		if n == 1 {
			w.WriteHeader(401)
			return true
		}
		return false
	}
	w := p.worker()
	ctx, cancel := context.WithCancel(t.Context())
	var waits []time.Duration
	w.sleep = func(_ context.Context, d time.Duration) bool {
		waits = append(waits, d)
		i := w.Info()
		switch len(waits) {
		case 1:
			if i.LastError == "" || i.NextTry.IsZero() || !strings.Contains(i.LastError, "401") {
				t.Errorf("after a refusal: %+v", i)
			}
		case 2:
			if i.LastError != "" || i.Passages != 1 {
				t.Errorf("healed: %+v", i)
			}
		case 4:
			cancel()
			return false
		}
		return true
	}
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if e.requests != 2 || waits[0] != refusePause || waits[1] != look {
		t.Errorf("%d requests, waits %v", e.requests, waits)
	}
}

func TestDefaultCaps(t *testing.T) {
	if c := capsOf(config.Embeddings{}, true); c != (spend.Caps{Calls: spend.NoCap, Tokens: spend.NoCap, MicroUSD: spend.NoCap}) {
		t.Errorf("local: %+v", c)
	}
	if c := capsOf(config.Embeddings{MaxUSDPerDay: new(0.5)}, false); c != (spend.Caps{Calls: remoteCalls, Tokens: remoteTokens, MicroUSD: 500_000}) {
		t.Errorf("remote: %+v", c)
	}
}
