package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// A fork of the first turn may go on with the very words of the parent's
// second one: a pause tells that they are its own.
func TestForkRepeatsTheParentsWords(t *testing.T) {
	parent := start(rollouttest.Legacy).User("u1").Assistant("a1")
	fork := parent.Fork(rollouttest.Options{}).Wait(3 * time.Second).User("u2").Assistant("a2")
	before := parse(t, parent.User("u2").Assistant("a2").Bytes(), reading{})
	r := parse(t, fork.Bytes(), reading{parent: func(string) (rollout.Lineage, bool) { return before.lineage(), true }})
	if !r.Items[1].Inherited || r.Items[2].Inherited || r.Items[3].Inherited {
		t.Error(r.dump())
	}
}

// What copied lines say of the parent isn't taken for the fork's own.
func TestCopiedFacts(t *testing.T) {
	parent := rollouttest.New(rollouttest.Marked, rollouttest.Options{Cwd: "/old", Model: "old"}).User("u1").Rename("Parent's name").Assistant("a1").End()
	fork := parent.Fork(rollouttest.Options{Cwd: "/new", Model: "new"})
	f := parse(t, fork.Bytes(), reading{}).state.Facts
	if f.Cwd != "/new" || f.Title != "" || f.Model != "old" { // the model is the best guess until a turn begins
		t.Errorf("untouched fork: cwd %s title %q model %s", f.Cwd, f.Title, f.Model)
	}
	f = parse(t, fork.Wait(time.Minute).User("own").Rename("Its name").Bytes(), reading{}).state.Facts
	if f.Cwd != "/new" || f.Title != "Its name" || f.Model != "new" {
		t.Errorf("cwd %s title %q model %s", f.Cwd, f.Title, f.Model)
	}
}

// Another thread's header behind the first item begins no copy.
func TestForeignHeaderLater(t *testing.T) {
	ro := start(rollouttest.Legacy).User("u1").
		Raw(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"session_meta","payload":{"id":"other","timestamp":"2026-09-01T08:00:00.000Z"}}`).User("u2")
	r := parse(t, ro.Bytes(), reading{})
	if f := r.state.Facts; f.CopyOf != "" || f.ThreadID != ro.ThreadID() || r.Items[1].Inherited {
		t.Errorf("%+v", f)
	}
}

// A filtered copy, as a sub-agent gets it, has the persons' words only.
func TestFilteredCopy(t *testing.T) {
	parent := start(rollouttest.Marked).User("u1").Call("shell", "{}", "x").Assistant("a1").User("u2").Assistant("a2")
	before := parse(t, parent.Bytes(), reading{})
	const stamp = `{"timestamp":"2026-09-01T10:00:00.000Z",`
	said := func(role, s string) string {
		return stamp + `"type":"response_item","payload":{"type":"message","role":"` + role + `","content":[{"type":"input_text","text":"` + s + `"}]}}` + "\n"
	}
	b := stamp + `"type":"session_meta","payload":{"id":"child","timestamp":"2026-09-01T10:00:00.000Z","source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + parent.ThreadID() + `"}}}}}` + "\n" +
		stamp + `"type":"session_meta","payload":{"id":"` + parent.ThreadID() + `"}}` + "\n" + said("user", "u1") + said("user", "u2") + said("user", "task") + said("assistant", "done")
	r := parse(t, []byte(b), reading{parent: func(string) (rollout.Lineage, bool) { return before.lineage(), true }})
	for i, inherited := range []bool{true, true, false, false} {
		if r.Items[i].Inherited != inherited {
			t.Errorf("%q inherited %t", r.Items[i].Text, r.Items[i].Inherited)
		}
	}
	if r.state.Facts.FirstUser != "task" {
		t.Errorf("first %q", r.state.Facts.FirstUser)
	}
}

// A stored state doesn't change when its parser goes on.
func TestStateIsACopy(t *testing.T) {
	lines := split(start(rollouttest.Paginated).User("u1").Assistant("a1").Tokens(1, 0, 1, 0).User("u2").Call("x", "{}", "").Assistant("a2").Tokens(1, 0, 1, 0).End().
		Raw(strings.TrimSpace(event(`{"type":"thread_rolled_back","num_turns":2}`))).User("u3").User("u4").Tokens(1, 0, 1, 0).Bytes())
	p := rollout.NewParser(rollout.State{}, rollout.Options{})
	var d transcript.Delta
	var states []rollout.State
	var stored []string
	for _, l := range lines {
		p.Line(l, &d)
		st := p.State()
		j, err := st.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		states, stored = append(states, st), append(stored, string(j))
	}
	for i, st := range states {
		if j, err := st.MarshalJSON(); err != nil || string(j) != stored[i] {
			t.Fatalf("state after line %d became %s, was %s", i+1, j, stored[i])
		}
	}
}

// A copy may leave out what was rolled back in the parent.
func TestCopyWithoutDeadItems(t *testing.T) {
	clean := start(rollouttest.Legacy).User("u1").User("u2")
	before := parse(t, clean.Bytes(), reading{})
	l := before.lineage()
	lineage := rollout.Lineage{l[0], {Key: 1, Role: transcript.RoleUser, Dead: true}, {Key: 2, Role: transcript.RoleAssistant, Dead: true}, l[1]}
	r := parse(t, clean.Fork(rollouttest.Options{}).User("own").Bytes(), reading{parent: func(string) (rollout.Lineage, bool) { return lineage, true }})
	if !r.Items[0].Inherited || !r.Items[1].Inherited || r.Items[2].Inherited {
		t.Error(r.dump())
	}
}

// A usage record says whose it is.
func TestParentsUsageRecord(t *testing.T) {
	parent := start(rollouttest.Marked).User("u1").End()
	fork := parent.Fork(rollouttest.Options{}).Wait(time.Minute).User("own")
	for _, id := range []string{parent.ThreadID(), fork.ThreadID()} {
		fork.Raw(`{"timestamp":"2026-09-01T10:00:00.000Z","type":"token_usage_record","payload":{"thread_id":"` + id + `","response_id":"r` + id + `","usage":{"total_tokens":7}}}`)
	}
	if f := parse(t, fork.Bytes(), reading{}).state.Facts; f.Usage.Total != 7 || f.ModelCalls != 1 {
		t.Errorf("%+v", f.Usage)
	}
}
