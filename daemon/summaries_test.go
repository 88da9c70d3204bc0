package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/spool"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store/summary"
)

func (p *place) put(thread, text string, through int64) {
	p.t.Helper()
	s := summary.Summary{ThreadID: thread, Source: summary.ByCaller, Model: "gpt-x", Text: text, Through: through, Created: time.Now()}
	if err := spool.Put(p.opt.Config.Spool(), s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) waiting() int {
	p.t.Helper()
	w, err := spool.Waiting(p.opt.Config.Spool())
	if err != nil {
		p.t.Fatal(err)
	}
	return len(w)
}

func (p *place) problems() string {
	p.t.Helper()
	info, err := daemon.Inspect(p.opt.Config)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(info.Problems, "\n")
}

func asked(p *place) *rollouttest.Rollout {
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	b.User("first question").Assistant("first answer").End()
	p.write(b, -1)
	return b
}

// What an agent wrote is in the memory file a moment later, and after a restart,
// a rebuild and a cache that was lost.
func TestSummariesAreTakenIn(t *testing.T) {
	p := newPlace(t)
	p.opt.Config.Summaries.ByCaller = true
	b := asked(p)
	p.put(b.ThreadID(), "Written before the start.", 1)
	shows := func(text string) func() bool {
		return func() bool { _, got := p.memory(); return strings.Contains(got, text) }
	}
	stop := p.start()
	p.until("what waited is shown", shows("Written before the start."))
	p.put(b.ThreadID(), "Written while it runs.", 2)
	took := p.until("what came in is shown", shows("Written while it runs."))
	if took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	if _, text := p.memory(); strings.Contains(text, "before the start") || !strings.Contains(text, `summary: "gpt-x (an agent's own words), through t1"`) {
		t.Errorf("memory\n%s", text)
	}
	p.put(b.ThreadID(), "Covers less.", 1)
	p.until("the spool is empty", func() bool { return p.waiting() == 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Rebuild(t.Context(), p.opt, nil); err != nil {
		t.Fatal(err)
	}
	p.put(b.ThreadID(), "Taken in by a command.", 2)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil || !shows("Taken in by a command.")() || p.waiting() != 0 {
		t.Errorf("%v, %d wait", err, p.waiting())
	}
	// Damage: the cache is made anew, and the rows that nothing gives are copied.
	f, err := os.OpenFile(p.opt.Config.DB(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("x", 2000)), 4096*2); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Rebuild(t.Context(), p.opt, nil); err != nil || !shows("Taken in by a command.")() {
		t.Errorf("healed: %v", err)
	}
}

// Off, what lies in the spool stays there and is nowhere shown.
func TestSummariesAreOffByDefault(t *testing.T) {
	p := newPlace(t)
	b := asked(p)
	p.put(b.ThreadID(), "Nobody asked.", 2)
	stop := p.start()
	p.until("the memory file", func() bool { files, _ := p.memory(); return len(files) == 1 })
	time.Sleep(1500 * time.Millisecond) // longer than the spool is looked at
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Error(err)
	}
	if _, text := p.memory(); strings.Contains(text, "Nobody asked.") || p.waiting() != 1 {
		t.Errorf("%d wait, memory\n%s", p.waiting(), text)
	}
}

// What can't be taken in is set aside with the reason and not tried again; what
// may still come right waits.
func TestBadSummariesAreSetAside(t *testing.T) {
	p := newPlace(t)
	p.opt.Config.Summaries.ByCaller = true
	b := asked(p)
	stop := p.start()
	dir := p.opt.Config.Spool()
	p.put(b.ThreadID(), "not yet", 9)
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.until("the bad one is set aside", func() bool { n, _, _ := spool.Refused(dir); return n == 1 })
	p.until("status says so", func() bool { return strings.Contains(p.problems(), "could not be taken in: read a summary: ") })
	if p.waiting() != 1 {
		t.Errorf("%d wait", p.waiting())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "refused", "bad.json")); err != nil || string(text) != "{" {
		t.Errorf("%q, %v", text, err)
	}
	old := time.Now().Add(-2 * time.Minute)
	w, err := spool.Waiting(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, w[0].Name), old, old); err != nil {
		t.Fatal(err)
	}
	p.until("what never came right too", func() bool { return p.waiting() == 0 })
	p.until("both are counted", func() bool { return strings.Contains(p.problems(), "2 summaries that agents wrote") })
	if err := os.RemoveAll(filepath.Join(dir, "refused")); err != nil {
		t.Fatal(err)
	}
	p.until("seen and deleted", func() bool { return p.problems() == "" })
	if err := stop(); err != nil {
		t.Error(err)
	}
}
