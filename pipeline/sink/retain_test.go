package sink_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

func TestRetain(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	own, workspace := sink.Policies()
	kept := func(id string, age, gone time.Duration, size int64, pinned bool) sink.Kept {
		k := sink.Kept{Receipt: sink.Receipt{ThreadID: id, Size: size}, Updated: now.Add(-age), Pinned: pinned}
		if gone > 0 {
			k.Gone = now.Add(-gone)
		}
		return k
	}
	many := func(n int, age, gone time.Duration, size int64) (out []sink.Kept) {
		for i := range n {
			out = append(out, kept(fmt.Sprintf("%04d", i), age-time.Duration(i)*time.Minute, gone, size, false))
		}
		return out
	}
	tests := []struct {
		name    string
		entries []sink.Kept
		policy  sink.Policy
		want    string // ids that go
	}{
		{"nothing", nil, own, ""},
		{"old but its rollout is there", []sink.Kept{kept("a", 999*day, 0, 1, false)}, own, ""},
		{"gone for 90 days", []sink.Kept{kept("a", 999*day, 90*day, 1, false)}, own, ""},
		{"gone for longer", []sink.Kept{kept("a", 999*day, 90*day+1, 1, false), kept("b", day, day, 1, false)}, own, "a"},
		{"pinned", []sink.Kept{kept("a", 999*day, 999*day, 1, true)}, own, ""},
		{"2,000 files", many(2000, 10*day, day, 1), own, ""},
		{"2,002 files", many(2002, 10*day, day, 1), own, "0000 0001"},
		{"2,002 files whose rollouts are there", many(2002, 10*day, 0, 1), own, ""},
		{"200 MB", many(2, 10*day, day, 100<<20), own, ""},
		{"more than 200 MB", many(3, 10*day, day, 100<<20), own, "0000"},
		{"a pinned one counts", append(many(30, 10*day, 0, 1), kept("z", 50*day, 0, 1, true)), workspace, "0000"},
		{"30 files in a workspace", many(30, 10*day, 0, 1), workspace, ""},
		{"32 files in a workspace", many(32, 10*day, 0, 1), workspace, "0000 0001"},
		{"60 days in a workspace", []sink.Kept{kept("a", 60*day, 0, 1, false)}, workspace, ""},
		{"longer in a workspace", []sink.Kept{kept("b", 1, 0, 1, false), kept("a", 60*day+1, 0, 1, false), kept("p", 99*day, 0, 1, true)}, workspace, "a"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range sink.Retain(c.entries, now, c.policy) {
				got = append(got, r.ThreadID)
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("removes %q, want %q", g, c.want)
			}
		})
	}
}
