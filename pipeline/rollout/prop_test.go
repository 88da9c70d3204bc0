package rollout_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// drawRollout makes a rollout of random deeds, with the live messages it must
// give. Only eras before Paginated have rollbacks.
func drawRollout(t *rapid.T) (*rollouttest.Rollout, []string) {
	era := rollouttest.Era(rapid.IntRange(1, 4).Draw(t, "era"))
	ro := rollouttest.New(era, rollouttest.Options{})
	var live []string
	var requests []int
	text := rapid.StringMatching(`[a-z"\\<>é世🙂 \n]{1,30}`)
	for range rapid.IntRange(1, 30).Draw(t, "deeds") {
		s := "x" + text.Draw(t, "text")
		switch deed := rapid.IntRange(0, 9).Draw(t, "deed"); {
		case deed <= 2:
			ro.User(s)
			requests = append(requests, len(live))
			live = append(live, "user: "+s)
		case deed <= 4:
			ro.Assistant(s)
			live = append(live, "assistant: "+s)
		case deed == 5:
			ro.Call("shell", s, s)
		case deed == 6:
			ro.Tokens(rapid.Int64Range(1, 1e6).Draw(t, "in"), 0, 10, 0)
		case deed == 7:
			ro.Inject("environment_context", s).Reasoning(s)
		case deed == 8:
			ro.Raw(rapid.SampledFrom([]string{"{", "", "[]", "null", "\x00\x00", `{"timestamp":"x"`}).Draw(t, "junk"))
		case era == rollouttest.Legacy || era == rollouttest.Marked:
			n := rapid.IntRange(1, 3).Draw(t, "rollback")
			ro.Rollback(n)
			if keep := max(0, len(requests)-n); keep < len(requests) {
				cut := requests[keep]
				if len(requests) < n {
					cut = 0
				}
				live, requests = live[:cut], requests[:keep]
			} else {
				live = nil
			}
		}
	}
	return ro, live
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ro, live := drawRollout(rt)
		b := ro.Bytes()
		one := parse(t, b, reading{})
		if got := one.messages(); !slices.Equal(got, live) {
			rt.Fatalf("got %q\nwant %q\nof %s", got, live, b)
		}
		many := parse(t, b, reading{chunk: rapid.IntRange(1, 10).Draw(rt, "chunk")})
		if !reflect.DeepEqual(many.Items, one.Items) || !reflect.DeepEqual(many.Dead, one.Dead) {
			rt.Fatal("chunks differ from one pass")
		}
		if !reflect.DeepEqual(roundTrip(t, many.state), roundTrip(t, one.state)) {
			rt.Fatal("states differ")
		}
		if full := parse(t, b, reading{whole: true}); full.dump() != one.dump() {
			rt.Fatal("full delivery differs")
		}
		for i, it := range one.Items {
			if it.Seq != int64(i+1) {
				rt.Fatalf("item %d has number %d", i, it.Seq)
			}
		}
	})
}

// FuzzLine: no line makes the parser panic, and nothing depends on how lines
// are cut into deltas.
func FuzzLine(f *testing.F) {
	for _, name := range fixtures(f) {
		b := load(f, name)
		f.Add(b[:min(len(b), 6000)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append(bytes.Clone(b), '\n')
		one, many := parse(t, b, reading{}), parse(t, b, reading{chunk: 1})
		if !reflect.DeepEqual(one.Items, many.Items) || one.dump() != many.dump() {
			t.Errorf("got:\n%s\nwant:\n%s", many.dump(), one.dump())
		}
		for _, it := range one.Items {
			if it.Offset < 0 || it.Offset+it.Size > int64(len(b)) {
				t.Errorf("item %d at %d, %d bytes of %d", it.Seq, it.Offset, it.Size, len(b))
			}
		}
		if j, err := json.Marshal(one.state); err != nil || len(j) > 64<<10+6*len(b) {
			t.Errorf("state of %d bytes: %v", len(j), err)
		}
		var d transcript.Delta
		_, _ = rollout.Document(b, rollout.State{}, &d)
		rollout.ParseIndexLine(b)
	})
}
