package summarizing

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
	"github.com/session-migrator/session-migrator/store/spend"
	"github.com/session-migrator/session-migrator/store/summary"
)

// A session is summarized when it has rested, updated when it went on and the
// cool-down is over, and never for what was summarized already.
func TestASessionIsSummarizedWhenItRests(t *testing.T) {
	p := newPlace(t)
	id := idOf(1)
	p.say(id, "/w")
	w := p.worker()
	w.Changed(id)
	p.rounds(w)
	if len(p.to.asked) != 0 {
		t.Fatal("asked at once")
	}
	p.after(2 * time.Minute)
	p.rounds(w)
	if len(p.to.asked) != 1 || p.to.asked[0].kind != llm.Full || p.front(id) != "gpt-4o-mini, through t1" || len(p.new) == 0 {
		t.Fatalf("%+v, %q", p.to.asked, p.front(id))
	}
	if s, err := LastSent(t.Context(), p.db); err != nil || s.Bytes != p.to.asked[0].bytes || s.Host != "models.example" || s.Thread != id || w.Info().Sent != s {
		t.Errorf("sent last: %+v, %v", s, err)
	}
	p.after(time.Hour)
	w.Changed(id) // nothing that was said
	p.after(time.Hour)
	p.rounds(w)
	w = p.worker() // a restart
	p.rounds(w)
	if len(p.to.asked) != 1 {
		t.Fatalf("%d requests for nothing new", len(p.to.asked))
	}
	p.say(id, "/w")
	w.Changed(id)
	p.after(3 * time.Minute)
	p.rounds(w)
	if len(p.to.asked) != 2 || p.to.asked[1].kind != llm.Rolling {
		t.Fatalf("%+v", p.to.asked)
	}
	p.say(id, "/w")
	w.Changed(id)
	p.after(3 * time.Minute)
	p.rounds(w)
	if len(p.to.asked) != 2 {
		t.Error("asked in the cool-down")
	}
	p.after(7 * time.Minute)
	p.rounds(w)
	if len(p.to.asked) != 3 {
		t.Error("not asked after the cool-down")
	}
}

// Nothing of denied folders is sent, nothing short, nothing that an agent has
// summed up.
func TestWhatIsNotSent(t *testing.T) {
	p := newPlace(t)
	p.cfg.Summaries.DenyWorkspaces = []string{"/secret"}
	three := 3
	p.cfg.Summaries.MinTurns = &three
	denied, short, said, long := idOf(1), idOf(2), idOf(3), idOf(4)
	for n := range 3 {
		p.say(denied, "/secret/below")
		p.say(said, "/w")
		p.say(long, "/w")
		if n < 2 {
			p.say(short, "/w")
		}
	}
	if err := p.db.SaveSummary(t.Context(), summary.Summary{ThreadID: said, Source: summary.ByCaller, Text: "all of it", Through: p.ids[said], Created: p.now}); err != nil {
		t.Fatal(err)
	}
	p.after(time.Hour)
	w := p.worker()
	p.rounds(w)
	if len(p.to.asked) != 1 || p.to.asked[0].thread != long {
		t.Errorf("%+v", p.to.asked)
	}
	// The documents say so from the start.
	for id, want := range map[string]string{denied: "nothing of its folder may be sent", short: "too short for one", long: ""} {
		v, err := p.pipe.View(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if why, err := Unasked(p.cfg)(t.Context(), p.db, v); why != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", id, why, err, want)
		}
	}
	if _, err := w.Now(t.Context(), denied, Wish{}); !errors.Is(err, ErrDenied) || len(p.to.asked) != 1 {
		t.Errorf("asked for: %v", err)
	}
	// Who asks for it gets one of a short session, too.
	if r, err := w.Now(t.Context(), short, Wish{}); err != nil || r.Requests != 1 || r.Turns != 0 || r.Same {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := w.Now(t.Context(), short, Wish{}); err != nil || !r.Same || r.Requests != 0 || r.Through != p.ids[short] || r.Turns != 2 {
		t.Errorf("again: %+v, %v", r, err)
	}
}

// However it fails, the documents stand and say why; after three failures it is
// quiet for half an hour, and of the same messages after three for good.
func TestFailures(t *testing.T) {
	for _, reason := range []chat.Reason{chat.NoChoices, chat.Blank, chat.Refusal, chat.Truncated, chat.NotJSON, chat.WrongShape, chat.Timeout, chat.Unreachable, chat.ServerError, chat.RateLimited} {
		t.Run(reason.String(), func(t *testing.T) {
			p := newPlace(t)
			id := idOf(1)
			p.say(id, "/w")
			before := p.front(id)
			p.to.says = func(int, llm.Plan) (llm.Prior, error) { return llm.Prior{}, failure(reason) }
			w := p.worker()
			p.after(time.Hour)
			for range 8 {
				p.rounds(w)
				p.after(10 * time.Minute)
			}
			if before != "none (not made yet)" || p.front(id) != "none ("+reason.String()+")" && p.front(id) != "none (the endpoint failed, it is left alone for a while)" {
				t.Errorf("first %q, then %q", before, p.front(id))
			}
			if n := len(p.to.asked); n < 2 || n > 4 {
				t.Errorf("%d requests in 80 minutes", n)
			}
			for n := 1; n < len(p.to.asked); n++ {
				if d := p.to.asked[n].at.Sub(p.to.asked[n-1].at); d < 10*time.Minute {
					t.Errorf("again after %v", d)
				}
			}
			if i := w.Info(); i.LastError == "" || i.NextTry.IsZero() {
				t.Errorf("%+v", i)
			}
			if all, err := p.db.Summaries(t.Context(), id); err != nil || len(all) != 0 {
				t.Errorf("stored %+v, %v", all, err)
			}
			// It changes, and the model is well again.
			p.to.says = nil
			p.say(id, "/w")
			w.Changed(id)
			p.after(7 * time.Hour)
			p.rounds(w)
			if p.front(id) != "gpt-4o-mini, through t2" || w.Info().LastError != "" {
				t.Errorf("%q, %+v", p.front(id), w.Info())
			}
		})
	}
}

func TestBadAnswersAreGivenUpAfterThree(t *testing.T) {
	p := newPlace(t)
	id := idOf(1)
	p.say(id, "/w")
	p.to.says = func(int, llm.Plan) (llm.Prior, error) { return llm.Prior{}, failure(chat.NotJSON) }
	w := p.worker()
	for range 200 {
		p.after(time.Hour)
		w.Changed("")
		p.rounds(w)
	}
	if n := len(p.to.asked); n != 3 {
		t.Errorf("%d requests about the same messages", n)
	}
	p.to.says = func(int, llm.Plan) (llm.Prior, error) { return llm.Prior{}, llm.ErrEmpty }
	p.say(id, "/w")
	w.Changed(id)
	for range 50 {
		p.after(time.Hour)
		w.Changed("")
		p.rounds(w)
	}
	if n := len(p.to.asked); n != 4 || p.front(id) != "none (nothing worth keeping)" {
		t.Errorf("%d requests, %q", n, p.front(id))
	}
}

// A refusal ends it until the program is started again; other threads that
// changed say so, too.
func TestARefusalStopsAll(t *testing.T) {
	p := newPlace(t)
	p.to.says = func(int, llm.Plan) (llm.Prior, error) { return llm.Prior{}, failure(chat.BadKey) }
	w := p.worker()
	for n := 1; n <= 3; n++ {
		p.say(idOf(n), "/w")
		w.Changed(idOf(n))
	}
	for range 20 {
		p.after(24 * time.Hour)
		p.rounds(w)
		w.Changed(idOf(2))
	}
	i := w.Info()
	if len(p.to.asked) != 1 || !strings.Contains(i.LastError, "refuses the key") || !i.NextTry.IsZero() || i.LastFix == "" {
		t.Errorf("%d requests, %+v", len(p.to.asked), i)
	}
	if all, err := p.db.Spent(t.Context(), time.Unix(0, 0)); err != nil || len(all) != 1 || all[0].Outcome != spend.Refused || all[0].Input != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	for n := 1; n <= 3; n++ {
		if got := p.front(idOf(n)); got != "none (key refused)" {
			t.Errorf("%d: %q", n, got)
		}
	}
	p.to.says = nil
	p.rounds(p.worker())
	if len(p.to.asked) != 4 {
		t.Errorf("%d requests after a restart", len(p.to.asked))
	}
}

// What can't be worked with is told before anything is opened.
func TestSettingsThatCantBeWorkedWith(t *testing.T) {
	one, none := 1.0, int64(0)
	for name, tt := range map[string]struct {
		change    func(*place)
		what, fix string
	}{
		"remote":    {func(p *place) { p.cfg.Summaries.Remote = false }, "not on this machine", "write remote = true below [summaries]"},
		"no key":    {func(p *place) { p.cfg.Summaries.Key, p.cfg.Summaries.KeyVar = "", "K" }, "K is not set", "set K where the daemon is started"},
		"no price":  {func(p *place) { p.cfg.Summaries.Model, p.cfg.Summaries.MaxUSDPerMonth = "x", &one }, "nobody tells the price", "usd_per_million_input"},
		"no model":  {func(p *place) { p.cfg.Summaries.Provider, p.cfg.Summaries.Model = "ollama", "" }, "no model", "mend [summaries]"},
		"cap of 0":  {func(p *place) { p.cfg.Summaries.MaxCallsPerDay = &none }, "the day's cap is 0 calls", "raise the cap"},
		"unheard":   {func(p *place) { p.cfg.Summaries.Provider = "nobody" }, "no provider", "mend [summaries]"},
		"of a word": {func(p *place) { p.cfg.Summaries.Endpoint = "x" }, "", "mend [summaries]"},
	} {
		p := newPlace(t)
		tt.change(p)
		what, todo := Fault(p.cfg)
		if !strings.Contains(what, tt.what) || !strings.Contains(todo, tt.fix) || what == "" {
			t.Errorf("%s: %q, %q", name, what, todo)
		}
		p.say(idOf(1), "/w")
		p.after(time.Hour)
		w := p.worker()
		w.open = func(who) (model, error) {
			if name != "cap of 0" {
				t.Errorf("%s: opened", name)
			}
			return p.to, nil
		}
		p.rounds(w)
		if i := w.Info(); !strings.Contains(i.LastError, tt.what) || !i.NextTry.IsZero() || len(p.to.asked) != 0 {
			t.Errorf("%s: %+v, %d requests", name, i, len(p.to.asked))
		}
	}
	p := newPlace(t)
	p.cfg.Summaries.Provider = ""
	if what, _ := Fault(p.cfg); what != "" || New(Options{Config: p.cfg}) != nil {
		t.Error("off is a fault")
	}
	var off *Worker
	off.Changed("x")
	if err := off.Run(t.Context()); err != nil || off.Info() != nil {
		t.Error("a worker that is none does something")
	}
}

// 200 sessions grow for days, with restarts in between: whichever cap is the
// narrowest, all hold, and so do cool-down and one at a time.
func TestCapsHoldInAFlood(t *testing.T) {
	for name, tt := range map[string]struct {
		calls, tokens int64
		usd           float64
		days          int
		told          string
	}{
		"calls":  {25, 1_000_000, 1, 2, "the day's cap is reached: 25 calls"},
		"tokens": {100, 60_000, 1, 2, "the day's cap is reached: 60000 tokens"},
		"money":  {25, 100_000, 0.04, 3, "the month's cap is reached: 0.04 USD"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.cfg.Summaries.MaxCallsPerDay, p.cfg.Summaries.MaxTokensPerDay, p.cfg.Summaries.MaxUSDPerMonth = &tt.calls, &tt.tokens, &tt.usd
			p.to.usage = llm.Usage{Input: 1800, Output: 700, Told: true}
			w := p.flood(200, tt.days)
			if i := w.Info(); i.LastError != tt.told || i.NextTry.IsZero() {
				t.Errorf("%+v", i)
			}
			last := map[string]time.Time{}
			for _, a := range p.to.asked {
				if was, again := last[a.thread]; again && a.at.Sub(was) < p.cfg.Summaries.CooldownFor {
					t.Errorf("%s again after %v", a.thread, a.at.Sub(was))
				}
				last[a.thread] = a.at
			}
			most := spend.Sum{}
			for day := range tt.days {
				from := time.Date(2026, 11, 2+day, 0, 0, 0, 0, time.UTC)
				s, rest := p.spent(from), p.spent(from.AddDate(0, 0, 1))
				calls, tokens := s.Calls-rest.Calls, s.Input+s.Output-rest.Input-rest.Output
				if calls > tt.calls || tokens > tt.tokens {
					t.Errorf("day %d: %d calls, %d tokens", day, calls, tokens)
				}
				most.Calls, most.Input = max(most.Calls, calls), max(most.Input, tokens)
			}
			month := p.spent(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)).MicroUSD
			if month > int64(tt.usd*1e6) {
				t.Errorf("%d micro-USD in a month", month)
			}
			// What a request may cost at most is kept free for it.
			reached := map[string]bool{"calls": most.Calls == tt.calls, "tokens": most.Input > tt.tokens/2, "money": month > int64(tt.usd*1e6)/2}
			if !reached[name] {
				t.Errorf("%+v, %d micro-USD: the cap was never reached", most, month)
			}
		})
	}
}

// One whose request is more than a whole cap keeps nobody else from going on.
func TestASessionThatIsMoreThanACap(t *testing.T) {
	p := newPlace(t)
	p.to.usage = llm.Usage{Input: 10, Output: 10, Told: true}
	p.say(idOf(1), "/w")
	p.after(time.Minute)
	p.say(idOf(2), "/w", strings.Repeat("much was said of it, and more ", 4000), "Yes.")
	p.after(time.Hour)
	v, err := p.pipe.View(t.Context(), idOf(2))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Look(t.Context(), p.cfg, p.db, p.pipe, v, Wish{})
	if err != nil {
		t.Fatal(err)
	}
	tokens := int64(l.Plan.Calls[0].Tokens + l.Plan.Calls[0].Output - 1)
	p.cfg.Summaries.MaxTokensPerDay = &tokens
	w := p.worker()
	for range 5 {
		p.rounds(w)
		w.Changed("")
		p.after(24 * time.Hour)
	}
	if len(p.to.asked) != 1 || p.to.asked[0].thread != idOf(1) || p.front(idOf(2)) != "none (it is more than the caps allow)" || w.Info().LastError != "" {
		t.Errorf("%+v, %q, %+v", p.to.asked, p.front(idOf(2)), w.Info())
	}
}

// flood has sessions grow for days, and the worker restarted now and then.
func (p *place) flood(sessions, days int) *Worker {
	p.t.Helper()
	w := p.worker()
	for day := range days {
		for step := range 4 {
			for n := range sessions {
				if (n+step)%4 == 0 {
					p.say(idOf(n), "/w")
					w.Changed(idOf(n))
				}
			}
			p.after(2 * time.Minute)
			p.rounds(w)
			p.after(4 * time.Minute)
			p.rounds(w)
			if step == 2 {
				w = p.worker()
			}
		}
		if day < days-1 {
			p.now = time.Date(2026, 11, 3+day, 9, 0, 0, 0, time.UTC)
		}
	}
	return w
}

func (p *place) spent(since time.Time) spend.Sum {
	p.t.Helper()
	s, err := p.db.SpentSince(p.t.Context(), spend.Summary, since)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// The daemon answers what a command asks, and does no more than one at a time.
func TestACommandAsksTheDaemon(t *testing.T) {
	p := newPlace(t)
	id, bad := idOf(1), idOf(2)
	p.say(id, "/w")
	p.say(bad, "/w")
	never := 1000
	p.cfg.Summaries.MinTurns, p.cfg.Summaries.MinChars = &never, &never
	p.to.says = func(_ int, plan llm.Plan) (llm.Prior, error) {
		if p.to.asked[len(p.to.asked)-1].thread == bad {
			return llm.Prior{}, failure(chat.NotJSON)
		}
		return llm.Prior{Doc: llm.Doc{Title: "T", Goal: "g"}, Through: plan.Through, Turns: 1}, nil
	}
	w := p.worker()
	w.now = time.Now
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	r, err := Ask(t.Context(), p.cfg, id, Wish{TargetChars: 4000})
	if err != nil || r.Requests != 1 || r.Turns != 1 || r.Model != "gpt-4o-mini" || r.MicroUSD == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = Ask(t.Context(), p.cfg, bad, Wish{})
	if f, ok := errors.AsType[*FixedError](err); !ok || !strings.Contains(f.What, "not JSON") || f.Fix == "" || strings.Contains(f.What, f.Fix) {
		t.Errorf("%+v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if p.front(bad) != "none (not JSON)" {
		t.Errorf("%q", p.front(bad))
	}
}

// What would be sent is told word for word, whatever is wrong with the settings,
// and nothing is sent.
func TestLook(t *testing.T) {
	p := newPlace(t)
	id := idOf(1)
	p.say(id, "/w", "keep the secret ghp_16C7e42F292c6912E7710c838347Ae178B4a", "I keep it.")
	v, err := p.pipe.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Look(t.Context(), p.cfg, p.db, p.pipe, v, Wish{})
	if err != nil || len(l.Plan.Calls) != 1 || l.Host != "api.openai.com" || !l.Exact || l.MicroUSD == 0 || !l.Priced || l.Denied || l.Fault != "" {
		t.Fatalf("%+v, %v", l, err)
	}
	if text := l.Plan.Calls[0].Text(); !strings.Contains(text, "keep the secret") || strings.Contains(text, "ghp_") {
		t.Error(text)
	}
	p.cfg.Summaries.Remote = false
	p.cfg.Summaries.DenyWorkspaces = []string{"/w"}
	if l, err = Look(t.Context(), p.cfg, p.db, p.pipe, v, Wish{}); err != nil || l.Fault == "" || !l.Denied || len(l.Plan.Calls) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	p.cfg.Summaries.Provider = ""
	if _, err = Look(t.Context(), p.cfg, p.db, p.pipe, v, Wish{}); !errors.Is(err, ErrOff) {
		t.Error(err)
	}
}
