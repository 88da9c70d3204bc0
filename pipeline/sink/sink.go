// Package sink writes ready documents where a consumer picks them up. There is
// one file a consumer; all keep the contract of package sinktest.
//
// The way of the data:
//
//	[1] the publisher gives an Artifact: the bytes, whose thread they are of,
//	    and the Receipt of the last time
//	[2] Put compares what lies there with that receipt. What somebody else
//	    wrote or changed is theirs from then on and is not touched again
//	[3] the file is replaced as a whole (store/atomicfile), and only if its
//	    bytes change; the new Receipt is kept by the caller
//
// A sink deletes nothing that it did not write, writes nothing outside its
// folder, and follows no link out of it.
package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Sink is a place for documents.
type Sink interface {
	// Name is the word that settings and receipts know the sink by.
	Name() string
	// Limits tells what a document must keep to.
	Limits() Limits
	// Put writes the artifact, unless that is what lies there already or
	// what lies there was changed by somebody else; Receipt.State tells. An
	// error leaves the old file as it was.
	Put(ctx context.Context, a Artifact) (Receipt, error)
	// Remove deletes what the receipt tells of. What is gone already is no
	// error; what was changed since stays, and the error is ErrEdited.
	Remove(ctx context.Context, r Receipt) error
}

// Limits is what a consumer takes in of a document; 0 means no limit.
type Limits struct {
	Units int // UTF-16 units
	Bytes int
	Bare  bool // it wants no front matter
}

// Artifact is a document to be put.
type Artifact struct {
	ThreadID  string
	Workspace string // canonical root of what the thread worked on; may be empty
	Cwd       string // folder the thread worked in, as written; may be empty
	// Name is the file's name, lower case ASCII with .md. It counts the first
	// time only: later the file keeps the name of the receipt.
	Name string
	Data []byte
	// Last is the receipt of the last Put; zero if there was none or it is
	// lost.
	Last Receipt
}

// Receipt is the proof of what was written. The caller keeps it.
type Receipt struct {
	Sink     string `json:"sink"`
	ThreadID string `json:"thread_id"`
	Path     string `json:"path"` // slash separated, below the sink's folder
	Hash     string `json:"hash"` // SHA-256 of the bytes we wrote last, hex
	Size     int64  `json:"size"` // bytes
	State    State  `json:"state"`
}

// State says what Put found and did.
type State uint8

// The states. The zero value means that nothing was put yet.
const (
	StateWritten   State = iota + 1 // the file holds the artifact since now
	StateUnchanged                  // it held it before
	StateEdited                     // somebody changed it: left alone from now on
	StateNone                       // the sink has no place for the thread; Receipt.Path is empty
)

var stateNames = [...]string{"", "written", "unchanged", "edited", "none"}

// String returns the name used in JSON and in the store.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(b []byte) error {
	for i, n := range stateNames {
		if n == string(b) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("unknown state %q", b)
}

var (
	// ErrEdited says that a file is no longer as we wrote it and therefore stays.
	ErrEdited = errors.New("file was edited")
	// ErrNoPlace says that a consumer isn't there, or that nothing tells where.
	ErrNoPlace = errors.New("no place to write to")
	// ErrUnsafe says that nothing is written to a folder because others could
	// change what lies there.
	ErrUnsafe = errors.New("the folder is not safe")
	// ErrPath says that a sink puts no document where a receipt says.
	ErrPath = errors.New("no path of a document")
)

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
