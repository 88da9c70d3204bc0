package handoff

import (
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func thread(context int64, quotas ...transcript.Quota) transcript.Thread {
	return transcript.Thread{ID: "t", Turns: 1, Updated: noon, Window: 1000, ContextTokens: context, Quotas: quotas}
}

func quota(percent float64, resets time.Time) transcript.Quota {
	return transcript.Quota{Percent: percent, Minutes: 300, Resets: resets, Seen: noon}
}

func TestWhatIsDue(t *testing.T) {
	with := func(change func(*transcript.Thread)) transcript.Thread {
		th := thread(900, quota(90, noon.Add(time.Hour)))
		change(&th)
		return th
	}
	hour := noon.Add(time.Hour)
	for _, c := range []struct {
		name  string
		th    transcript.Thread
		after time.Duration // noon
		want  []Due
	}{
		{"below", thread(799, quota(79.9, hour)), 0, nil},
		{"context", thread(800), 0, []Due{{Context, 80, time.Time{}}}},
		{"above the window", thread(1200), 0, []Due{{Context, 120, time.Time{}}}},
		{"quota", thread(1, quota(80, hour)), 0, []Due{{Quota, 80, hour}}},
		{"both", thread(999, quota(100, hour)), 0, []Due{{Context, 99, time.Time{}}, {Quota, 100, hour}}},
		{"the fuller limit", thread(1, quota(81, hour), quota(95, noon.Add(99*time.Hour))), 0, []Due{{Quota, 95, noon.Add(99 * time.Hour)}}},
		{"the fuller limit was reset", thread(1, quota(95, hour), quota(81, noon.Add(99*time.Hour))), time.Hour, []Due{{Quota, 81, noon.Add(99 * time.Hour)}}},
		{"reset", thread(1, quota(95, hour)), time.Hour, nil},
		{"before the reset", thread(1, quota(95, hour)), time.Hour - 1, []Due{{Quota, 95, hour}}},
		{"a reset by the length of the window", thread(1, quota(95, time.Time{})), 5 * time.Hour, nil},
		{"not yet", thread(1, quota(95, time.Time{})), 4 * time.Hour, []Due{{Quota, 95, time.Time{}}}},
		{"a length that overflows", thread(1, transcript.Quota{Percent: 95, Minutes: 1 << 62, Seen: noon}), time.Hour, []Due{{Quota, 95, time.Time{}}}},
		{"29 of 100", thread(1, quota(100*0.29+60, hour)), 0, []Due{{Quota, 89, hour}}},
		{"unknown window", with(func(t *transcript.Thread) { t.Window, t.Quotas = 0, nil }), 0, nil},
		{"unknown context", with(func(t *transcript.Thread) { t.ContextTokens, t.Quotas = 0, nil }), 0, nil},
		{"compacts before", with(func(t *transcript.Thread) { t.ContextTokens, t.AutoCompact, t.Quotas = 400, 500, nil }), 0, []Due{{Context, 80, time.Time{}}}},
		{"would compact after the end", with(func(t *transcript.Thread) { t.AutoCompact, t.Quotas = 9000, nil }), 0, []Due{{Context, 90, time.Time{}}}},
		{"only the limit is known", with(func(t *transcript.Thread) { t.Window, t.AutoCompact, t.Quotas = 0, 1000, nil }), 0, []Due{{Context, 90, time.Time{}}}},
		{"sub-agent", with(func(t *transcript.Thread) { t.Subagent = true }), 0, nil},
		{"archived", with(func(t *transcript.Thread) { t.Archived = true }), 0, nil},
		{"deleted", with(func(t *transcript.Thread) { t.Gone = true }), 0, nil},
		{"a fork that says nothing", with(func(t *transcript.Thread) { t.Untouched = true }), 0, nil},
		{"no request yet", with(func(t *transcript.Thread) { t.Turns = 0 }), 0, nil},
		{"a day later", with(func(t *transcript.Thread) { t.Quotas = nil }), 24 * time.Hour, []Due{{Context, 90, time.Time{}}}},
		{"more than a day later", with(func(t *transcript.Thread) { t.Quotas = nil }), 24*time.Hour + 1, nil},
	} {
		due, _ := dueOf(&c.th, nil, noon.Add(c.after), 0)
		if len(due) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, due, c.want)
			continue
		}
		for i := range due {
			if due[i] != c.want[i] {
				t.Errorf("%s: %+v, want %+v", c.name, due[i], c.want[i])
			}
		}
	}
	th := thread(500)
	if due, _ := dueOf(&th, nil, noon, 0.5); len(due) != 1 {
		t.Error("the threshold is not followed")
	}
}

// It is said once, until less is in use or the quota is reset.
func TestItIsSaidOnce(t *testing.T) {
	type look struct {
		th    transcript.Thread
		at    time.Duration // after noon
		due   int
		fresh bool // something is said
	}
	reset, week := noon.Add(time.Hour), noon.Add(100*time.Hour)
	later := func(th transcript.Thread, by time.Duration) transcript.Thread {
		th.Updated = noon.Add(by)
		return th
	}
	for _, c := range []struct {
		name  string
		looks []look
	}{
		{"context", []look{{thread(799), 0, 0, false}, {thread(800), 0, 1, true}, {thread(900), 0, 1, false}, {thread(700), 0, 1, false}, {thread(699), 0, 0, false}, {thread(799), 0, 0, false}, {thread(801), 0, 1, true}}},
		{"unknown in between", []look{{thread(800), 0, 1, true}, {thread(0), 0, 0, false}, {thread(810), 0, 1, false}}},
		{"days later", []look{{thread(800), 0, 1, true}, {thread(800), 30 * time.Hour, 0, false}, {later(thread(800), 40*time.Hour), 40 * time.Hour, 1, false}}},
		{"quota", []look{{thread(1, quota(85, reset)), 0, 1, true}, {thread(1, quota(95, reset.Add(3*time.Second))), 0, 1, false}, {thread(1, quota(75, reset)), 0, 1, false}, {thread(1, quota(69, reset)), 0, 0, false}, {thread(1, quota(85, reset)), 0, 1, true}}},
		{"quota reset", []look{{thread(1, quota(85, reset)), 0, 1, true}, {thread(1, quota(85, reset)), time.Hour, 0, false}, {thread(1, quota(85, reset.Add(5*time.Hour))), 2 * time.Hour, 1, true}}},
		{"a reset that is told otherwise", []look{{thread(1, quota(85, reset)), 0, 1, true}, {thread(1, quota(86, reset.Add(time.Minute))), time.Hour, 1, false}, {thread(1, quota(86, reset.Add(time.Minute))), time.Hour + time.Minute, 0, false}}},
		{"one limit, then the other", []look{{thread(1, quota(85, reset), quota(82, week)), 0, 1, true}, {thread(1, quota(85, reset), quota(90, week)), 0, 1, false}, {thread(1, quota(95, reset), quota(90, week)), 0, 1, false}, {thread(1, quota(95, reset), quota(90, week)), time.Hour, 1, true}}},
		{"both", []look{{thread(800), 0, 1, true}, {thread(800, quota(80, reset)), 0, 2, true}, {thread(801, quota(81, reset)), 0, 2, false}, {thread(100, quota(81, reset)), 0, 1, false}}},
	} {
		var said []Mark
		for i, l := range c.looks {
			now := noon.Add(l.at)
			due, after := dueOf(&l.th, said, now, 0)
			fresh := false
			for _, m := range after {
				was := markOf(said, m.Why)
				fresh = fresh || was == nil || *was != m
			}
			if len(due) != l.due || fresh != l.fresh {
				t.Errorf("%s, look %d: %+v, said anew: %v", c.name, i, due, fresh)
			}
			said = after
		}
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"gpt-4o": "gpt-4o", "codex/gpt-5.5": "codex/gpt-5.5", "x@400k": "x@400k", "my model": "'my model'", "": "''",
		"$(reboot)": "'$(reboot)'", "it's": `'it'\''s'`, "-x": "'-x'",
	} {
		if got := word(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestNameIsOneLine(t *testing.T) {
	h := Handoff{Title: "  Fix\n the \x1b[31mbuild\u202e \u200b now\x00 "}
	if got := h.Name(80); got != "Fix the [31mbuild now" {
		t.Errorf("%q", got)
	}
	if got := h.Name(5); got != "Fix …" {
		t.Errorf("%q", got)
	}
}
