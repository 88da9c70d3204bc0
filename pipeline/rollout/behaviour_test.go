package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func start(era rollouttest.Era) *rollouttest.Rollout {
	return rollouttest.New(era, rollouttest.Options{})
}

func wantMessages(t *testing.T, r *read, want ...string) {
	t.Helper()
	if got := r.messages(); !slices.Equal(got, want) {
		t.Errorf("messages\ngot:  %q\nwant: %q", got, want)
	}
}

// states lists the states of the live turns.
func (r *read) states() []string {
	out := make([]string, r.state.Facts.Turns)
	for _, x := range r.Turns {
		if x.Number <= len(out) {
			out[x.Number-1] = x.State.String()
		}
	}
	return out
}

func TestEveryEra(t *testing.T) {
	for _, era := range []rollouttest.Era{rollouttest.Bare, rollouttest.Legacy, rollouttest.Marked, rollouttest.Paginated} {
		t.Run(era.String(), func(t *testing.T) {
			b := start(era).User("Fix the build").Reasoning("**Thinking**").Call("shell", `{"cmd":"make"}`, "ok\n").Assistant("Fixed.").
				Tokens(1000, 200, 50, 10).Again().User("Thanks 你好 🙂").Assistant("Welcome.").Tokens(1200, 1000, 20, 0).End().Bytes()
			r := parse(t, b, reading{})
			wantMessages(t, r, "user: Fix the build", "assistant: Fixed.", "user: Thanks 你好 🙂", "assistant: Welcome.")
			calls := r.live(transcript.RoleToolCall, transcript.RoleToolResult)
			if len(calls) != 2 || calls[0].Name != "shell" || calls[0].CallID != calls[1].CallID || !calls[1].HasExit || calls[1].ExitCode != 0 {
				t.Errorf("calls %+v", calls)
			}
			if got := r.states(); !slices.Equal(got, []string{"answered", "answered"}) {
				t.Error("states", got)
			}
			if len(r.Damage)+len(r.Unknown) > 0 {
				t.Error(r.Damage, r.Unknown)
			}
			f := r.state.Facts
			if f.Cwd != "/home/dana/proj" || f.FirstUser != "Fix the build" || f.Injected != 1 {
				t.Errorf("facts %+v", f)
			}
			want, calls2 := transcript.Usage{Input: 2200, CachedInput: 1200, Output: 70, Reasoning: 10, Total: 2270}, 2
			if era == rollouttest.Bare {
				want, calls2 = transcript.Usage{}, 0
			}
			if f.Usage != want || f.ModelCalls != calls2 {
				t.Errorf("usage %+v in %d calls", f.Usage, f.ModelCalls)
			}
		})
	}
}

func TestOffsetsSpanLines(t *testing.T) {
	b := start(rollouttest.Marked).User("Grüße").Assistant("日本語").Bytes()
	for _, it := range parse(t, b, reading{}).Items {
		line := string(b[it.Offset : it.Offset+it.Size])
		if !strings.HasPrefix(line, `{"timestamp":"`) || !strings.HasSuffix(line, "}}") || !strings.Contains(line, it.Text) {
			t.Errorf("item %d is not at %d: %q", it.Seq, it.Offset, line)
		}
	}
}

func TestSteering(t *testing.T) {
	for _, era := range []rollouttest.Era{rollouttest.Marked, rollouttest.Paginated} {
		r := parse(t, start(era).User("Begin").Assistant("On it.").Steer("Also this").Assistant("Both done.").End().Bytes(), reading{})
		if r.state.Facts.Turns != 1 || r.Items[2].Turn != 1 {
			t.Errorf("%s: %d turns, steering in %d", era, r.state.Facts.Turns, r.Items[2].Turn)
		}
	}
	r := parse(t, start(rollouttest.Legacy).User("Begin").Steer("Also this").Bytes(), reading{})
	if r.state.Facts.Turns != 2 {
		t.Errorf("without turn ids: %d turns", r.state.Facts.Turns)
	}
}

func TestTurnStates(t *testing.T) {
	call := func(r *rollouttest.Rollout) *rollouttest.Rollout { r.CallOnly("shell", "{}"); return r }
	for _, c := range []struct {
		name string
		r    *rollouttest.Rollout
		want string
	}{
		{"asked", start(rollouttest.Marked).User("x"), "unanswered"},
		{"acting", call(start(rollouttest.Marked).User("x")), "running"},
		{"said something, no mark", start(rollouttest.Marked).User("x").Assistant("y"), "running"},
		{"complete", start(rollouttest.Marked).User("x").Assistant("y").End(), "answered"},
		{"failed", start(rollouttest.Paginated).User("x").Fail("usage limit"), "failed"},
		{"ended without a word", start(rollouttest.Marked).User("x").Fail(""), "unanswered"},
		{"ended after deeds", call(start(rollouttest.Marked).User("x")).Fail(""), "interrupted"},
		{"aborted", call(start(rollouttest.Paginated).User("x")).Abort(), "interrupted"},
		{"aborted without id", start(rollouttest.Legacy).User("x").Abort(), "interrupted"},
		{"asked, old", start(rollouttest.Legacy).User("x"), "unanswered"},
		{"acting, old", call(start(rollouttest.Legacy).User("x").Assistant("let me see")), "running"},
		{"answered, old", start(rollouttest.Legacy).User("x").Call("shell", "{}", "").Assistant("y"), "answered"},
		{"failed with an event", start(rollouttest.Marked).User("x").Raw(strings.TrimSpace(event(`{"type":"error","message":"m"}`))).Fail(""), "failed"},
		{"killed", call(start(rollouttest.Legacy).User("x")).User("again"), "interrupted"},
	} {
		r := parse(t, c.r.Bytes(), reading{})
		if got := r.states()[0]; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	r := parse(t, start(rollouttest.Paginated).User("x").Fail("usage limit").Bytes(), reading{})
	if got := r.Turns[0].Error; got != "usage limit" {
		t.Errorf("error %q", got)
	}
}

// A late line of an old turn goes to that turn and changes nothing of it.
func TestLateItem(t *testing.T) {
	ro := start(rollouttest.Paginated).User("first")
	r := parse(t, ro.Bytes(), reading{})
	id := r.Turns[0].ID
	ro.Abort().User("second").Assistant("done").End()
	ro.Raw(`{"timestamp":"2026-09-01T09:10:00.000Z","ordinal":99,"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"late","internal_chat_message_metadata_passthrough":{"turn_id":"` + id + `"}}}`)
	r = parse(t, ro.Bytes(), reading{})
	if it := r.Items[len(r.Items)-1]; it.Turn != 1 || it.Text != "late" {
		t.Errorf("late item %+v", it)
	}
	if got := r.states(); !slices.Equal(got, []string{"interrupted", "answered"}) {
		t.Error(got)
	}
}

func TestRollback(t *testing.T) {
	ro := start(rollouttest.Marked).User("u1").Assistant("a1").User("u2").Assistant("a2").Compact("sum").User("u3").Assistant("a3").
		Rollback(2).User("u4").Assistant("a4").End()
	for _, chunk := range []int{0, 1} {
		r := parse(t, ro.Bytes(), reading{chunk: chunk})
		wantMessages(t, r, "user: u1", "assistant: a1", "user: u4", "assistant: a4")
		if len(r.Dead) != 1 || r.Dead[0].Range != (transcript.Range{From: 3, To: 7}) || r.Dead[0].Offset == 0 {
			t.Errorf("dead %+v", r.Dead)
		}
		if r.Items[7].Seq != 8 || r.Items[7].Turn != 2 || r.state.Facts.Turns != 2 || r.state.Facts.Rollbacks != 1 {
			t.Errorf("after it %+v, %d turns", r.Items[7], r.state.Facts.Turns)
		}
	}
	r := parse(t, ro.Rollback(7).User("new start").Bytes(), reading{})
	wantMessages(t, r, "user: new start")
	if f := r.state.Facts; f.Turns != 1 || f.FirstUser != "new start" {
		t.Errorf("%d turns, first %q", f.Turns, f.FirstUser)
	}
}

// A summary that was stored as an answer first is taken back, an answer that
// merely ends like the summary isn't.
func TestCompactionOutput(t *testing.T) {
	intro := "Another language model started to solve this problem and produced a summary. Use it:\n"
	for _, c := range []struct {
		name, answer, summary string
		dead                  bool
	}{
		{"bare summary", "SUM\nlines", "SUM\nlines", true},
		{"behind the intro", "SUM\nlines", intro + "SUM\nlines", true},
		{"only its end", "lines", intro + "SUM\nlines", false},
		{"another text", "Done.", intro + "SUM", false},
		{"encrypted", "Done.", "", false},
	} {
		for _, chunk := range []int{0, 1} {
			r := parse(t, start(rollouttest.Marked).User("u").Assistant(c.answer).Tokens(1, 0, 1, 0).Compact(c.summary, "u").Bytes(), reading{chunk: chunk})
			if got := r.isDead(2); got != c.dead {
				t.Errorf("%s: dead %t", c.name, got)
			}
			last := r.Items[len(r.Items)-1]
			if last.Role != transcript.RoleCompaction || last.Text != c.summary || len(r.Items) != 3 {
				t.Errorf("%s: %+v", c.name, r.Items)
			}
		}
	}
	r := parse(t, start(rollouttest.Paginated).User("u").Raw(
		`{"timestamp":"2026-09-01T09:10:00.000Z","ordinal":9,"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"SUM"}]},"metadata":{"compaction_output":true}}`).
		Bytes(), reading{})
	wantMessages(t, r, "user: u")
}

// The history that a compaction repeats may be huge: its line is read up to
// the head only.
func TestLongCompaction(t *testing.T) {
	history := strings.Repeat("again and again ", 20000)
	b := start(rollouttest.Paginated).User("u").Compact("SUM \"quoted\" 你好", history).User("v").Bytes()
	r := parse(t, b, reading{})
	comp := r.live(transcript.RoleCompaction)
	if len(comp) != 1 || comp[0].Text != "SUM \"quoted\" 你好" || comp[0].Size < 300000 {
		t.Errorf("%+v", comp)
	}
	b = start(rollouttest.Paginated).Compact(strings.Repeat("long\n\"你\" ", 20000)).Bytes()
	text := parse(t, b, reading{}).Items[0].Text
	if len(text) < 40000 || !strings.HasPrefix(strings.Repeat("long\n\"你\" ", 20000), text) {
		t.Errorf("%d bytes, ends with %q", len(text), text[max(0, len(text)-20):])
	}
}

func TestForkByCopy(t *testing.T) {
	for _, era := range []rollouttest.Era{rollouttest.Legacy, rollouttest.Marked} {
		parent := start(era).User("u1").Assistant("a1").Tokens(1000, 0, 100, 0).User("u2 dropped").Assistant("a2 dropped").Rollback(1).
			User("u2").Call("shell", "{}", "out").Assistant("a2").Tokens(2000, 900, 200, 0).End()
		before := parse(t, parent.Bytes(), reading{})
		// The request repeats words of the parent.
		fork := parent.Fork(rollouttest.Options{}).Wait(5*time.Second).User("u1").Assistant("own").Tokens(3000, 0, 300, 0).End()
		for _, known := range []bool{true, false} {
			for _, chunk := range []int{0, 1, 5} {
				asked := 0
				r := parse(t, fork.Bytes(), reading{chunk: chunk, parent: func(id string) (rollout.Lineage, bool) {
					asked++
					if id != parent.ThreadID() {
						t.Errorf("asked for %s", id)
					}
					return before.lineage(), known
				}})
				name := fmt.Sprintf("%s known=%t chunk=%d", era, known, chunk)
				wantMessages(t, r, "user: u1", "assistant: a1", "user: u2", "assistant: a2", "user: u1", "assistant: own")
				for i, it := range r.Items {
					if it.Inherited != (i < len(r.Items)-2) {
						t.Errorf("%s: item %d inherited %t", name, it.Seq, it.Inherited)
					}
				}
				f := r.state.Facts
				if f.ThreadID != fork.ThreadID() || f.CopyOf != parent.ThreadID() || f.ForkedFrom != parent.ThreadID() || f.FirstUser != "u1" {
					t.Errorf("%s: facts %+v", name, f)
				}
				if f.Usage.Total != 3300 || f.BaseUsage.Total != 3300 || f.ModelCalls != 1 {
					t.Errorf("%s: usage %+v base %+v", name, f.Usage, f.BaseUsage)
				}
				if want := parent.ThreadID(); known == (r.awaits == want) {
					t.Errorf("%s: awaits %q", name, r.awaits)
				}
				if chunk == 0 && asked != 1 {
					t.Errorf("%s: asked %d times", name, asked)
				}
			}
		}
	}
}

// A fork's own first request may come at once: the parent's items tell.
func TestForkWithoutPause(t *testing.T) {
	parent := start(rollouttest.Legacy).User("u1").Assistant("a1")
	before := parse(t, parent.Bytes(), reading{})
	fork := parent.Fork(rollouttest.Options{}).User("mine").Assistant("own")
	r := parse(t, fork.Bytes(), reading{parent: func(string) (rollout.Lineage, bool) { return before.lineage(), true }})
	if r.Items[2].Inherited || r.Items[3].Inherited || !r.Items[1].Inherited {
		t.Error(r.dump())
	}
}

func TestSubagentStart(t *testing.T) {
	b := []byte(`{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"id":"c","timestamp":"2026-09-01T09:00:00.000Z","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","agent_nickname":"Noether"}}},"history_mode":"paginated","subagent_history_start_ordinal":3}}
{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"background"}]}}
{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":2,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1000},"last_token_usage":{"total_tokens":1000}}}}
{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":3,"type":"response_item","payload":{"type":"agent_message","author":"/root","content":[{"type":"input_text","text":"your task"},{"type":"encrypted_content","encrypted_content":"gAAA"}]}}
{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":4,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":820},"last_token_usage":{"total_tokens":820}}}}
`)
	r := parse(t, b, reading{})
	if len(r.Items) != 2 || !r.Items[0].Inherited || r.Items[1].Inherited || r.Items[1].Role != transcript.RoleAgent || r.Items[1].Text != "your task" {
		t.Error(r.dump())
	}
	f := r.state.Facts
	if !f.Subagent || f.Parent != "p" || f.Nickname != "Noether" || f.Source != "subagent:thread_spawn" || f.Usage.Total != 820 || f.BaseUsage.Total != 1000 || f.Turns != 2 {
		t.Errorf("%+v", f)
	}
}

func TestHistoryBase(t *testing.T) {
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{BaseRollout: "base", BaseOrdinal: 14, BaseOffset: 41742}).User("own").Bytes()
	b = append(b, `{"timestamp":"2026-09-01T09:00:09.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5000,"total_tokens":5100},"last_token_usage":{"input_tokens":1000,"total_tokens":1040}}}}
`...)
	r := parse(t, b, reading{})
	f := r.state.Facts
	if f.Base == nil || *f.Base != (transcript.Base{RolloutID: "base", Ordinal: 14, Offset: 41742}) || !f.Paginated {
		t.Errorf("base %+v", f.Base)
	}
	if f.Usage.Total != 1040 || f.BaseUsage.Total != 4060 || r.Items[0].Inherited || r.Items[0].Ordinal < 14 {
		t.Errorf("usage %+v base %+v item %+v", f.Usage, f.BaseUsage, r.Items[0])
	}
}

// A converted rollout has the mark of a turn behind its request, with an id
// made up of a line number.
func TestConvertedRollout(t *testing.T) {
	user := func(s string) string {
		return item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"` + s + `"}]}`)
	}
	reply := func(s string) string {
		return item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + s + `"}]}`)
	}
	mark := func(kind, id string) string { return event(`{"type":"` + kind + `","turn_id":"` + id + `"}`) }
	b := user("keep") + mark("task_started", "rollout-5") + reply("kept") + user("after") + mark("task_complete", "rollout-5") +
		mark("task_started", "rollout-14") + reply("one remains") + mark("task_complete", "rollout-14")
	for _, chunk := range []int{0, 1} {
		r := parse(t, []byte(b), reading{chunk: chunk})
		if got := r.states(); !slices.Equal(got, []string{"answered", "answered"}) {
			t.Error(got)
		}
		for i, want := range []int{1, 1, 2, 2} {
			if got := r.Items[i].Turn; got != want {
				t.Errorf("%q is in turn %d", r.Items[i].Text, got)
			}
		}
	}
}

// A parent that appears while its copies are being read comes too late for
// those that went by: the rollout has to be read again.
func TestParentAppearsLate(t *testing.T) {
	parent := start(rollouttest.Marked).User("u1").Assistant("a1").User("u2").Assistant("a2").End()
	before := parse(t, parent.Bytes(), reading{})
	fork := parent.Fork(rollouttest.Options{}).Wait(time.Minute).User("own")
	asked := 0
	r := parse(t, fork.Bytes(), reading{chunk: 1, parent: func(string) (rollout.Lineage, bool) {
		asked++
		return before.lineage(), asked > 1
	}})
	if r.awaits != parent.ThreadID() || asked != 1 {
		t.Errorf("awaits %q, asked %d times", r.awaits, asked)
	}
	if n := len(r.Items); !r.Items[n-2].Inherited || r.Items[n-1].Inherited {
		t.Error(r.dump())
	}
}

// A request that is taken back doesn't name the thread.
func TestFirstUserAfterRollback(t *testing.T) {
	parent := start(rollouttest.Legacy).User("u1").Assistant("a1")
	fork := parent.Fork(rollouttest.Options{}).Wait(time.Minute).User("mistake").Rollback(1).User("own")
	if got := parse(t, fork.Bytes(), reading{chunk: 1}).state.Facts.FirstUser; got != "own" {
		t.Errorf("first %q", got)
	}
}
