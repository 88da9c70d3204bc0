package main

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/summarizing"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestWhatAPartlyMadeSummaryLacks(t *testing.T) {
	var v pipeline.View
	for n, role := range []transcript.Role{transcript.RoleUser, transcript.RoleAssistant, transcript.RoleToolResult} {
		var m transcript.Message
		m.Position, m.Role = int64(3+2*n), role
		v.Messages = append(v.Messages, m)
	}
	for through, want := range map[int64]string{3: "goes up to turn 4 only", 5: "has all turns", 7: "has all turns"} {
		if got := partlyMade(v, summarizing.Result{Through: through, Turns: 4}); !strings.Contains(got, want) {
			t.Errorf("through %d: %q, want %q", through, got, want)
		}
	}
}
