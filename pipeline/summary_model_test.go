package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/summary"
)

// growing is a thread that a test writes.
type growing struct {
	b    *bench
	home string
	*rollouttest.Rollout
}

func newGrowing(t *testing.T) *growing {
	return &growing{newBench(t), t.TempDir(), rollouttest.New(rollouttest.Paginated, rollouttest.Options{})}
}

// view takes in what is written so far.
func (w *growing) view() pipeline.View {
	w.b.t.Helper()
	path := filepath.Join(w.home, filepath.FromSlash(w.Path()))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, w.Bytes(), 0o600)); err != nil {
		w.b.t.Fatal(err)
	}
	w.b.take(w.home, path)
	v, err := w.b.pipe.View(w.b.t.Context(), w.ThreadID())
	if err != nil {
		w.b.t.Fatal(err)
	}
	return v
}

// doc is the memory of now.
func (w *growing) doc() string {
	w.b.t.Helper()
	text, err := w.b.pipe.Memory(w.b.t.Context(), w.view(), pipeline.MemoryRequest{})
	if err != nil {
		w.b.t.Fatal(err)
	}
	return string(text)
}

func (w *growing) has(when string, want ...string) {
	w.b.t.Helper()
	text := w.doc()
	for _, s := range want {
		if !strings.Contains(text, s) {
			w.b.t.Errorf("%s: no %q in\n%s", when, s, text)
		}
	}
}

func (w *growing) keep(v pipeline.View, prior llm.Prior) {
	w.b.t.Helper()
	prior.Through = v.Messages[len(v.Messages)-1].Position
	if err := w.b.pipe.KeepSummary(w.b.t.Context(), v, "m-1", prior, summary.Made{Key: "k", Host: "h"}, time.Unix(20, 0)); err != nil {
		w.b.t.Fatal(err)
	}
}

func docOf(goal string) llm.Prior {
	return llm.Prior{Updates: 2, Doc: llm.Doc{
		Title: "Upload", State: llm.StateBlocked, Goal: goal,
		Decisions:   []llm.Decision{{What: "Chunks of 5 MB", Why: "the proxy cuts at 8", Turn: 1}},
		Constraints: []llm.Constraint{{Quote: "never restart the proxy", Turn: 1}},
		Learned:     []llm.Fact{{Fact: "The proxy buffers", Turn: 1}},
		Failed:      []llm.Attempt{{Tried: "Streaming", Result: "timeout", Instead: "chunks", Turn: 1}},
		Next:        []llm.Step{{Step: "Raise the limit", Turn: 1}},
		Topics:      []llm.Topic{{Name: "Proxy", Turns: "t1-t2", Text: "its limits"}},
	}}
}

// What a model wrote stands in the document in parts, with how far it goes; it
// is the beginning of the next update as long as what it rests on is there.
func TestSummaryOfAModel(t *testing.T) {
	w := newGrowing(t)
	w.User("Fix the upload").Assistant("Fixed it, the proxy is left.").End()
	w.has("nobody asks", `summary: "none (none asked for)"`)
	v := w.view()
	w.keep(v, docOf("A working upload"))
	w.has("kept", `summary: "m-1, through t1"`, "## Notes by m-1 (generated, check them)\n\n- Goal: A working upload\n- Next: Raise the limit [t1]\n- Decided: Chunks of 5 MB — the proxy cuts at 8 [t1]\n- Rule: “never restart the proxy” [t1]\n"+
		"- Did not work: Streaming → timeout → chunks [t1]\n- Learned: The proxy buffers [t1]\n- Topic: Proxy: its limits [t1-t2]\n", "**State: blocked** by the word of m-1")
	in, err := w.b.pipe.SummaryInput(t.Context(), v)
	if err != nil || in.Prior == nil || in.Prior.Doc.Goal != "A working upload" || in.Prior.Updates != 2 || len(in.Messages) != len(v.Messages) {
		t.Fatalf("%+v, %v", in, err)
	}

	w.User("And the download?").Assistant("That too.").End()
	w.has("behind", `summary: "m-1, through t1, behind"`, "2 newer messages are not in them", "**State: answered**")
	if in, err = w.b.pipe.SummaryInput(t.Context(), w.view()); err != nil || in.Prior == nil {
		t.Errorf("an update can't begin with it: %v", err)
	}

	// What an agent wrote and covers more stands in its place; then that of the
	// model again, when it covers as much.
	v = w.view()
	s := summary.Summary{ThreadID: w.ThreadID(), Source: summary.ByCaller, Model: "gpt-x", Text: "By hand.", Through: v.Messages[2].Position, Created: time.Unix(10, 0)}
	if err := w.b.pipe.SaveSummary(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.has("an agent's", `summary: "gpt-x (an agent's own words), through t2, behind"`)
	w.keep(v, docOf("Both ways"))
	w.has("renewed", `summary: "m-1, through t2"`, "- Goal: Both ways")

	// A rebuild keeps it, and it holds.
	if err := w.b.db.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.has("rebuilt", `summary: "m-1, through t2"`, "- Goal: Both ways")

	// Taken back: nothing of it is shown, and nothing is built on it.
	w.Rollback(1)
	if text := w.doc(); strings.Contains(text, "Both ways") || !strings.Contains(text, `summary: "none (none asked for)"`) && !strings.Contains(text, "gpt-x") {
		t.Errorf("after a rollback\n%s", text)
	}
	if in, err = w.b.pipe.SummaryInput(t.Context(), w.view()); err != nil || in.Prior != nil {
		t.Errorf("an update would begin with what was taken back: %+v, %v", in.Prior, err)
	}
}

// Where a model is to write summaries, a document without one says why.
func TestWhyThereIsNoSummary(t *testing.T) {
	w := newGrowing(t)
	w.User("Fix the upload").Assistant("Fixed it.").End()
	v := w.view()
	var err error
	why := "it is short"
	unsummarized := func(context.Context, *store.DB, pipeline.View) (string, error) { return why, nil }
	if w.b.pipe, err = pipeline.New(t.Context(), w.b.db, pipeline.Options{Summarized: true, Unsummarized: unsummarized, TargetChars: 2600}); err != nil {
		t.Fatal(err)
	}
	w.has("never one", `summary: "none (it is short)"`)
	why = ""
	w.has("new", `summary: "none (not made yet)"`)
	why = "it is short"
	if n := len(w.doc()); n > 2700 {
		t.Errorf("%d bytes with a target of 2,600 units", n)
	}
	if err := w.b.db.SaveTry(t.Context(), summary.Try{ThreadID: w.ThreadID(), At: time.Unix(9, 0), Failures: 1, Reason: "not JSON"}); err != nil {
		t.Fatal(err)
	}
	w.has("failed", `summary: "none (not JSON)"`)
	w.keep(v, docOf("x"))
	w.has("made", `summary: "m-1, through t1"`)
}

// What a model is told beside the text: what the thread's lines prove.
func TestFactsForAModel(t *testing.T) {
	w := newGrowing(t)
	w.User("Fix the upload").Call("shell", `{"command":["bash","-lc","go test ./..."]}`, "ok").Assistant("It passes.").End()
	in, err := w.b.pipe.SummaryInput(t.Context(), w.view())
	if err != nil || !slices.Contains(in.Facts.Exits, "go test ./...: exit 0") {
		t.Errorf("%+v, %v", in.Facts, err)
	}
	count, exact := w.b.pipe.CountTokens(t.Context(), "gpt-4o")
	if n := count("hello world"); n != 2 || !exact {
		t.Errorf("%d tokens, exact %v", n, exact)
	}
	if _, exact := w.b.pipe.CountTokens(t.Context(), "some-model:7b"); exact {
		t.Error("an unknown model's tokens are counted exactly")
	}
	if _, err := w.b.db.Try(t.Context(), w.ThreadID()); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// A hand-over that leaves turns out has the summary on top.
func TestSummaryInAHandOver(t *testing.T) {
	w := newGrowing(t)
	for range 12 {
		w.User("Fix the next upload").Assistant(strings.Repeat("It was wrong in many ways. ", 40)).End()
	}
	v := w.view()
	w.keep(v, docOf("Working uploads"))
	for budget, want := range map[int]bool{1500: true, 100_000: false} {
		h, err := w.b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Budget: budget, Strategy: "selected"})
		if err != nil || h.Tokens > budget || strings.Contains(string(h.Text), "> - Goal: Working uploads\n") != want {
			t.Errorf("budget %d: %d tokens, %v\n%.700s", budget, h.Tokens, err, h.Text)
		}
	}
}
