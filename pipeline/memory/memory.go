// Package memory writes the hand-off document of a thread: what the next agent
// must know to go on, from facts that the thread itself records. It is pure:
// no clock, no environment, the same input gives the same bytes.
//
// The way of the data:
//
//	[1] Build gathers the facts: the request that counts (gather.go,
//	    requests.go, standing.go), what was done for it, plan, files, checks
//	    and errors (commands.go, shell.go, patch.go), the next step that the
//	    newest answer names (next.go). Every text is stripped of what can't be
//	    seen and redacted before anything is cut (clean.go)
//	[2] Render orders the facts by what the next agent needs first and fills
//	    the budget with whole items (now.go, sections.go, render.go), in the
//	    language of the person (lang.go, labels.go)
//	[3] the front matter goes through a YAML encoder (front.go)
//	[4] Brief gives the same facts in a few lines (brief.go)
//
// Every fact carries the turn it is from; what is cut or left out says how to
// fetch it. Silence is never shown as success.
package memory

import (
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/lang"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Input is what a document is made of.
type Input struct {
	Thread    transcript.Thread
	Messages  []transcript.Message // current branch, in order
	Turns     []transcript.Turn    // numbered as Message.ThreadTurn; may be missing
	Decisions []decide.Decision    // of the targets to name
	Summary   *Summary             // of a model, nil for none
	NoSummary string               // why there is none, shown in the front matter
	Location  *time.Location       // for dates; nil: UTC
	Own       int                  // pieces of session-migrator's own that Messages are without
	Found     []Found              // for the next request, best first; a tenth of the document at most
}

// Found is a passage that was found for the next request.
type Found struct {
	Quote
	Ref string // of the whole item
}

// Summary is what a model wrote about the thread, already checked and cut.
type Summary struct {
	Model     string
	Standing  Standing // that it is done or blocked; 0: the model doesn't say
	Goal      string
	Decisions []Note // with their reasons
	Rules     []Note // of the person's, word for word
	Learned   []Note
	Tried     []Note // and did not work
	Open      []Note
	Next      []Note
	Topics    []Note // what was spoken of, and where

	Text   string // all of it in its own words, where it is in no parts
	Turn   int    // the newest it covers; 0: not told
	Behind int    // messages newer than what it covers
}

// Note is one statement of a summary.
type Note struct {
	Text string
	Turn int // 0: of no turn
	To   int // last of several turns; 0: Turn is the only one
}

// Quote is what somebody said, whole and redacted.
type Quote struct {
	Text   string
	Turn   int
	Images int
}

// Step is something done for the request.
type Step struct {
	Text    string // a command, or a patched file
	Patch   bool
	Outcome string // exit code or how the patch ended, in the document's language
	Turn    int
}

// PlanStep is a line of the agent's plan.
type PlanStep struct {
	Step   string
	Status string // as recorded: pending, in_progress, completed
}

// Document holds the facts of a thread. All texts in it are redacted.
type Document struct {
	Thread   transcript.Thread // title, folder and git fields redacted
	Title    string            // one line, never empty
	State    transcript.State
	Standing Standing // somebody's word that goes beyond State
	Word     Quote    // that word, if it is the person's
	Error    string   // of a failed last turn
	Request  Quote    // the one to serve: the newest that is more than "go on"
	Task     bool     // Request is of another agent, in a sub-agent's thread

	Steers   int   // messages that only pushed on
	Pushed   []int // turns of those after Request that got no answer
	Accepted int   // turn of the one that says yes to Next; 0: none
	Removed  int   // messages that the agent's program no longer has

	Done        []Step // after Request, in a thread that isn't answered
	Looked      int    // commands after Request that only read
	LookedTurn  int    // of the newest of them
	Question    Quote  // the agent's to the person, without a reply
	Remark      Quote  // newest words after Request that are no answer
	Plan        []PlanStep
	PlanAge     int     // turns since an outdated plan; 0: Plan is current or there is none
	PlanOf      int     // turn
	Rules       []Quote // newest first
	Files       []File
	Uncommitted []int // turns with changes after the last commit
	Checks      []Check
	Errors      []Failure
	Agents      []AgentNote // of sub-agents, newest first
	Answer      Quote       // newest of the agent
	Final       bool        // Answer is one, not a remark
	Next        Next        // what it says of the time after it
	Earlier     []Quote     // other requests, newest first
	Found       []Found

	Commands, Answers int // seen at all
	Own               int // pieces of session-migrator's own that were left out before
	DialogueTokens    int // of what user and assistant said, o200k_base

	decisions   []decide.Decision
	summary     *Summary
	noSummary   string
	loc         *time.Location
	lang        language
	said        []transcript.Message // user and assistant messages, cleaned
	afterChecks int                  // turn of a change after the newest check, 0 if none
	reasoned    bool                 // there is reasoning
}

// AgentNote is the task of a sub-agent, or what it reported.
type AgentNote struct {
	Quote
	Report bool
}

// Build gathers the facts.
func Build(in Input) Document {
	d := Document{Own: in.Own, Thread: cleanThread(in.Thread), State: in.Thread.State, decisions: in.Decisions, summary: cleanSummary(in.Summary), noSummary: inline(clean(in.NoSummary), 60), loc: in.Location}
	if d.loc == nil {
		d.loc = time.UTC
	}
	if d.State == 0 {
		d.State = transcript.StateEmpty
	}
	d.requests(in.Messages)
	d.lang = lang.Of(d.userTexts())
	d.work(in.Messages)
	for i := len(in.Turns) - 1; i >= 0; i-- {
		if t := &in.Turns[i]; t.Number == in.Thread.Turns || i == len(in.Turns)-1 {
			if d.State == transcript.StateFailed {
				d.Error = clean(t.Error)
			}
			break
		}
	}
	for _, f := range in.Found {
		f.Text = clean(f.Text)
		d.Found = append(d.Found, f)
	}
	d.Title = titleOf(&d)
	return d
}

// cleanThread redacts the fields that are shown.
func cleanThread(t transcript.Thread) transcript.Thread {
	for _, s := range [...]*string{&t.Title, &t.Cwd, &t.Path, &t.Model, &t.GitBranch, &t.GitCommit, &t.GitURL, &t.Parent, &t.ID, &t.Nickname, &t.Originator} {
		*s = strings.TrimSpace(strings.ReplaceAll(clean(*s), "\n", " "))
	}
	return t
}

func cleanSummary(s *Summary) *Summary {
	if s == nil {
		return nil
	}
	c := Summary{Model: clean(s.Model), Standing: s.Standing, Goal: clean(s.Goal), Text: clean(s.Text), Turn: s.Turn, Behind: s.Behind}
	notes := func(in []Note) (out []Note) {
		for _, n := range in {
			out = append(out, Note{clean(n.Text), n.Turn, n.To})
		}
		return out
	}
	c.Decisions, c.Rules, c.Learned, c.Tried, c.Open, c.Next, c.Topics = notes(s.Decisions), notes(s.Rules), notes(s.Learned), notes(s.Tried), notes(s.Open), notes(s.Next), notes(s.Topics)
	return &c
}
