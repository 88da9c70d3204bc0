package pipeline_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// TestOnlyTextIsCounted: pictures and encrypted content count for the mark that
// stands in their place at most, however large they are.
func TestOnlyTextIsCounted(t *testing.T) {
	count := func(size int) int64 {
		blob := strings.Repeat("QUJD/x9+", size)
		r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).User("look at the picture").Image("what is on it?")
		id := r.CallOnly("view_image", `{"path":"a.png"}`)
		r.RawOutput(id, `[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:image/png;base64,`+blob+`"},{"type":"encrypted_content","encrypted_content":"gAAA`+blob+`"}]`)
		r.Raw(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"response_item","payload":{"type":"reasoning","summary":[],"encrypted_content":"gAAA` + blob + `"}}`)
		r.Assistant("a ship").End()
		b := newBench(t)
		home, _ := inHome(t, r.ThreadID(), r.Bytes())
		b.ingest(home, false)
		return b.thread(r.ThreadID()).Tokens["o200k_base"]
	}
	if small, large := count(1), count(20_000); small != large || small < 10 || small > 60 {
		t.Errorf("%d tokens with small blobs, %d with large ones", small, large)
	}
}

// TestSpecialTokensAreText: what looks like a special token is counted as it is
// spelled.
func TestSpecialTokensAreText(t *testing.T) {
	r := rollouttest.New(rollouttest.Marked, rollouttest.Options{}).User("<|endoftext|>").End()
	b := newBench(t)
	home, _ := inHome(t, r.ThreadID(), r.Bytes())
	b.ingest(home, false)
	if n := b.thread(r.ThreadID()).Tokens; n["o200k_base"] != 7 || n["cl100k_base"] != 7 {
		t.Errorf("%v tokens, want 7 in each", n)
	}
}
