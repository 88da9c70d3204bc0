// Package failpoint names the moments at which a crash must do no harm, and
// lets a test have the process killed at one of them.
//
//	failpoint.Hit(failpoint.AfterRead)
//
// Only with the build tag crash does a hit do anything; without it Hit is empty
// and the compiler leaves nothing of the call.
package failpoint

import "fmt"

// Point is a moment at which the process can be killed.
type Point uint8

// The points, in the order in which a line passes them.
const (
	AfterRead      Point = iota + 1 // lines read and counted, no transaction begun
	MidReset                        // a rewritten file, or one read again: what goes with the old rows is leaving, nothing new is in
	MidRederive                     // read again: the old items are out, the new ones not in
	MidBatch                        // some items of a batch are in
	BeforeCursor                    // all rows of a batch are in, the cursor has not moved
	BeforeFigures                   // rows and cursor are in, the thread's figures are not
	MidTouch                        // a file's new look is in, its thread's figures are not
	BeforeCommit                    // all is written, nothing committed
	AfterCommit                     // committed, and nobody knows
	BetweenBatches                  // the first batch of a long file is committed, the next is not
	AfterForget                     // a rollout that waited for its parent is to be read again
	BeforePublish                   // a document is about to be made
	MidTemp                         // half of a temporary file is written
	BeforeRename                    // a temporary file is whole
	AfterRename                     // it has its name, which may not be on disk
	BeforeReceipt                   // the document is there, its receipt is not
	AfterReceipt                    // the receipt is there, the indexes don't know
	MidIndex                        // some indexes are new
	BeforeShared                    // shared files are written, what is known of them is not
)

var names = [...]string{"", "after_read", "mid_reset", "mid_rederive", "mid_batch", "before_cursor", "before_figures", "mid_touch",
	"before_commit", "after_commit", "between_batches", "after_forget", "before_publish", "mid_temp", "before_rename", "after_rename",
	"before_receipt", "after_receipt", "mid_index", "before_shared"}

// Points gives all points.
func Points() []Point {
	out := make([]Point, 0, len(names)-1)
	for p := AfterRead; int(p) < len(names); p++ {
		out = append(out, p)
	}
	return out
}

// String gives the name that the environment variable uses.
func (p Point) String() string {
	if p > 0 && int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("point(%d)", uint8(p))
}

// MarshalText gives the same name as String.
func (p Point) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Env says where the process is to be killed: a point's name, a colon, and at
// which of its hits, from 1.
const Env = "SESSION_MIGRATOR_FAILPOINT"
