package rollout

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// FuzzSalvage: what comes out of a damaged line stands in it, whole, as
// encoding/json sees it; and its bytes and those named as lost are all there
// are.
func FuzzSalvage(f *testing.F) {
	reliability.Figure(f, 23, "salvage: the seeds and all inputs that were ever found wrong; make fuzz goes on from them")
	one := `{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":"hello"}}`
	two := `{"timestamp":"2026-09-01T09:00:01.000Z","ordinal":3,"type":"event_msg","payload":{"type":"user_message","message":"hi \ud83d"}}`
	bare := `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`
	for _, s := range []string{
		one[:60] + one, one + two, one[:70] + two + one[70:], strings.Repeat("\x00", 40) + one, one[:50] + "\x00" + two, bare[:20] + bare,
		strings.Repeat(`{"timestamp":"x","a":`, 50), one[:10] + `{"timestamp":"` + one, `{"timestamp":"x","payload":` + one + `}` + two, "\xff" + one + "\xff",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, bareEra bool) {
		b = bytes.TrimSpace(bytes.ReplaceAll(b, []byte("\n"), nil))
		if _, ok := whole(b); ok || len(b) == 0 || len(b) > 1<<16 {
			return
		}
		p := NewParser(State{}, Options{})
		p.m.Bare = bareEra
		var d transcript.Delta
		p.salvage(b, place{line: 1, offset: 100, size: int64(len(b)), ordinal: -1}, 0, &d)
		end, from := int64(100), int64(-1)
		for _, it := range d.Items {
			if it.Offset < end && it.Offset != from || it.Offset+it.Size > 100+int64(len(b)) {
				t.Fatalf("an item at %d, %d bytes, behind one that ends at %d", it.Offset, it.Size, end)
			}
			from, end = it.Offset, it.Offset+it.Size
			text := b[it.Offset-100 : it.Offset-100+it.Size]
			if !json.Valid(text) || text[0] != '{' {
				t.Fatalf("made up: %q", text)
			}
		}
		if len(d.Damage) != 1 {
			t.Fatalf("damage %+v", d.Damage)
		}
		if x := d.Damage[0]; x.Size < 0 || x.Size > int64(len(b)) || x.Salvaged == 0 && x.Size != int64(len(b)) {
			t.Fatalf("%d of %d bytes lost, %d records saved", x.Size, len(b), x.Salvaged)
		}
	})
}

// tree decodes a value with the scanner alone, the way encoding/json does.
func tree(t *testing.T, v raw) any {
	switch {
	case v.isObject():
		out := map[string]any{}
		w := v.members()
		for {
			k, m, ok := w.member()
			if !ok {
				break
			}
			out[string(k)] = tree(t, m)
		}
		if w.closed() != len(v) {
			t.Fatalf("walk of %q ended at %d", v, w.i)
		}
		return out
	case v.isArray():
		out := []any{}
		for w := v.elements(); ; {
			m, ok := w.element()
			if !ok {
				return out
			}
			out = append(out, tree(t, m))
		}
	case v.isString():
		return v.str()
	case string(v) == "true" || string(v) == "false":
		return string(v) == "true"
	case string(v) == "null":
		return nil
	}
	return json.Number(v)
}
