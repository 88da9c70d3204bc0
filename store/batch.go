package store

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Form is how a rollout lies on disk.
type Form uint8

// The forms.
const (
	FormPlain Form = iota + 1
	FormZstd
	FormDocument // one JSON document, rewritten whole
)

// FileState tells how well a rollout could be read.
type FileState uint8

// The states of a rollout file.
const (
	FileOK         FileState = iota + 1
	FileUnreadable           // see Reason
	FileGone                 // deleted; the rows stay
)

// String names the state for people.
func (s FileState) String() string {
	switch s {
	case FileOK:
		return "ok"
	case FileUnreadable:
		return "unreadable"
	case FileGone:
		return "gone"
	}
	return "" // damage
}

// Cursor is a position in a rollout with the fingerprints that prove it.
type Cursor struct {
	Offset, Line int64
	Head         []byte
	HeadLen      int
	Tail         []byte
	TailLen      int
}

// File is a rollout file as last looked at.
type File struct {
	RolloutID, ThreadID string
	Stamp               string // time in the name, the writer's local time
	Home, Path          string
	Form                Form
	Archived            bool
	Size                int64
	ModTimeNs           int64
	ChangeTimeNs        int64
	Dev, Ino            uint64
}

// Checkpoint is what is stored of a rollout: enough to go on reading.
type Checkpoint struct {
	File
	Row           int64 // row of the rollout
	Cursor        Cursor
	Generation    int
	GenerationSeq int64 // item numbers above this one belong to the generation
	LastSeq       int64
	Pending       int64
	State         FileState
	Reason        string
	Parser        []byte
	ParserVersion int
	AwaitsParent  string
	Broken        bool // the row is not the one that was written; of Rollout alone
}

// ItemCount holds an item's tokens. Hash is of the same text.
type ItemCount struct {
	O200k, Cl100k, Shrunk int
	Hash                  transcript.Hash
}

// Batch is what one commit adds. The cursor moves if and only if the rows are in.
type Batch struct {
	File          File
	NewGeneration bool // the file was rewritten: what it held before is kept, marked
	Rederive      bool // the same bytes are read again: the items are replaced, their numbers stay
	Cursor        Cursor
	Pending       int64
	State         FileState
	Reason        string

	Delta  *transcript.Delta
	Counts []ItemCount // one per Delta.Items
	Facts  transcript.Facts

	Parser        []byte
	ParserVersion int
	AwaitsParent  string

	// Decide gives the decisions for a thread. It is pure, and called within
	// the transaction with the thread's new figures.
	Decide func(transcript.Thread) []decide.Decision
	// Quiet leaves out the thread's figures and decisions: more batches of the
	// same rollout follow at once.
	Quiet bool
}

// sums are figures of live items, kept so that an append needn't count again.
type sums struct {
	Roles    [8]int `json:"r"`
	O200k    int64  `json:"o"`
	Cl100k   int64  `json:"c"`
	Shrunk   int64  `json:"s"`
	Migrated int    `json:"m"`
	Items    int64  `json:"n"` // positions used, dead ones included
	Turns    int    `json:"t"`
	Damaged  int    `json:"d"` // lines; not all have a row
	Seal     uint32 `json:"seal,omitempty"`
	Parsed   uint32 `json:"parsed,omitempty"` // the same of the parser's state
}

// seal is a checksum of what reading goes on from: a cursor that was changed by
// damage would take a rollout for rewritten. s and facts belong to c.
func seal(c *Checkpoint, facts string, s sums) uint32 {
	s.Seal, s.Parsed = 0, 0
	u := &c.Cursor
	head := fmt.Appendf(nil, "%d %d %d %d %d %d %d %+v %s", c.Generation, c.GenerationSeq, c.LastSeq, u.Offset, u.Line, u.HeadLen, u.TailLen, s, facts)
	return checksum(head, u.Head, u.Tail)
}

// sealParser is the same of the parser's state: a rollout that is to be read
// again has none, and keeps its cursor.
func sealParser(c *Checkpoint) uint32 {
	return checksum(fmt.Append(nil, c.ParserVersion), c.Parser)
}

func checksum(parts ...[]byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return max(1, sum) // 0: none
}

// broken tells whether the row that c was read from is not what was written.
func broken(c *Checkpoint, facts, text string) bool {
	if c.Cursor.Offset == 0 && c.ParserVersion <= 0 {
		return false // to be read from its start anyhow
	}
	var s sums
	if !json.Valid([]byte(facts)) || json.Unmarshal([]byte(text), &s) != nil {
		return true
	}
	if c.ParserVersion != forgotten && s.Parsed != 0 && s.Parsed != sealParser(c) {
		return true
	}
	return s.Seal != 0 && s.Seal != seal(c, facts, s)
}

func (s *sums) add(t sums) {
	for i := range s.Roles {
		s.Roles[i] += t.Roles[i]
	}
	s.O200k += t.O200k
	s.Cl100k += t.Cl100k
	s.Shrunk += t.Shrunk
	s.Migrated += t.Migrated
	s.Items += t.Items
	s.Turns += t.Turns
}

// count adds one live item.
func (s *sums) count(role transcript.Role, c ItemCount, sign int) {
	s.Roles[role] += sign
	if role.Migrates() {
		s.O200k += int64(sign * c.O200k)
		s.Cl100k += int64(sign * c.Cl100k)
		s.Shrunk += int64(sign * c.Shrunk)
		s.Migrated += sign
	}
}

func ns(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
