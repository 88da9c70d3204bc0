package rollout_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const documentHead = `{
  "session": {
    "timestamp": "2025-05-17T10:00:00.000Z",
    "id": "cc2367d4-17fa-4e83-94ae-e91c1a3f594b",
    "instructions": ""
  },
  "items": [`

var documentItems = []string{
	`{"role": "user", "content": [{"type": "input_text", "text": "look"}], "type": "message"}`,
	`{"id": "fc_1", "type": "function_call", "status": "completed", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1", "name": "shell"}`,
	`{"type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"a\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0}}"}`,
	`{"id": "msg_1", "type": "message", "status": "completed", "content": [{"type": "output_text", "annotations": [], "text": "done"}], "role": "assistant"}`,
	`{"role": "user", "content": [{"type": "input_text", "text": "more"}], "type": "message"}`,
}

func document(items ...string) []byte {
	return []byte(documentHead + "\n    " + strings.Join(items, ",\n    ") + "\n  ]\n}")
}

// The document is written anew after every item; each is read once.
func TestDocumentGrows(t *testing.T) {
	var st rollout.State
	var all []transcript.Item
	for n := 0; n <= len(documentItems); n++ {
		b := document(documentItems[:n]...)
		for _, cut := range []int{0, 1, len(b) / 2, len(b) - 1} {
			var d transcript.Delta
			back, err := rollout.Document(b[:cut], st, &d)
			if !errors.Is(err, rollout.ErrIncomplete) || len(d.Items) > 0 || !reflect.DeepEqual(back.Facts, st.Facts) {
				t.Fatalf("cut at %d: %v %+v", cut, err, d)
			}
		}
		for again := range 2 {
			var d transcript.Delta
			next, err := rollout.Document(b, st, &d)
			if err != nil {
				t.Fatal(err)
			}
			if want := min(n, 1) * (1 - again); len(d.Items) != want {
				t.Fatalf("%d items known, reading %d: %+v", n, again, d.Items)
			}
			for _, it := range d.Items {
				if got := string(b[it.Offset : it.Offset+it.Size]); got != documentItems[n-1] {
					t.Errorf("item %d stands at %q", it.Seq, got)
				}
			}
			all = append(all, d.Items...)
			st = roundTrip(t, next)
		}
	}
	r := read{Delta: transcript.Delta{Items: all}, state: st}
	wantMessages(t, &r, "user: look", "assistant: done", "user: more")
	if all[2].Text != "a\n" || !all[2].HasExit || all[4].Seq != 5 || all[4].Turn != 2 {
		t.Errorf("%+v", all)
	}
	f := st.Facts
	if f.ThreadID != "cc2367d4-17fa-4e83-94ae-e91c1a3f594b" || !f.Created.Equal(time.Date(2025, 5, 17, 10, 0, 0, 0, time.UTC)) || f.FirstUser != "look" || f.Turns != 2 {
		t.Errorf("%+v", f)
	}
}

func TestDocumentRewritten(t *testing.T) {
	var d transcript.Delta
	st, err := rollout.Document(document(documentItems[:3]...), rollout.State{}, &d)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"shorter":    document(documentItems[:2]...),
		"other item": document(documentItems[0], documentItems[1], documentItems[3]),
	} {
		d.Reset()
		if _, err := rollout.Document(b, st, &d); !errors.Is(err, rollout.ErrRewritten) || len(d.Items) > 0 {
			t.Errorf("%s: %v, %d items", name, err, len(d.Items))
		}
	}
	if _, err := rollout.Document([]byte(`{"a":1}`), rollout.State{}, &d); err == nil || errors.Is(err, rollout.ErrIncomplete) {
		t.Errorf("another document: %v", err)
	}
}

func TestParseIndexLine(t *testing.T) {
	n, ok := rollout.ParseIndexLine([]byte(`{"id":"01a2","thread_name":"My title 名","updated_at":"2026-11-29T15:24:20.314479111Z"}`))
	if !ok || n.ThreadID != "01a2" || n.Name != "My title 名" || n.Updated.Nanosecond() != 314479111 {
		t.Errorf("%+v %t", n, ok)
	}
	for _, s := range []string{"", "{", "[]", `{"thread_name":"x"}`, `{"id":5}`} {
		if n, ok := rollout.ParseIndexLine([]byte(s)); ok {
			t.Errorf("%q: %+v", s, n)
		}
	}
}
