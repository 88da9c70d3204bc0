package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/summarizing"
)

// modelAt answers each question with what says gives, until the test ends, and
// makes the settings name it.
func modelAt(p *place, says func(n int) (status int, content string)) *atomic.Int32 {
	p.t.Helper()
	n := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(text), "messages") {
			w.WriteHeader(http.StatusNotFound) // it is asked for the window, too
			return
		}
		status, content := says(int(n.Add(1)))
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`, content)
	}))
	p.t.Cleanup(s.Close)
	one := 1
	p.opt.Config.Summaries = config.Summaries{Provider: config.Custom, Endpoint: s.URL + "/v1", Model: "m-1", MinTurns: &one, Window: 32_000}
	return n
}

// The memory file is there before any model was asked, is renewed when a summary
// came, and stays as it was when none comes.
func TestASummaryRenewsTheMemoryFile(t *testing.T) {
	p := newPlace(t)
	good := make(chan struct{})
	n := modelAt(p, func(int) (int, string) {
		<-good
		return 200, `{"title":"T","goal":"All is right"}`
	})
	b := asked(p)
	stop := p.start()
	p.until("the memory file", func() bool {
		_, text := p.memory()
		return strings.Contains(text, `summary: "none (not made yet)"`)
	})
	close(good)
	p.until("the summary in it", func() bool { _, text := p.memory(); return strings.Contains(text, "- Goal: All is right") })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	_, before := p.memory()
	r, err := daemon.Summarize(t.Context(), p.opt, b.ThreadID(), summarizing.Wish{})
	if err != nil || !r.Same || n.Load() != 1 {
		t.Errorf("nothing new: %+v, %v, %d requests", r, err, n.Load())
	}
	if _, text := p.memory(); text != before {
		t.Error("the memory file changed")
	}
}

// Whatever comes back, the memory file is what it is without a model, but for the
// line that says why.
func TestAModelThatFailsLeavesTheMemoryFile(t *testing.T) {
	p := newPlace(t)
	says, status := "", 200
	modelAt(p, func(int) (int, string) { return status, says })
	on := p.opt.Config.Summaries
	p.opt.Config.Summaries = config.Summaries{}
	b := asked(p)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	rest := func(text string) string {
		var out []string
		for _, l := range strings.Split(text, "\n") {
			if !strings.HasPrefix(l, "summary: ") && !strings.HasPrefix(l, "hash: ") { // of all lines
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	_, off := p.memory()
	p.opt.Config.Summaries = on
	for _, tt := range []struct {
		status     int
		says, told string
	}{
		{200, "Sure! It went well.", "not JSON"}, {200, `{"a":1}`, "wrong shape"}, {200, `{"title":`, "not JSON"}, {401, "", "key refused"}, {404, "", "no such model"},
	} {
		status, says = tt.status, tt.says
		_, err := daemon.Summarize(t.Context(), p.opt, b.ThreadID(), summarizing.Wish{})
		_, text := p.memory()
		if err == nil || !strings.Contains(text, `summary: "none (`+tt.told+`)"`) && !strings.Contains(text, `summary: "none (cut off)"`) {
			t.Errorf("%d %q: %v\n%.900s", tt.status, tt.says, err, text)
		}
		if rest(text) != rest(off) {
			t.Errorf("%d %q: the memory file is another\n%s\n---\n%s", tt.status, tt.says, text, off)
		}
	}
}
