package summary

import (
	"errors"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// ErrNothing means that there is nothing to summarise, or nothing new.
var ErrNothing = errors.New("there is nothing to summarise")

// ErrWindow means that the model's window is too small for any summary.
var ErrWindow = errors.New("the model's window is too small")

// Prior is what an update left, and the next begins with. It is stored as it is.
type Prior struct {
	Doc     Doc   `json:"doc"`
	Through int64 `json:"through"` // position of the newest message that is in Doc
	Turns   int   `json:"turns"`   // number of the newest turn that is in Doc
	Updates int   `json:"updates"` // since Doc was made from the messages themselves
}

// Facts is what is known without a model, as lines: given to it so that it
// doesn't repeat them.
type Facts struct {
	Files []string // path and what became of it
	Exits []string // command and exit code
	Plan  []string
}

// Input is what a summary is made of.
type Input struct {
	// Messages of the current branch in order, as the store gives them. What is
	// session-migrator's own and secrets are taken out here.
	Messages []transcript.Message
	Facts    Facts
	// Language to write in, BCP 47; empty: the one the person writes.
	Language string
	// TargetChars bounds the texts of the Doc, UTF-16 units; 0: DefaultChars.
	TargetChars int
	// Prior is the last update; nil: all is made anew, as after a rollback, a
	// fork or a rewritten thread. After MaxUpdates updates that happens anyway.
	Prior *Prior
	// Cut are the positions that are left out where the rest stands verbatim:
	// then only these are summarised. Empty: everything.
	Cut []transcript.Range
}

// Limits of summaries.
const (
	DefaultChars = 3000 // of a Doc's texts
	MaxUpdates   = 8    // after which all is made anew
	MaxCalls     = 16   // of one plan: what has no room in them is left out by kind
)

// Model is what a plan must know of the model.
type Model struct {
	Name     string
	Endpoint string // host, as Client.Host gives it
	Window   int    // tokens; 0: unknown, 4,096 is kept to
	Output   int    // tokens of an answer at most; 0: unknown
	MaxInput int    // tokens a call at most, whatever the window; 0: no further limit
	Exact    bool   // count counts as the model does; else a reserve is kept
}

// Kind says how a plan goes about it.
type Kind uint8

// The kinds of plans.
const (
	Full    Kind = iota + 1 // all messages
	OnlyCut                 // all messages of Input.Cut
	Rolling                 // the summary so far and what is new
)

// Part says what a call is for.
type Part uint8

// The parts of a plan.
const (
	Whole   Part = iota + 1 // everything in one call
	Chunk                   // some turns, of their own
	Update                  // the summary so far and some turns
	Heading                 // title, state and goal of what the chunks gave
	Repair                  // of an answer that could not be used
)

// Call is one question to the model.
type Call struct {
	Part   Part
	From   int // first turn in it
	To     int // last turn in it
	Tokens int // of all that is sent, counted; of a call that is made of other answers: at most
	Output int // tokens the answer may have
}

// System gives the system message.
func (c *Call) System() string { return "" }

// Text gives the user message word for word, but for two things: the random
// name of the tag around the history is 0s, and where a call is made of earlier
// answers a line says so.
func (c *Call) Text() string { return "" }

// Plan is what would be sent.
type Plan struct {
	Kind    Kind
	Calls   []Call
	Tokens  int      // of all calls
	LeftOut int      // messages that have no room
	Through int64    // position of the newest message the summary will know
	Key     [32]byte // equal keys: the same question to the same model
}

// PlanFor plans a summary. count counts the tokens of a text. ErrNothing,
// ErrWindow. It is pure.
func PlanFor(in Input, m Model, count func(string) int) (Plan, error) { return Plan{}, ErrNothing }
