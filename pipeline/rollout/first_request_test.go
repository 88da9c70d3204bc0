package rollout_test

import (
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestFirstRequest(t *testing.T) {
	begin := func(era rollouttest.Era) *rollouttest.Rollout { return rollouttest.New(era, rollouttest.Options{}) }
	p := rollouttest.Paginated
	took := func(input, through int64) transcript.FirstRequest {
		return transcript.FirstRequest{Model: "gpt-5.5", Input: input, Through: through}
	}
	none := transcript.FirstRequest{}
	for _, c := range []struct {
		name string
		r    *rollouttest.Rollout
		want transcript.FirstRequest
	}{
		{"after the answer", begin(p).User("go").Assistant("ok").Tokens(7_000, 5_000, 20, 5).End(), took(7_000, 1)},
		{"before the answer", begin(rollouttest.Legacy).User("go").Tokens(7_000, 0, 20, 0).Assistant("ok"), took(7_000, 1)},
		{"after a tool's output", begin(p).User("go").Call("shell", `{"cmd":"ls"}`, "a b").Tokens(7_000, 0, 20, 0), took(7_000, 1)},
		{"a second one", begin(p).User("go").Assistant("ok").Tokens(7_000, 0, 20, 0).User("on").Assistant("ok").Tokens(9_000, 7_000, 20, 0), took(7_000, 1)},
		{"told again", begin(p).User("go").Assistant("ok").Tokens(7_000, 0, 20, 0).Again().Again(), took(7_000, 1)},
		{"interrupted before", begin(p).User("go").Abort().User("no, this").Assistant("ok").Tokens(7_100, 0, 20, 0), took(7_100, 2)},
		{"compacted later", begin(p).User("go").Assistant("ok").Tokens(7_000, 0, 20, 0).Compact("sum").User("on").Tokens(5_000, 0, 1, 0), took(7_000, 1)},
		{"taken back later", begin(p).User("go").Assistant("ok").Tokens(7_000, 0, 20, 0).Rollback(1).User("on").Assistant("ok").Tokens(7_001, 0, 20, 0), took(7_000, 1)},
		{"compacted before", begin(p).User("go").Compact("sum").User("on").Assistant("ok").Tokens(7_000, 0, 20, 0), none},
		{"taken back before", begin(p).User("go").Rollback(1).User("on").Assistant("ok").Tokens(7_000, 0, 20, 0), none},
		{"a picture", begin(p).Image("what is it?").Assistant("ok").Tokens(7_000, 0, 20, 0), none},
		{"steered after a tool", begin(p).User("go").Call("shell", "{}", "a").Steer("no").Assistant("ok").Tokens(7_000, 0, 20, 0), none},
		{"a search of the vendor's", begin(p).User("go").Raw(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}}`).Assistant("ok").Tokens(7_000, 0, 20, 0), none},
		{"nobody asked", begin(p).Assistant("ok").Tokens(7_000, 0, 20, 0), none},
		{"history elsewhere", rollouttest.New(p, rollouttest.Options{BaseRollout: "019a0000-0000-7000-8000-000000000001", BaseOrdinal: 9, BaseOffset: 99}).User("go").Tokens(7_000, 0, 20, 0), none},
	} {
		for _, chunk := range []int{0, 1} {
			if got := parse(t, c.r.Bytes(), reading{chunk: chunk}).state.Facts.First; got != c.want {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	}
	// A counter that goes on from requests which are in another file.
	text := string(begin(p).User("go").Bytes()) + total(9_000, 2_000)
	if got := parse(t, []byte(text), reading{}).state.Facts.First; got != none {
		t.Errorf("a counter that goes on: %+v", got)
	}
}
