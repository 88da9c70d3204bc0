package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func said(role, text string) string {
	return fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"x_text","text":%q}]}}`, role, text)
}

func TestSalvage(t *testing.T) {
	user, reply := said("user", "hello"), said("assistant", "hi")
	event := `{"timestamp":"2026-09-01T09:00:00.000Z","type":"event_msg","payload":{"type":"agent_message","message":"` + strings.Repeat("words ", 20) + `"}}`
	nuls := strings.Repeat("\x00", 40)
	for _, c := range []struct {
		name, line string
		want       []string
		cause      string
		lost       int
		salvaged   int
	}{
		{"whole", user, []string{"user: hello"}, "", 0, 0},
		{"glued to a torn one", reply[:60] + user, []string{"user: hello"}, "torn", 60, 1},
		{"glued to a torn event", event[:100] + user, []string{"user: hello"}, "torn", 100, 1},
		{"glued to a torn kind", event[:60] + user, []string{"user: hello"}, "torn", 60, 1},
		{"torn twice", reply[:60] + reply[:90] + user, []string{"user: hello"}, "torn", 150, 1},
		{"newline lost", user + reply, []string{"user: hello", "assistant: hi"}, "torn", 0, 2},
		{"newline lost behind an event", event + reply, []string{"assistant: hi"}, "torn", 0, 2},
		{"torn between whole ones", user + reply[:70] + reply, []string{"user: hello", "assistant: hi"}, "torn", 70, 2},
		{"torn at the end", user + reply[:70], []string{"user: hello"}, "torn", 70, 1},
		{"torn alone", reply[:80], nil, "torn", 80, 0},
		{"NULs alone", nuls, nil, "nul", 40, 0},
		{"NULs in front", nuls + user, []string{"user: hello"}, "nul", 40, 1},
		{"NULs between", user + nuls + reply, []string{"user: hello", "assistant: hi"}, "nul", 40, 2},
		{"NULs in a torn one", reply[:50] + nuls + user, []string{"user: hello"}, "nul", 90, 1},
		{"NULs in an event", event[:100] + nuls + event[100:], nil, "nul", len(event) + 40, 0},
		{"prose", "segmentation fault", nil, "not-json", 18, 0},
		{"an array", "[1,2]", nil, "not-an-object", 5, 0},
		{"a number", "5", nil, "not-an-object", 1, 0},
		{"no payload", `{"timestamp":"2026-09-01T09:00:00.000Z","type":"event_msg"}`, nil, "no-payload", 59, 0},
		{"payload of another kind", `{"timestamp":"x","type":"response_item","payload":[]}`, nil, "no-payload", 53, 0},
		{"carriage return", user + "\r", []string{"user: hello"}, "", 0, 0},
		{"spaces", "  " + user + " \t", []string{"user: hello"}, "", 0, 0},
		{"empty", "", nil, "", 0, 0},
		{"blank", " \r", nil, "", 0, 0},
		{"other order of keys", `{"payload":{"role":"user","content":"hello","type":"message"},"type":"response_item"}`, []string{"user: hello"}, "", 0, 0},
		{"spaced out", `{ "timestamp" : "2026-09-01T09:00:00.000Z" , "type" : "response_item" , "payload" : { "type" : "message" , "role" : "user" , "content" : [ { "type" : "input_text" , "text" : "hello" } ] } }`, []string{"user: hello"}, "", 0, 0},
		{"escaped keys", `{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"message","r\u006fle":"user","content":"hello"}}`, []string{"user: hello"}, "", 0, 0},
		{"last of two payloads", `{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"message"},"payload":{"type":"message","role":"user","content":"hello"}}`, []string{"user: hello"}, "", 0, 0},
		{"missing value", `{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"message","role":}}`, nil, "torn", 100, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, full := range []bool{false, true} {
				r := parse(t, []byte(c.line+"\n"), reading{whole: full})
				wantMessages(t, r, c.want...)
				if c.cause == "" {
					if len(r.Damage) > 0 {
						t.Errorf("damage %+v", r.Damage)
					}
					continue
				}
				if len(r.Damage) != 1 {
					t.Fatalf("damage %+v", r.Damage)
				}
				if x := r.Damage[0]; x.Cause != c.cause || x.Size != int64(c.lost) || x.Salvaged != c.salvaged || x.Line != 1 {
					t.Errorf("damage %+v", x)
				}
			}
		})
	}
}

// A salvaged record stands where it really begins.
func TestSalvagedOffset(t *testing.T) {
	b := []byte(said("assistant", "lost")[:70] + said("user", "hello") + "\n")
	it := parse(t, b, reading{}).Items[0]
	if got := string(b[it.Offset : it.Offset+it.Size]); got != said("user", "hello") {
		t.Errorf("item at %d, %d bytes: %q", it.Offset, it.Size, got)
	}
}

// What is inside a salvaged record isn't taken for one more.
func TestSalvageOnce(t *testing.T) {
	inner := strings.TrimSuffix(said("user", "quoted"), "}") + "}"
	outer := strings.TrimSuffix(said("user", "hello"), "}") + `,"metadata":{"copy":` + inner + `}}`
	r := parse(t, []byte(said("assistant", "lost")[:70]+outer+"\n"), reading{})
	wantMessages(t, r, "user: hello")
}

// The oldest era has no times to find records by.
func TestSalvageBare(t *testing.T) {
	b := start(rollouttest.Bare).User("one").Assistant("torn").Torn(20).User("two").Bytes()
	r := parse(t, b, reading{})
	wantMessages(t, r, "user: one", "user: two")
	if len(r.Damage) != 1 || r.Damage[0].Salvaged != 1 {
		t.Errorf("%+v", r.Damage)
	}
}

// A line made of nothing but beginnings doesn't take quadratic time.
func TestManyStarts(t *testing.T) {
	b := []byte(strings.Repeat(`{"timestamp":"x","a":`, 100000) + "\n")
	r := parse(t, b, reading{whole: true})
	if len(r.Damage) != 1 {
		t.Errorf("%+v", r.Damage)
	}
}

func TestTooLong(t *testing.T) {
	head := []byte(said("user", strings.Repeat("x", 1000))[:512])
	p := rollout.NewParser(rollout.State{}, rollout.Options{})
	var d transcript.Delta
	p.Line(rollout.Line{Bytes: head, Number: 7, Offset: 100, Size: 92 << 20, Need: rollout.NeedAll, TooLong: true}, &d)
	want := transcript.Damage{Line: 7, Offset: 100, Size: 92 << 20, Cause: "too-long", Detail: "response_item/message"}
	if len(d.Damage) != 1 || d.Damage[0] != want || len(d.Items) != 0 {
		t.Errorf("%+v", d)
	}
	if p.State().Facts.Updated.IsZero() {
		t.Error("its time is lost")
	}
}

// The tail of a line comes later: nothing is read twice, nothing is lost.
func TestTornThenCompleted(t *testing.T) {
	b := load(t, "cases/torn-1.jsonl")
	one := parse(t, b, reading{})
	wantMessages(t, one, "user: watch me", "assistant: first")
	if one.cursor == int64(len(b)) || b[one.cursor-1] != '\n' || len(one.Damage) > 0 {
		t.Errorf("cursor %d of %d, damage %+v", one.cursor, len(b), one.Damage)
	}
	two := parse(t, append(b, load(t, "cases/torn-2.bin")...), reading{chunk: 1})
	wantMessages(t, two, "user: watch me", "assistant: first", "assistant: second answer, arrives in two writes", "user: bye")
}

func TestClassify(t *testing.T) {
	line := func(kind, sub, rest string) string {
		s := `{"timestamp":"2026-09-01T09:00:00.000Z","type":"` + kind + `","payload":{`
		if sub != "" {
			s += `"type":"` + sub + `"`
		}
		return s + rest + `}}`
	}
	for _, c := range []struct {
		name, head string
		want       rollout.Need
	}{
		{"message", line("response_item", "message", `,"role":"user"`), rollout.NeedAll},
		{"developer message", line("response_item", "message", `,"role":"developer","content":[]`), rollout.NeedNone},
		{"developer message with id", line("response_item", "message", `,"id":"msg_1","role":"developer","content":[]`), rollout.NeedNone},
		{"compacted", line("compacted", "", `"message":"x"`), rollout.NeedHead},
		{"world state", line("world_state", "", `"full":true`), rollout.NeedNone},
		{"finished item", line("event_msg", "item_completed", ``), rollout.NeedNone},
		{"token count", line("event_msg", "token_count", ``), rollout.NeedAll},
		{"user event", line("event_msg", "user_message", `,"message":"x"`), rollout.NeedHead},
		{"session meta", line("session_meta", "", `"id":"x"`), rollout.NeedAll},
		{"with ordinal", strings.Replace(line("world_state", "", ""), `,"type"`, `,"ordinal":12,"type"`, 1), rollout.NeedNone},
		{"strange ordinal", strings.Replace(line("world_state", "", ""), `,"type"`, `,"ordinal":-1,"type"`, 1), rollout.NeedAll},
		{"hides a record", line("event_msg", "agent_reasoning", `,"text":"`+said("user", "x")), rollout.NeedAll},
		{"unknown kind, whole", line("hologram", "", ``), rollout.NeedAll},
		{"unknown event, long", line("event_msg", "hologram", `,"x":"`+strings.Repeat("x", 600)), rollout.NeedNone},
		{"bare item", `{"type":"message","id":null,"role":"user"}`, rollout.NeedAll},
		{"torn kind", `{"timestamp":"2026-09-01T09:00:00.000Z","type":"event_m`, rollout.NeedAll},
		{"other order", `{"type":"world_state","timestamp":"x"}`, rollout.NeedAll},
		{"not JSON", `hello`, rollout.NeedAll},
		{"empty", ``, rollout.NeedAll},
	} {
		head := c.head[:min(len(c.head), 512)]
		if got := rollout.Classify([]byte(head), len(head) == len(c.head)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// What is counted as unknown is the same whether or not the line was read.
func TestUnknownLong(t *testing.T) {
	long := strings.Repeat("x", 600)
	var b strings.Builder
	for range 3 {
		fmt.Fprintf(&b, `{"timestamp":"2026-09-01T09:00:00.000Z","ordinal":4,"type":"hologram","payload":{"x":%q}}`+"\n", long)
		fmt.Fprintf(&b, `{"timestamp":"2026-09-01T09:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","thread_id":"t","turn_id":"u","item":{"type":"Hologram","x":%q}}}`+"\n", long)
	}
	for _, full := range []bool{false, true} {
		r := parse(t, []byte(b.String()), reading{whole: full})
		want := []transcript.Unknown{{Kind: "line", Name: "hologram", Count: 3, Line: 1}, {Kind: "item_completed", Name: "Hologram", Count: 3, Line: 2}}
		if !slices.Equal(r.Unknown, want) || len(r.Damage) > 0 {
			t.Errorf("full %t: %+v %+v", full, r.Unknown, r.Damage)
		}
	}
}
