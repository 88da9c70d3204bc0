package pipeline

import (
	"math"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const (
	// leastOverhead is less than the instructions and tools of any Codex so far:
	// below, the vendor's count is of something else.
	leastOverhead = 2_000
	// mostOverhead is more than tools and project files come to: above, the
	// request held what isn't in the rollout.
	mostOverhead = 100_000
)

// overheadOf tells what stands before a conversation in the program that it was
// held with, in the vendor's own tokens: what the vendor counted in the first
// request beside the messages and what the chat format puts around them. 0 if
// that can't be told: the model's tokens must be those that were counted, or
// next to them, and the difference must be one that can be.
func overheadOf(table *capacity.Table, f transcript.FirstRequest) int {
	if f.Input <= 0 || f.Input > math.MaxInt32 {
		return 0
	}
	m, _ := table.Lookup(f.Model) // of one it doesn't know it knows the family
	if m.Vendor != "openai" || m.Encoding != tokens.O200kBase {
		return 0
	}
	n := int(f.Input-f.Own) - m.Framing.Around(f.User, f.Assistant, f.Calls, f.Results)
	if n < leastOverhead || n > mostOverhead {
		return 0
	}
	return n
}
