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
}

// Limits of summaries.
const (
	DefaultChars = 3000 // of a Doc's texts
	MaxUpdates   = 8    // after which all is made anew
	MaxCalls     = 16   // of one plan, but for its heading: what has no room in them is left out by kind
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

const (
	unknownWindow = 4096  // Ollama's, where it has little memory: less than 3,000 go in
	mostOutput    = 16384 // of an answer, thoughts included
	leastContent  = 256   // tokens of the session that make a call worth it
)

// limits gives the tokens that go into a call, as count counts them, and that
// may come out.
func (m Model) limits() (in, out int) {
	window := m.Window
	if window <= 0 {
		window = unknownWindow
	}
	in, out = window*7/10, min(window/4, mostOutput)
	if m.MaxInput > 0 {
		in = min(in, m.MaxInput)
	}
	if m.Output > 0 {
		out = min(out, m.Output)
	}
	factor := 120
	if m.Exact {
		factor = 102
	}
	return in * 100 / factor, out
}

// Kind says how a plan goes about it.
type Kind uint8

// The kinds of plans.
const (
	Full    Kind = iota + 1 // all messages
	Rolling                 // the summary so far and what is new
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"none", "full", "rolling"}[min(k, Rolling)]
}

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

// String names the part.
func (p Part) String() string {
	return [...]string{"none", "whole", "chunk", "update", "heading", "repair"}[min(p, Repair)]
}

// Call is one question to the model.
type Call struct {
	Part   Part
	From   int // first turn in it
	To     int // last turn in it
	Tokens int // of all that is sent, counted; of a call that is made of other answers: at most
	Output int // tokens the answer may have

	brief   string // language and length
	facts   string
	earlier string // notes so far, where they are known
	rows    []row
	from    int   // number of the row that would come first if none were left out
	through int64 // position of the newest message that is dealt with after it
}

// System gives the system message.
func (c *Call) System() string {
	if c.Part == Heading {
		return headingText
	}
	return systemText
}

// Text gives the user message word for word, but for two things: the random
// part of the tags' names is 0s, and where a call is made of earlier answers a
// line says so.
func (c *Call) Text() string {
	earlier := c.earlier
	switch {
	case earlier != "":
	case c.Part == Update:
		earlier = "(the answer to the call before)"
	case c.Part == Heading:
		earlier = "(the answers to all calls before)"
	}
	return c.render(noNonce, earlier)
}

func (c *Call) render(nonce, earlier string) string {
	text := c.brief
	if c.facts != "" {
		text += "Known for certain already; don't repeat it:\n" + tagged(tagFacts, nonce, c.facts)
	}
	if earlier != "" {
		text += tagged(tagEarlier, nonce, earlier)
	}
	if len(c.rows) > 0 {
		text += tagged(tagHistory, nonce, printRows(c.rows, c.from))
	}
	return text + asks(c.Part)
}

// Plan is what would be sent.
type Plan struct {
	Kind    Kind
	Calls   []Call
	Tokens  int      // of all calls
	LeftOut int      // messages that have no room
	Through int64    // position of the newest message the summary will know
	Key     [32]byte // equal keys: the same question to the same model

	prior   *Prior // of a rolling one
	turns   int    // newest turn
	chars   int    // of the Doc
	notes   int    // tokens that notes so far may have in an Update
	heading int    // and in a Heading
	known   *known
	count   func(string) int
}
