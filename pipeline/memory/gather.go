package memory

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// requests reads what was said.
func (d *Document) requests(ms []transcript.Message) {
	var users, tasks []Quote
	for i := range ms {
		m := &ms[i]
		if m.Gone {
			d.Removed++
		}
		switch m.Role {
		case transcript.RoleUser, transcript.RoleAssistant:
		case transcript.RoleToolCall:
			d.Commands++
			continue
		case transcript.RoleAgent:
			if text := strings.TrimSpace(clean(m.Text)); text != "" {
				tasks = append(tasks, Quote{Text: text, Turn: m.ThreadTurn, Images: m.Images})
			}
			continue
		case transcript.RoleReasoning:
			d.reasoned = true
			continue
		case transcript.RoleToolResult, transcript.RoleCompaction:
			continue
		}
		d.DialogueTokens += m.Tokens
		said := *m
		said.Text = clean(m.Text)
		if m.Role == transcript.RoleUser {
			said.Text = ownWords(said.Text)
		}
		d.said = append(d.said, said)
		if m.Role == transcript.RoleUser {
			users = append(users, Quote{Text: said.Text, Turn: m.ThreadTurn, Images: m.Images})
		}
	}
	if len(users) == 0 && d.Thread.Subagent && len(tasks) > 0 {
		d.Task, users = true, tasks[:1]
	}
	d.standing(users)
	pushes := func(i int) bool {
		return users[i].Images == 0 && (isSteer(users[i].Text) || standingIn(users[i].Text) != 0)
	}
	effective := len(users) - 1
	for effective >= 0 && pushes(effective) {
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
		case pushes(i):
			d.Steers++
		default:
			d.Earlier = append(d.Earlier, u)
		}
		for _, r := range rulesIn(u.Text) {
			if key := strings.ToLower(r); !seen[key] && !d.Task {
				seen[key] = true
				d.Rules = append(d.Rules, Quote{Text: r, Turn: u.Turn})
			}
		}
	}
	d.answers(ms)
	if effective >= 0 {
		d.after(users[effective+1:])
	}
}

// answers finds the newest answer of the agent, and what it said since that is
// none: words between steps, or in a turn that did not end.
func (d *Document) answers(ms []transcript.Message) {
	called := false // a call stands behind, in the same turn
	done := false   // or in any
	turn := -1
	for i := len(ms) - 1; i >= 0; i-- {
		m := &ms[i]
		if m.ThreadTurn != turn {
			called, turn = false, m.ThreadTurn
		}
		if m.Role == transcript.RoleToolCall {
			called, done = true, true
		}
		if m.Role != transcript.RoleAssistant || strings.TrimSpace(m.Text) == "" {
			continue
		}
		remark := m.Phase == transcript.PhaseCommentary || m.Phase == 0 && (called || d.unfinished() && m.ThreadTurn == d.Thread.Turns)
		if !remark {
			d.Answers++
		}
		q := Quote{Text: clean(m.Text), Turn: m.ThreadTurn, Images: m.Images}
		switch {
		case remark && d.Remark.Text == "" && !d.Final:
			d.Remark = q
		case !remark && !d.Final:
			d.Answer, d.Final = q, true
			done = false
		}
		// What the newest answer names is the next step, also if it is of two
		// texts; one that names none ends what an older one named. The word that
		// work stands still changes nothing in what it waits for.
		ofNow := q.Turn == d.Answer.Turn || d.Standing == StandingBlocked && q.Turn >= d.Request.Turn
		if !remark && d.Next.Text == "" && !done && ofNow {
			if n := nextIn(q.Text); n.Text != "" {
				n.Turn = q.Turn
				d.Next = n
			}
		}
	}
	if !d.Final && !d.unfinished() || d.Remark.Turn < d.Request.Turn {
		if !d.Final {
			d.Answer = d.Remark
		}
		d.Remark = Quote{}
	}
	if n := nextIn(d.Answer.Text); !d.Final && n.Text != "" {
		n.Turn = d.Answer.Turn
		d.Next = n
	}
}

// after reads the replies that followed the request and only pushed on.
func (d *Document) after(steers []Quote) {
	if !d.unfinished() || d.Standing != 0 {
		return
	}
	for _, u := range steers {
		if u.Turn < d.Answer.Turn || u.Turn == d.Answer.Turn && d.Final {
			continue
		}
		if (d.Next.Offer || d.Next.Also != "") && d.Accepted == 0 && d.Next.Turn >= d.Request.Turn && d.Next.Turn == d.Answer.Turn {
			d.Accepted = u.Turn
			continue
		}
		d.Pushed = append(d.Pushed, u.Turn)
	}
}

func (d *Document) userTexts() []string {
	var texts []string
	for i := range d.said {
		if d.said[i].Role == transcript.RoleUser {
			texts = append(texts, d.said[i].Text)
		}
	}
	if len(texts) == 0 && d.Task {
		texts = append(texts, d.Request.Text)
	}
	return texts
}

// show cleans what is shown of a command or an output: the working folder is
// taken off the paths in it.
func (d *Document) show(s string) string {
	s = clean(s)
	if d.Thread.Cwd == "" {
		return s
	}
	short := withoutFolder(s, d.Thread.Cwd)
	if other := strings.ReplaceAll(d.Thread.Cwd, `\`, "/"); other != d.Thread.Cwd {
		short = withoutFolder(short, other)
	}
	if short == s {
		return s
	}
	return clean(short) // what stood on both sides may be a secret together
}

// work reads what was done.
func (d *Document) work(ms []transcript.Message) {
	results := resultsOf(ms)
	words := labelsOf(d.lang)
	w := worker{d: d, l: &words, since: d.Request.Turn}
	w.book.show = func(path string) string {
		// With its backslashes turned around a path may hide a secret.
		return clean(relative(clean(path), d.Thread.Cwd))
	}
	if d.Accepted > 0 {
		w.since = d.Accepted
	}
	var plan *transcript.Message
	lastUser := int64(0)
	for i := range ms {
		m := &ms[i]
		switch m.Role {
		case transcript.RoleUser:
			lastUser = m.Position
			d.Question = Quote{}
		case transcript.RoleAgent:
			d.agentSaid(m)
		case transcript.RoleToolCall:
			if m.Name == "update_plan" {
				plan = m
				continue
			}
			w.call(m, results[i], i+1)
		case transcript.RoleAssistant, transcript.RoleToolResult, transcript.RoleReasoning, transcript.RoleCompaction:
		}
	}
	slices.Reverse(d.Agents)
	w.steps()
	d.Files, d.Checks, d.Errors = w.book.list(), checksOf(w.runs, d.show), failuresOf(w.runs, d.show)
	if len(d.Checks) > 0 && w.lastChange > d.Checks[0].seq {
		d.afterChecks = w.lastChangeTurn
	}
	if plan != nil {
		d.plan(plan, lastUser > plan.Position)
	}
}

// worker gathers what calls did.
type worker struct {
	d              *Document
	l              *labels
	book           ledger
	runs           []run
	since          int // first turn of the work that isn't answered
	order          []pending
	lastChange     int // position, 1-based
	lastChangeTurn int
}

// pending is a step whose outcome may come with a later call.
type pending struct {
	step Step
	run  int // index in runs, -1: none
}

func (w *worker) call(m *transcript.Message, result *transcript.Message, seq int) {
	d := w.d
	current := d.unfinished() && m.ThreadTurn >= w.since && m.ThreadTurn > 0
	if changes := patchesIn(m); len(changes) > 0 {
		outcome := outcomeOf(result)
		for _, c := range changes {
			w.book.add(c, outcome, m.ThreadTurn)
			if current {
				w.order = append(w.order, pending{Step{Text: w.book.show(c.path), Patch: true, Outcome: patchWord(outcome, w.l), Turn: m.ThreadTurn}, -1})
			}
		}
		if outcome == patchApplied {
			w.changed(m.ThreadTurn, seq)
		}
		return
	}
	if d.agentCall(m, result) || d.question(m, result) {
		return
	}
	if r := continued(m, w.runs); r != nil {
		if result != nil {
			r.result, r.turn = result, m.ThreadTurn
		}
		return
	}
	cmd, workdir := commandOf(m)
	if cmd == "" {
		return
	}
	w.runs = append(w.runs, run{command: cmd, result: result, turn: m.ThreadTurn, seq: seq, check: isCheck(cmd)})
	if result != nil && result.HasExit && result.ExitCode == 0 {
		for _, f := range writesIn(cmd, workdir) {
			w.book.shell(f, m.ThreadTurn)
			w.changed(m.ThreadTurn, seq)
		}
		if commits().MatchString(cmd) {
			d.Uncommitted = nil
		}
	}
	if current {
		w.order = append(w.order, pending{Step{Text: d.show(cmd), Turn: m.ThreadTurn}, len(w.runs) - 1})
	}
}

func (w *worker) changed(turn, seq int) {
	w.lastChange, w.lastChangeTurn = seq, turn
	if u := w.d.Uncommitted; len(u) == 0 || u[len(u)-1] != turn {
		w.d.Uncommitted = append(u, turn)
	}
}

// steps writes down what was done for the request, now that all outcomes are
// known.
func (w *worker) steps() {
	for _, p := range w.order {
		if p.run >= 0 {
			r := &w.runs[p.run]
			if !r.check && reads(r.command) {
				w.d.Looked++
				w.d.LookedTurn = p.step.Turn
				continue
			}
			p.step.Outcome = exitWord(r.command, r.result, w.l)
		}
		w.d.Done = append(w.d.Done, p.step)
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
