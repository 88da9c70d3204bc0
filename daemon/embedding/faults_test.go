package embedding

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/search"
	"github.com/session-migrator/session-migrator/store/spend"
)

// A model that can't be opened leaves search by words, and the daemon running.
func TestAModelThatCantBeOpenedIsTold(t *testing.T) {
	p := newPlace(t, nil)
	dir := filepath.Join(t.TempDir(), "gone")
	p.cfg.Embeddings = config.Embeddings{Provider: "model2vec", Dir: dir}
	p.say("/w", transcript.Facts{}, "some words")
	w := p.worker()
	if err := p.round(w); !errors.Is(err, embed.ErrOptions) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	a := NewAsker(p.cfg)
	for range 2 {
		r := search.Request{Query: "words"}
		if note := a.Fill(t.Context(), p.db, &r); !strings.Contains(note, "by words only") || !strings.Contains(note, dir) || r.Vector != nil {
			t.Errorf("note %q", note)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// Filters in a question count as flags do, and are no part of what is sent.
func TestFiltersInAQuestionAreNotSent(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	denied := p.say("/home/dana/beta", transcript.Facts{}, "my kitten sleeps")
	fork := p.say("/w", transcript.Facts{ForkedFrom: denied}, "my kitten sleeps")
	below := p.say("/home/dana/beta/sub", transcript.Facts{}, "my kitten sleeps")
	open := p.say("/home/dana/open", transcript.Facts{}, "my kitten sleeps")
	if err := p.round(p.worker()); err != nil {
		t.Fatal(err)
	}
	ask := func(list []string, query string, r search.Request) string {
		t.Helper()
		p.cfg.Embeddings.DenyWorkspaces = list
		a := NewAsker(p.cfg)
		defer func() { _ = a.Close() }()
		r.Query, r.Now = query, time.Now()
		return a.Fill(t.Context(), p.db, &r)
	}
	was := e.requests
	list := []string{"/home/dana/beta"}
	for _, query := range []string{
		"workspace:beta zq", "workspace:/home/dana/beta zq", "workspace:/home/dana/./beta/ zq", "workspace:BETA/ zq", "workspace:dana/beta zq", "workspace:sub zq", "workspace:beta/sub zq",
		`workspace:"beta" zq`, "zq workspace：beta", "-workspace:beta zq", "zq\nworkspace:beta", "workspace:open workspace:beta zq", "workspace:nowhere zq",
		"path:/home/dana/beta/x.go zq", "path:~/beta/x.go zq", "path:dana/beta/x.go zq",
		"session:" + denied + " zq", "session:" + denied[28:] + " zq", "session:" + fork + " zq", "session:" + below + " zq", "session:bbbbbbbb zq", "session:019a0000 zq",
	} {
		if note := ask(list, query, search.Request{}); !strings.Contains(note, "deny_workspaces") || e.requests != was {
			t.Errorf("%q: %q, %d requests: %q", query, note, e.requests-was, e.texts)
			was = e.requests
		}
	}
	for _, r := range []search.Request{{Thread: fork}, {Workspace: "beta"}} {
		if note := ask(list, "zq", r); !strings.Contains(note, "deny_workspaces") || e.requests != was {
			t.Errorf("%+v: %q", r, note)
		}
	}
	if note := ask([]string{"/"}, "workspace:open zq", search.Request{}); note == "" || e.requests != was {
		t.Errorf("all is denied: %q", note)
	}
	for _, query := range []string{"workspace:open zq one", "session:" + open + " zq role:user one", "path:/home/dana/open/x.go tool:exec zq since:7d one", `model:m "zq one" -two`, "zq one"} {
		e.texts = nil
		if note := ask(list, query, search.Request{}); note != "" || len(e.texts) != 1 || e.texts[0] != "zq one" {
			t.Errorf("%q: %q, sent %q", query, note, e.texts)
		}
	}
	e.texts = nil
	if note := ask(nil, "workspace:beta session:bbbbbbbb zq", search.Request{}); note != "" || len(e.texts) != 1 || e.texts[0] != "zq" {
		t.Errorf("without a list: %q, sent %q", note, e.texts)
	}
	if note := ask(nil, "role:user", search.Request{}); note != "" || len(e.texts) != 1 {
		t.Errorf("filters only: %q, sent %q", note, e.texts)
	}
}

// A process that is killed while it waits has entered what it sent.
func TestARequestIsInTheLedgerBeforeItIsSent(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.cfg.Embeddings.USDPerMillionTokens = 10
	p.say("/w", transcript.Facts{}, "some words")
	var pending []spend.Entry
	e.answer = func(n int, _ []string, w http.ResponseWriter) bool {
		list, err := p.db.Spent(t.Context(), time.Unix(0, 0))
		if err != nil || len(list) != 1 {
			t.Errorf("request %d: %+v, %v", n, list, err)
		}
		pending = append(pending, list...)
		if n == 1 {
			w.WriteHeader(503)
		}
		return n == 1
	}
	if err := p.round(p.worker()); err != nil {
		t.Fatal(err)
	}
	for i, e := range pending {
		if e.Outcome != spend.Pending || e.Calls != i+1 || e.Input == 0 || e.MicroUSD == 0 {
			t.Errorf("%+v", e)
		}
	}
	if list, err := p.db.Spent(t.Context(), time.Unix(0, 0)); err != nil || len(list) != 1 || list[0].Outcome != spend.Done || list[0].Calls != 2 || list[0].Input != 10 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A cap of 0 lets nothing out, questions included.
func TestACapOfNothingSendsNothing(t *testing.T) {
	for name, set := range map[string]func(*config.Embeddings){
		"calls":  func(c *config.Embeddings) { c.MaxCallsPerDay = new(int64(0)) },
		"tokens": func(c *config.Embeddings) { c.MaxTokensPerDay = new(int64(0)) },
		"money":  func(c *config.Embeddings) { c.MaxUSDPerDay = new(0.0) },
	} {
		e := newEndpoint(t)
		p := newPlace(t, e)
		p.say("/w", transcript.Facts{}, "some words")
		if err := p.round(p.worker()); err != nil { // there are vectors to ask
			t.Fatal(err)
		}
		set(&p.cfg.Embeddings)
		p.say("/w", transcript.Facts{}, "other words")
		if err := p.round(p.worker()); !errors.Is(err, spend.ErrCap) || e.requests != 1 {
			t.Errorf("%s: %v after %d requests", name, err, e.requests)
		}
		a := NewAsker(p.cfg)
		if note := a.Fill(t.Context(), p.db, &search.Request{Query: "words"}); !strings.Contains(note, "cap is 0") || e.requests != 1 {
			t.Errorf("%s: %q after %d requests", name, note, e.requests)
		}
		_ = a.Close()
	}
}

// What can't be worked with is told with what to do.
func TestFaultsAreToldWithTheirFix(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	for what, tt := range map[string]struct {
		c    config.Embeddings
		todo string
	}{
		"":                                      {config.Embeddings{Provider: "ollama"}, ""},
		"api.openai.com is not on this machine": {config.Embeddings{Provider: "openai"}, "write allow_remote = true below [embeddings] in /x/config.toml"},
		"allow_remote = true below [embeddings] in /x/config.toml": {config.Embeddings{Provider: "openai"}, "allow_remote"},
		"OPENAI_API_KEY is not set":                                {config.Embeddings{Provider: "openai", AllowRemote: true, KeyVar: "OPENAI_API_KEY"}, "set OPENAI_API_KEY where"},
		dir:                                                        {config.Embeddings{Provider: "model2vec", Dir: dir}, "give the folder of a model"},
		"cap is 0":                                                 {config.Embeddings{Provider: "ollama", MaxTokensPerDay: new(int64(0))}, "raise the cap"},
	} {
		got, todo := Fault(config.Config{File: "/x/config.toml", Embeddings: tt.c})
		if !strings.Contains(got, what) || (got == "") != (what == "") || !strings.Contains(todo, tt.todo) || (todo == "") != (what == "") {
			t.Errorf("%+v: %q, fix %q", tt.c, got, todo)
		}
	}
	for _, err := range []error{embed.ErrRefused, embed.ErrUnavailable, embed.ErrAnswer, errEnter, &spend.CapError{Limit: 1}, errors.New("other")} {
		if fix(config.Config{}, err) == "" {
			t.Errorf("%v has no fix", err)
		}
	}
}

// Vectors that are deleted while nothing is said are made anew, too.
func TestDeletedVectorsAreNoticedWhileNothingComesIn(t *testing.T) {
	e := newEndpoint(t)
	p := newPlace(t, e)
	p.say("/w", transcript.Facts{}, "some words")
	w := p.worker()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	w.sleep = func(_ context.Context, d time.Duration) bool {
		n++
		if e.requests != 1+n/4 || d != look {
			t.Errorf("look %d after %v: %d requests", n, d, e.requests)
		}
		if n == 3 { // by now its own entries in the ledger are nothing new
			if err := os.Remove(p.cfg.Vectors()); err != nil {
				t.Error(err)
			}
		}
		if n == 4 {
			cancel()
		}
		return n < 4
	}
	if err := w.Run(ctx); err != nil || w.Info().Passages != 1 {
		t.Errorf("%v, %+v", err, w.Info())
	}
	if _, err := os.Stat(p.cfg.Vectors()); err != nil {
		t.Error(err)
	}
}
