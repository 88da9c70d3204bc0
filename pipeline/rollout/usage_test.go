package rollout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// total is a token_count line: totals so far and what the last response took.
func total(sum, last int64) string {
	u := func(n int64) string {
		return fmt.Sprintf(`{"input_tokens":%d,"output_tokens":10,"total_tokens":%d}`, n-10, n)
	}
	return event(`{"type":"token_count","info":{"total_token_usage":` + u(sum) + `,"last_token_usage":` + u(last) + `,"model_context_window":272000},"rate_limits":null}`)
}

func response(id string, n int64) string {
	return fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"token_usage_record","payload":{"thread_id":"t","response_id":%q,"usage":{"input_tokens":%d,"output_tokens":10,"total_tokens":%d}}}`+"\n", id, n-10, n)
}

func TestUsage(t *testing.T) {
	turn := event(`{"type":"task_started","turn_id":"x"}`)
	for _, c := range []struct {
		name, lines string
		total       int64
		calls       int
	}{
		{"rising", total(1290, 1290) + total(2730, 1440), 2730, 2},
		{"repeats", total(1290, 1290) + total(1290, 1290) + total(2730, 1440) + total(2730, 1440), 2730, 2},
		// 0.36 starts anew at each resume: the true sum is 24,800
		{"restarts", total(1290, 1290) + total(2730, 1440) + total(1650, 1650) + total(3500, 1850) + total(12560, 9060) + total(9510, 9510), 24800, 6},
		{"restart above the total before", total(1290, 1290) + total(5000, 5000), 6290, 2},
		{"estimate after a compaction", total(1000, 1000) + event(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":990,"output_tokens":10,"total_tokens":1000},"last_token_usage":{"input_tokens":0,"total_tokens":6940}}}`), 1000, 1},
		{"no info", event(`{"type":"token_count","info":null,"rate_limits":null}`), 0, 0},
		{"records", turn + response("a", 100) + total(100, 100) + response("b", 200) + total(300, 200), 300, 2},
		{"a record twice", turn + response("a", 100) + response("a", 100) + total(100, 100), 100, 1},
		{"a call that is in no total", turn + response("a", 100) + total(100, 100) + response("remote", 70) + total(100, 100), 170, 2},
		{"an older version goes on", turn + response("a", 100) + total(100, 100) + turn + total(350, 250), 350, 2},
		{"a newer version goes on", total(100, 100) + turn + response("b", 200) + total(300, 200), 300, 2},
	} {
		for _, chunk := range []int{0, 1} {
			r := parse(t, []byte(c.lines), reading{chunk: chunk})
			if f := r.state.Facts; f.Usage.Total != c.total || f.ModelCalls != c.calls || f.Usage.Input+f.Usage.Output != c.total {
				t.Errorf("%s: %+v in %d calls, want %d in %d", c.name, f.Usage, f.ModelCalls, c.total, c.calls)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	r := parse(t, load(t, "cases/tokens-subset-fields.jsonl"), reading{})
	if f := r.state.Facts; f.Window != 190000 || f.AutoCompact != 76000 || f.ContextNow != 26984 {
		t.Errorf("%+v", f)
	}
	f := parse(t, []byte(event(`{"type":"task_started","turn_id":"x","model_context_window":258400}`)), reading{}).state.Facts
	if f.Window != 258400 || f.ContextNow != 0 {
		t.Errorf("window %d, now %d", f.Window, f.ContextNow)
	}
}

// The limits of an account are told in three forms; nothing told takes nothing
// back, and a copy of the parent's lines tells nothing of now.
func TestQuotas(t *testing.T) {
	limits := func(v string) string { return event(`{"type":"token_count","info":null,"rate_limits":` + v + `}`) }
	seen := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	for _, c := range []struct {
		name, lines string
		want        []transcript.Quota
	}{
		{"none", limits(`null`) + limits(`{"primary":null,"secondary":null}`), nil},
		{"both", limits(`{"limit_id":"codex","primary":{"used_percent":12.5,"window_minutes":300,"resets_at":1788260400},"secondary":{"used_percent":40,"window_minutes":10080,"resets_at":1788700000},"plan_type":null}`),
			[]transcript.Quota{{Percent: 12.5, Minutes: 300, Resets: at(1788260400), Seen: seen}, {Percent: 40, Minutes: 10080, Resets: at(1788700000), Seen: seen}}},
		{"one", limits(`{"primary":{"used_percent":81.0},"secondary":null}`), []transcript.Quota{{Percent: 81, Minutes: 0, Resets: time.Time{}, Seen: seen}}},
		{"in seconds", limits(`{"primary":{"used_percent":7,"window_minutes":299,"resets_in_seconds":3600}}`), []transcript.Quota{{Percent: 7, Minutes: 299, Resets: seen.Add(time.Hour), Seen: seen}}},
		{"flat", limits(`{"primary_used_percent":15.5,"secondary_used_percent":51,"primary_window_minutes":300,"secondary_window_minutes":10080}`),
			[]transcript.Quota{{Percent: 15.5, Minutes: 300, Resets: time.Time{}, Seen: seen}, {Percent: 51, Minutes: 10080, Resets: time.Time{}, Seen: seen}}},
		{"nonsense", limits(`{"primary":{"used_percent":1e300,"window_minutes":-5,"resets_at":"soon","resets_in_seconds":9e15},"secondary":{"used_percent":null}}`), []transcript.Quota{{Percent: 100, Minutes: 0, Resets: time.Time{}, Seen: seen}}},
		{"the newest", limits(`{"primary":{"used_percent":90}}`) + limits(`{"primary":{"used_percent":3}}`) + limits(`{"primary":null}`), []transcript.Quota{{Percent: 3, Minutes: 0, Resets: time.Time{}, Seen: seen}}},
	} {
		for _, chunk := range []int{0, 1} {
			if got := parse(t, []byte(c.lines), reading{chunk: chunk}).state.Facts.Quotas; !slices.Equal(got, c.want) {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	}
	parent := rollouttest.New(rollouttest.Marked, rollouttest.Options{}).User("a").Quota(90, time.Time{}).End()
	if got := parse(t, parent.Bytes(), reading{}).state.Facts.Quotas; len(got) != 1 || got[0].Percent != 90 {
		t.Errorf("parent: %+v", got)
	}
	fork := parent.Fork(rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-0000000000f0"})
	if got := parse(t, fork.Bytes(), reading{}).state.Facts.Quotas; got != nil {
		t.Errorf("fork: %+v", got)
	}
}

// A window is told once for each model, with the model that has it.
func TestWindows(t *testing.T) {
	ro := rollouttest.New(rollouttest.Marked, rollouttest.Options{Model: "one", Window: 1000}).User("a").Tokens(1, 0, 1, 0).Tokens(1, 0, 1, 0)
	lines := string(ro.Bytes()) + event(`{"type":"task_started","turn_id":"x","model_context_window":2000}`) +
		`{"timestamp":"2026-09-01T09:00:00.000Z","type":"turn_context","payload":{"turn_id":"x","model":"two","effort":"high"}}` + "\n" +
		event(`{"type":"token_count","info":{"last_token_usage":{"total_tokens":5},"model_context_window":2000}}`)
	r := parse(t, []byte(lines), reading{chunk: 1})
	var got []transcript.Window
	for _, w := range r.Windows {
		w.Time = w.Time.UTC()
		got = append(got, transcript.Window{Model: w.Model, Tokens: w.Tokens})
	}
	if len(got) != 2 || got[0] != (transcript.Window{Model: "one", Tokens: 1000}) || got[1] != (transcript.Window{Model: "two", Tokens: 2000}) {
		t.Errorf("%+v", got)
	}
	if f := r.state.Facts; f.Model != "two" || f.Effort != "high" {
		t.Errorf("model %s %s", f.Model, f.Effort)
	}
}
