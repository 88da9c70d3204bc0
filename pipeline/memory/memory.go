// Package memory writes the hand-off document of a thread: what the next agent
// must know to go on, from facts that the thread itself records. It is pure:
// no clock, no environment, the same input gives the same bytes.
//
// The way of the data:
//
//	[1] Build reads the messages once and gathers facts: the request that
//	    counts, what was done for it, plan, rules, files, checks, errors.
//	    Every text is stripped of what can't be seen and redacted before
//	    anything is cut (clean.go)
//	[2] Render orders the facts by what the next agent needs first and fills
//	    the budget with whole items (sections.go, render.go)
//	[3] the front matter goes through a YAML encoder (front.go)
//
// Every fact carries the turn it is from; what is cut or left out says how to
// fetch it. Silence is never shown as success.
package memory

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
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
}

// Summary is what a model wrote about the thread, already checked and cut.
type Summary struct {
	Model     string
	Goal      string
	Decisions []Note // with their reasons
	Learned   []Note
	Tried     []Note // and did not work
	Open      []Note
	Next      []Note
}

// Note is one statement of a summary.
type Note struct {
	Text string
	Turn int // 0: of no turn
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
	Thread  transcript.Thread // title, folder and git fields redacted
	Title   string            // one line, never empty
	State   transcript.State
	Error   string // of a failed last turn
	Request Quote  // the one to serve: the newest that is more than "go on"
	Steers  int    // messages that only pushed on

	Done    []Step // after Request, in a thread that isn't answered
	Plan    []PlanStep
	PlanAge int // turns since an outdated plan; 0: Plan is current or there is none
	PlanOf  int // turn

	Rules   []Quote // newest first
	Files   []File
	Checks  []Check
	Errors  []Failure
	Answer  Quote   // newest of the agent
	Next    Next    // what it says of the time after it
	Earlier []Quote // other requests, newest first

	Commands, Answers int // seen at all
	DialogueTokens    int // of what user and assistant said, o200k_base

	decisions   []decide.Decision
	summary     *Summary
	noSummary   string
	loc         *time.Location
	lang        language
	said        []transcript.Message // user and assistant messages, cleaned
	afterChecks int                  // turn of a change after the newest check, 0 if none
}

// Build gathers the facts.
func Build(in Input) Document {
	d := Document{Thread: cleanThread(in.Thread), State: in.Thread.State, decisions: in.Decisions, summary: cleanSummary(in.Summary), noSummary: inline(clean(in.NoSummary), 60), loc: in.Location}
	if d.loc == nil {
		d.loc = time.UTC
	}
	if d.State == 0 {
		d.State = transcript.StateEmpty
	}
	d.requests(in.Messages)
	d.Next = nextIn(d.Answer.Text)
	d.lang = languageOf(d.userTexts())
	d.work(in.Messages)
	for i := len(in.Turns) - 1; i >= 0; i-- {
		if t := &in.Turns[i]; t.Number == in.Thread.Turns || i == len(in.Turns)-1 {
			if d.State == transcript.StateFailed {
				d.Error = clean(t.Error)
			}
			break
		}
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
	c := Summary{Model: clean(s.Model), Goal: clean(s.Goal)}
	notes := func(in []Note) (out []Note) {
		for _, n := range in {
			out = append(out, Note{clean(n.Text), n.Turn})
		}
		return out
	}
	c.Decisions, c.Learned, c.Tried, c.Open, c.Next = notes(s.Decisions), notes(s.Learned), notes(s.Tried), notes(s.Open), notes(s.Next)
	return &c
}

// requests reads what was said.
func (d *Document) requests(ms []transcript.Message) {
	var users []Quote
	for i := range ms {
		m := &ms[i]
		switch m.Role {
		case transcript.RoleUser:
		case transcript.RoleAssistant:
			d.Answers++
		case transcript.RoleToolCall:
			d.Commands++
			continue
		case transcript.RoleToolResult, transcript.RoleReasoning, transcript.RoleAgent, transcript.RoleCompaction:
			continue
		}
		d.DialogueTokens += m.Tokens
		said := *m
		said.Text = clean(m.Text)
		d.said = append(d.said, said)
		q := Quote{Text: said.Text, Turn: m.ThreadTurn, Images: m.Images}
		if m.Role == transcript.RoleUser {
			users = append(users, q)
		} else if strings.TrimSpace(said.Text) != "" && (m.Phase != transcript.PhaseCommentary || d.Answer.Text == "") {
			d.Answer = q
		}
	}
	effective := len(users) - 1
	for effective >= 0 && users[effective].Images == 0 && isSteer(users[effective].Text) {
		effective--
	}
	if effective < 0 && len(users) > 0 {
		effective = 0
	}
	seen := make(map[string]bool)
	for i := len(users) - 1; i >= 0; i-- {
		u := users[i]
		switch {
		case i == effective:
			d.Request = u
		case u.Images == 0 && isSteer(u.Text):
			d.Steers++
		default:
			d.Earlier = append(d.Earlier, u)
		}
		for _, r := range rulesIn(u.Text) {
			if key := strings.ToLower(r); !seen[key] {
				seen[key] = true
				d.Rules = append(d.Rules, Quote{Text: r, Turn: u.Turn})
			}
		}
	}
}

func (d *Document) userTexts() []string {
	var texts []string
	for i := range d.said {
		if d.said[i].Role == transcript.RoleUser {
			texts = append(texts, d.said[i].Text)
		}
	}
	return texts
}

// work reads what was done.
func (d *Document) work(ms []transcript.Message) {
	results := resultsOf(ms)
	l := labelsOf(d.lang)
	book := ledger{cwd: d.Thread.Cwd}
	var runs []run
	var plan *transcript.Message
	lastChange, lastUser := 0, 0 // positions in ms, 1-based
	lastChangeTurn := 0
	open := d.State != transcript.StateAnswered && d.State != transcript.StateEmpty
	for i := range ms {
		m := &ms[i]
		if m.Role == transcript.RoleUser {
			lastUser = i + 1
		}
		if m.Role != transcript.RoleToolCall {
			continue
		}
		if m.Name == "update_plan" {
			plan = m
			continue
		}
		inRequest := open && m.ThreadTurn >= d.Request.Turn
		result := results[i]
		if changes := patchesIn(m); len(changes) > 0 {
			outcome := outcomeOf(result)
			for _, c := range changes {
				book.add(c, outcome, m.ThreadTurn)
				if inRequest {
					d.Done = append(d.Done, Step{Text: clean(relative(c.path, d.Thread.Cwd)), Patch: true, Outcome: patchWord(outcome, l), Turn: m.ThreadTurn})
				}
			}
			if outcome == patchApplied {
				lastChange, lastChangeTurn = i+1, m.ThreadTurn
			}
			continue
		}
		cmd := commandOf(m)
		if cmd == "" {
			continue
		}
		runs = append(runs, run{command: cmd, result: result, turn: m.ThreadTurn, seq: i + 1})
		if inRequest {
			d.Done = append(d.Done, Step{Text: clean(cmd), Outcome: exitWord(cmd, result, l), Turn: m.ThreadTurn})
		}
	}
	d.Files, d.Checks, d.Errors = book.list(), checksOf(runs), failuresOf(runs)
	if len(d.Checks) > 0 && lastChange > d.Checks[0].seq {
		d.afterChecks = lastChangeTurn
	}
	if plan != nil {
		d.plan(plan, lastUser > 0 && ms[lastUser-1].Position > plan.Position)
	}
}

// plan reads the newest plan, which is current only if the user said nothing
// after it.
func (d *Document) plan(m *transcript.Message, outdated bool) {
	var args struct {
		Plan []PlanStep `json:"plan"`
	}
	if json.Unmarshal([]byte(m.Args), &args) != nil || len(args.Plan) == 0 {
		return
	}
	d.PlanOf = m.ThreadTurn
	if outdated {
		d.PlanAge = max(1, d.Thread.Turns-m.ThreadTurn)
		return
	}
	for _, s := range args.Plan {
		d.Plan = append(d.Plan, PlanStep{clean(s.Step), clean(s.Status)})
	}
}

// resultsOf maps the index of a call to its result.
func resultsOf(ms []transcript.Message) map[int]*transcript.Message {
	out := make(map[int]*transcript.Message)
	calls := make(map[string]int)
	for i := range ms {
		switch m := &ms[i]; {
		case m.Role == transcript.RoleToolCall && m.CallID != "":
			calls[m.CallID] = i
		case m.Role == transcript.RoleToolResult && m.CallID != "":
			if c, ok := calls[m.CallID]; ok {
				out[c] = m
				delete(calls, m.CallID)
			}
		case m.Role == transcript.RoleToolResult && i > 0 && ms[i-1].Role == transcript.RoleToolCall && ms[i-1].CallID == "":
			out[i-1] = m
		}
	}
	return out
}
