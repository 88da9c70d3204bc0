package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// State is all that a parser must know to go on after a line: the facts so
// far and a small, bounded memory. It survives JSON.
type State struct {
	Facts transcript.Facts
	m     memory
}

// memory is the private part of State.
type memory struct {
	Seq     int64     `json:"seq,omitempty"`
	Ordinal int64     `json:"ord,omitempty"`
	Bare    bool      `json:"bare,omitempty"` // the era without envelopes
	Meta    bool      `json:"meta,omitempty"` // the rollout's own header was read
	Born    time.Time `json:"born,omitzero"`  // time in the own header

	// turns
	Turns []turn   `json:"turns,omitempty"` // newest last, at most maxTurns
	Count int      `json:"count,omitempty"` // live turns
	Tasks []task   `json:"tasks,omitempty"` // open ones, innermost last
	Asked requests `json:"asked,omitempty"`

	// items
	Last      lastItem `json:"last,omitzero"`
	First     int64    `json:"first,omitempty"`     // number of the item that FirstUser is of
	FirstOwn  bool     `json:"firstown,omitempty"`  // that item is not inherited
	Responses bool     `json:"responses,omitempty"` // a person's message came as response item
	Answers   bool     `json:"answers,omitempty"`   // an answer came as response item
	Review    bool     `json:"review,omitempty"`    // review mode: its events have no response items
	Echo      echo     `json:"echo,omitzero"`

	// copied history
	Copy   copying `json:"copy,omitzero"`
	Awaits string  `json:"awaits,omitempty"`
	Start  int64   `json:"start,omitempty"` // ordinals below it are inherited

	// usage
	Total   transcript.Usage `json:"total,omitzero"`
	Counted bool             `json:"counted,omitempty"` // a total was read
	Records bool             `json:"records,omitempty"` // token_usage_record lines exist
	Fresh   bool             `json:"fresh,omitempty"`   // one was read since the last request
	Seen    []uint64         `json:"seen,omitempty"`    // newest response ids
	Shown   string           `json:"shown,omitempty"`   // model and window last reported
	Request firstRequest     `json:"request,omitzero"`  // of the first one

	// whole documents
	Doc     int    `json:"doc,omitempty"`
	DocHash uint64 `json:"dochash,omitempty"`
}

// lastItem is what later lines ask of the newest item other than reasoning.
type lastItem struct {
	Seq       int64  `json:"seq,omitempty"`
	Hash      uint64 `json:"hash,omitempty"` // of an assistant's text
	Len       int    `json:"len,omitempty"`
	ViewImage bool   `json:"view,omitempty"` // the next picture is a tool's
}

// echo is a person's or model's text that came as an event only, so far.
type echo struct {
	Line    int64  `json:"line,omitempty"` // of the newest such event of a person
	User    uint64 `json:"user,omitempty"`
	Open    bool   `json:"open,omitempty"` // its response item may still come
	Count   int    `json:"count,omitempty"`
	Images  int    `json:"img,omitempty"`
	Agent   uint64 `json:"agent,omitempty"`
	HasText bool   `json:"text,omitempty"` // Agent is set
}

func (m memory) clone() memory {
	m.Turns = slices.Clone(m.Turns)
	m.Tasks = slices.Clone(m.Tasks)
	m.Asked = slices.Clone(m.Asked)
	m.Seen = slices.Clone(m.Seen)
	return m
}

type stateJSON struct {
	Facts  transcript.Facts `json:"facts"`
	Memory memory           `json:"memory"`
}

// MarshalJSON implements json.Marshaler.
func (s State) MarshalJSON() ([]byte, error) { return json.Marshal(stateJSON{s.Facts, s.m}) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(b []byte) error {
	var j stateJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("read parser state: %w", err)
	}
	s.Facts, s.m = j.Facts, j.Memory
	return nil
}
