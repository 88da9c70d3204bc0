package compress_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/compress"
)

var goodRefs = []struct {
	text string
	ref  compress.Ref
}{
	{"om_7f3a91c2.412", compress.Ref{Kind: compress.RefItem, Rollout: "7f3a91c2", Seq: 412}},
	{"om_7f3a91c2.412@1800+5200", compress.Ref{Kind: compress.RefItem, Rollout: "7f3a91c2", Seq: 412, Offset: 1800, Len: 5200}},
	{"om_00000000.1@0+1", compress.Ref{Kind: compress.RefItem, Rollout: "00000000", Seq: 1, Len: 1}},
	{"t17", compress.Ref{Kind: compress.RefTurns, From: 17, To: 17}},
	{"t17-t30", compress.Ref{Kind: compress.RefTurns, From: 17, To: 30}},
	{"t0", compress.Ref{Kind: compress.RefTurns}},
	{"t0-t1", compress.Ref{Kind: compress.RefTurns, To: 1}},
}

var badRefs = []string{
	"", "t", "om_", "om_7f3a91c2", "om_7f3a91c2.", "om_7f3a91c2.0", "om_7f3a91c2.01", "om_7F3A91C2.1", "om_7f3a91c.1",
	"om_7f3a91c2.1@", "om_7f3a91c2.1@5", "om_7f3a91c2.1@5+", "om_7f3a91c2.1@5+0", "om_7f3a91c2.1@-5+1", "om_7f3a91c2.1@05+1",
	"om_7f3a91c2.1@5+1+1", "om_7f3a91c2.99999999999999999999", "om_7f3a91c2.+1", " t1", "t1 ", "t01", "t-1", "t1-2", "t2-t1", "t1-t1",
	"t1-t2-t3", "t99999999999", "T1", "om_../../.1", "t\x001",
}

func TestParseRef(t *testing.T) {
	for _, c := range goodRefs {
		got, err := compress.ParseRef(c.text)
		if err != nil || got != c.ref {
			t.Errorf("%q: got %+v, %v; want %+v", c.text, got, err, c.ref)
		}
		if s := c.ref.String(); s != c.text {
			t.Errorf("got %q, want %q", s, c.text)
		}
	}
	for _, s := range badRefs {
		if r, err := compress.ParseRef(s); err == nil {
			t.Errorf("%q was read as %+v", s, r)
		} else if !strings.Contains(err.Error(), "unknown ref") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// One text form a ref, one ref a text form.
func FuzzParseRef(f *testing.F) {
	reliability.Figure(f, 23, "references: the seeds and all inputs that were ever found wrong; make fuzz goes on from them")
	for _, c := range goodRefs {
		f.Add(c.text)
	}
	for _, s := range badRefs {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := compress.ParseRef(s)
		if err != nil {
			return
		}
		if again := r.String(); again != s {
			t.Fatalf("%q is written as %q", s, again)
		}
	})
}
