package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
	"unsafe"
)

// Item is one thing said or done in a rollout.
type Item struct {
	Seq    int64 // 1-based within the rollout, rising in file order, never used twice
	Role   Role
	Text   string // what was said; a tool's output; for a call empty
	Name   string // tool name, calls only
	CallID string // joins a call and its result; may be empty
	Args   string // a call's arguments exactly as recorded
	Phase  Phase

	ExitCode int  // of a tool result
	HasExit  bool // false: the rollout doesn't tell

	Images int // pictures attached; their bytes are never kept
	Turn   int // 1-based within the rollout, 0 before the first request
	TurnID string

	Time    time.Time // UTC; zero where the format has none
	Offset  int64     // logical offset of the line in the rollout
	Size    int64     // bytes of the line
	Ordinal int64     // of the line, -1 where the format has none

	Inherited bool   // copied from a parent thread
	Key       uint64 // what survives re-serialisation by another version: equal keys, equal content
}

// Body is the text that counts: the arguments of a call, else the text.
func (it *Item) Body() string {
	if it.Role == RoleToolCall {
		return it.Args
	}
	return it.Text
}

// Hash proves a text: the first 16 bytes of its SHA-256.
type Hash [16]byte

// String gives the hash as it is shown.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// BodyHash is the hash of Body.
func (it *Item) BodyHash() (h Hash) {
	body := it.Body()
	// Not []byte(body): an output of 50 MB is in memory often enough.
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(body), len(body))) //nolint:gosec // read only
	copy(h[:], sum[:])
	return h
}

// RefIn names an item of a rollout for people and tools: it stays valid whatever
// becomes of the file, and in every fork that inherits the item.
func (it *Item) RefIn(rolloutID string) string {
	return fmt.Sprintf("om_%s.%d", rolloutID[max(0, len(rolloutID)-8):], it.Seq)
}

// Range is a run of item numbers, both ends included.
type Range struct{ From, To int64 }

// Dead marks items that left the current branch when the line at Offset was
// read (rolled back, or found to be a compaction's own output).
type Dead struct {
	Range
	Offset  int64 // of the line that removed them
	Ordinal int64 // of that line, -1 where the format has none
}

// Turn is one request and all done for it.
type Turn struct {
	Number  int // 1-based within the rollout
	ID      string
	Started time.Time
	Ended   time.Time // zero while open
	State   State
	Error   string // of a failed turn
}

// Damage is a line or part of it that could not be read.
type Damage struct {
	Line     int64  `json:"line"` // 1-based
	Offset   int64  `json:"offset"`
	Size     int64  `json:"size"`             // bytes that were lost
	Cause    string `json:"cause"`            // nul, torn, not-json, not-an-object, no-payload, too-long
	Detail   string `json:"detail,omitempty"` // line type where its first bytes tell
	Salvaged int    `json:"salvaged"`         // whole records found inside and read
}

// Unknown counts lines of a kind that this program doesn't know.
type Unknown struct {
	Kind    string `json:"kind"` // line, response_item, event_msg, content
	Name    string `json:"name"`
	Version string `json:"cli_version"`
	Count   int    `json:"count"`
	Line    int64  `json:"line"` // of the first one, 1-based
}

// Window is what a rollout itself said of a model's usable window.
type Window struct {
	Model  string
	Tokens int // as reported, usable
	Time   time.Time
}

// Delta is what new lines of one rollout add to what was known before.
// It is filled by a format reader and committed as a whole.
type Delta struct {
	Items   []Item
	Dead    []Dead
	Turns   []Turn // new or changed ones, newest state
	Damage  []Damage
	Unknown []Unknown
	Windows []Window
	Lines   int64 // lines read, damaged ones included
	Bytes   int64 // text bytes held by Items, to bound a batch
}

// Reset empties d for reuse.
func (d *Delta) Reset() {
	clear(d.Items) // their texts are most of what d holds
	d.Items, d.Dead, d.Turns = d.Items[:0], d.Dead[:0], d.Turns[:0]
	d.Damage, d.Unknown, d.Windows = d.Damage[:0], d.Unknown[:0], d.Windows[:0]
	d.Lines, d.Bytes = 0, 0
}
