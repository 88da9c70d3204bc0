package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const codexTarget = "codex/gpt-5.6-sol"

func TestOverheadIsMeasuredOnTheThread(t *testing.T) {
	opt := rollouttest.Options{}
	for _, c := range []struct {
		name string
		opt  rollouttest.Options
		took int64
		want int // 0: assumed
	}{
		// "go" is one token; 5 once and 4 for the request are the chat format's.
		{"as usual", opt, 6_623, 6_613},
		{"with many tools", opt, 42_010, 42_000},
		{"too little", opt, 2_009, 0},
		{"too much", opt, 100_011, 0},
		{"an id that the table doesn't know", rollouttest.Options{Model: "gpt-6.9-nova"}, 6_623, 6_613},
		{"another maker's tokens", rollouttest.Options{Model: "qwen3-coder-plus"}, 6_623, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rollouttest.New(rollouttest.Paginated, c.opt).User("go").Assistant("gone").Tokens(c.took, 0, 20, 0).End()
			r.User("on").Assistant("and on").Tokens(c.took+60_000, 0, 20, 0).End()
			b := newBench(t)
			home, _ := inHome(t, r.ThreadID(), r.Bytes())
			b.ingest(home, false)
			for _, model := range []string{codexTarget, "claude-opus-5-5"} {
				ds, err := b.db.Decisions(t.Context(), r.ThreadID(), model)
				if err != nil || len(ds) != 1 {
					t.Fatalf("%d decisions, %v", len(ds), err)
				}
				d := ds[0]
				want, source := c.want, decide.OverheadMeasured
				if want == 0 || model != codexTarget {
					want, source = d.OverheadAssumed, decide.OverheadAssumed
				}
				if d.Overhead != want || d.OverheadSource != source || d.Room != d.Ceiling-want || d.OverheadAssumed < 10_000 {
					t.Errorf("%s: overhead %d %v, room %d of %d; want %d %v", model, d.Overhead, d.OverheadSource, d.Room, d.Ceiling, want, source)
				}
				now := b.pipe.Decide(b.thread(r.ThreadID()), model, decide.Options{})
				now.ComputedAt = d.ComputedAt
				if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", now) {
					t.Errorf("stored\n%+v\nwant\n%+v", d, now)
				}
			}
		})
	}
}

func TestMeasuringThreadsDontChangeOthers(t *testing.T) {
	b := newBench(t)
	one := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id("001")}).User("go").Assistant("gone").Tokens(6_623, 0, 20, 0).End()
	other := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id("002")}).User("go").Assistant("gone").End()
	for _, r := range []*rollouttest.Rollout{one, other, one} {
		home, path := inHome(t, r.ThreadID(), r.Bytes())
		b.ingest(home, false)
		appendTo(t, path, []byte("\n"))
	}
	for thread, want := range map[string]int{one.ThreadID(): 6_613, other.ThreadID(): 10_000} {
		ds, err := b.db.Decisions(t.Context(), thread, codexTarget)
		if err != nil || len(ds) != 1 || ds[0].Overhead != want {
			t.Errorf("%s: %+v, %v; want %d", thread, ds, err, want)
		}
	}
}

func TestForkHasItsParentsFirstRequest(t *testing.T) {
	parent := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id("001")}).User("go").Assistant("gone").Tokens(6_623, 0, 20, 0).End()
	fork := rollouttest.New(rollouttest.Paginated, rollouttest.Options{
		ThreadID: id("002"), ForkedFrom: id("001"), BaseRollout: id("001"), BaseOrdinal: parent.Ordinal(), BaseOffset: parent.Size(),
	}).User("and now?").Assistant("this").Tokens(9_000, 0, 20, 0).End()
	b := newBench(t)
	for _, r := range []*rollouttest.Rollout{parent, fork} {
		home, _ := inHome(t, r.ThreadID(), r.Bytes())
		b.ingest(home, false)
	}
	want := transcript.FirstRequest{Model: "gpt-5.5", Input: 6_623, Through: 1, Own: 1, User: 1}
	if got := b.thread(fork.ThreadID()).First; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestFirstRequestIsReadThrough(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).User("go")
	before := len(r.Bytes())
	text := r.Assistant("gone").Tokens(6_623, 0, 20, 0).End().Bytes()
	b := newBench(t)
	home, path := inHome(t, r.ThreadID(), text[:before])
	b.ingest(home, false)
	appendTo(t, path, text[before:])
	through, err := b.pipe.View(t.Context(), r.ThreadID())
	if err != nil {
		t.Fatal(err)
	}
	b.ingest(home, false)
	if now := b.thread(r.ThreadID()); now.First != through.Thread.First || now.First.Own != 1 {
		t.Errorf("read through %+v, committed %+v", through.Thread.First, now.First)
	}
}
