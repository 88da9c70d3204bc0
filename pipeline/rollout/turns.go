package rollout

import (
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// turn is what may still change in one of the newest turns.
type turn struct {
	Number  int              `json:"n"`
	ID      string           `json:"id,omitempty"`
	Task    string           `json:"task,omitempty"` // id of its start mark, where that isn't ID
	Started time.Time        `json:"t,omitzero"`
	Ended   time.Time        `json:"e,omitzero"`
	State   transcript.State `json:"s"`
	Marks   bool             `json:"m,omitempty"` // an end mark is to be expected
	Over    bool             `json:"o,omitempty"`
	Acted   bool             `json:"a,omitempty"` // the agent did or said something
	Replied bool             `json:"r,omitempty"` // its newest deed is an answer
	Error   string           `json:"err,omitempty"`
}

// task is a started one without its end mark.
type task struct {
	ID string `json:"id"`
}

const (
	maxTurns = 16 // late lines of older turns don't change them any more
	maxTasks = 8  // nested ones, and those that a kill left open
	maxID    = 128
)

// turnName reads a turn's id, bounded as it is kept in State.
func turnName(v raw) string {
	id := v.str()
	if len(id) > maxID {
		id = preview(id, maxID)
	}
	return id
}

// realTurn tells an id that the agent gave to a turn from one that a converter
// made up for a line or for text put in from outside.
func realTurn(id string) bool {
	return id != "" && !strings.HasPrefix(id, "rollout-") && !strings.HasPrefix(id, "auto-compact-")
}

// openTask gives the innermost open task's id.
func (p *Parser) openTask() string {
	if n := len(p.m.Tasks); n > 0 {
		return p.m.Tasks[n-1].ID
	}
	return ""
}

// currentTurn gives the newest live turn, nil before the first and right after
// a rollback that went behind what is remembered.
func (p *Parser) currentTurn() *turn {
	if n := len(p.m.Turns); n > 0 && p.m.Turns[n-1].Number == p.m.Count {
		return &p.m.Turns[n-1]
	}
	return nil
}

// findTurn gives the live turn with an id, nil if there is none.
func (p *Parser) findTurn(id string) *turn {
	if id == "" {
		return nil
	}
	for i := len(p.m.Turns) - 1; i >= 0; i-- {
		if t := &p.m.Turns[i]; t.ID == id || t.Task == id {
			return t
		}
	}
	return nil
}

// request notes that the item with number seq is a request, which starts a turn
// unless it steers the one that is under way.
func (p *Parser) request(seq int64, id string, at time.Time, d *transcript.Delta) {
	cur := p.currentTurn()
	if cur != nil && realTurn(id) && cur.ID == id {
		p.m.Asked.push(request{seq, false})
		cur.Replied = false
		p.judge(cur, at)
		p.emitTurn(cur, d)
		return
	}
	if cur != nil && !cur.Over {
		p.supersede(cur, at, d)
	}
	p.m.Count++
	p.facts.Turns = p.m.Count
	t := turn{Number: p.m.Count, Started: at, State: transcript.StateUnanswered}
	if realTurn(id) {
		t.ID, t.Marks = id, len(p.m.Tasks) > 0
	} else if id != "" && p.findTurn(id) == nil {
		t.Task, t.Marks = id, len(p.m.Tasks) > 0
	}
	if len(p.m.Turns) >= maxTurns {
		p.m.Turns = append(p.m.Turns[:0], p.m.Turns[1:]...)
	}
	p.m.Turns = append(p.m.Turns, t)
	p.m.Asked.push(request{seq, true})
	p.m.Fresh = false
	p.emitTurn(&t, d)
}

// supersede ends a turn that a new request found without an end mark.
func (p *Parser) supersede(t *turn, at time.Time, d *transcript.Delta) {
	t.Over = true
	switch {
	case t.Replied && !t.Marks:
		t.State = transcript.StateAnswered
	case t.Acted:
		t.State = transcript.StateInterrupted // its mark would be there
	}
	if t.Ended.IsZero() {
		t.Ended = at
	}
	p.emitTurn(t, d)
}

// turnOf gives the number of the turn to which a line with this turn id
// belongs: its own if that is known and live, else the newest.
func (p *Parser) turnOf(id string) int {
	if t := p.findTurn(id); t != nil {
		return t.Number
	}
	return p.m.Count
}

// act notes what the agent did in a turn.
func (p *Parser) act(it *transcript.Item, d *transcript.Delta) {
	t := p.findTurn(it.TurnID)
	if t == nil {
		t = p.currentTurn()
	}
	if t == nil || t.Over {
		return
	}
	was := *t
	t.Acted = true
	switch it.Role {
	case transcript.RoleAssistant:
		t.Replied = it.Phase != transcript.PhaseCommentary
	case transcript.RoleToolCall, transcript.RoleToolResult:
		t.Replied = false
	case transcript.RoleUser, transcript.RoleReasoning, transcript.RoleAgent, transcript.RoleCompaction:
	}
	p.judge(t, it.Time)
	if t.State != was.State || t.Ended != was.Ended {
		p.emitTurn(t, d)
	}
}

// judge sets the state of a turn that has no end mark (yet).
func (p *Parser) judge(t *turn, at time.Time) {
	switch {
	case t.Over:
	case t.Replied && !t.Marks:
		t.State, t.Ended = transcript.StateAnswered, at
	case t.Acted:
		t.State, t.Ended = transcript.StateRunning, time.Time{}
	default:
		t.State, t.Ended = transcript.StateUnanswered, time.Time{}
	}
}

// taskStarted notes a start mark.
func (p *Parser) taskStarted(id string, d *transcript.Delta) {
	if id == "" {
		return
	}
	if len(p.m.Tasks) >= maxTasks {
		p.m.Tasks = append(p.m.Tasks[:0], p.m.Tasks[1:]...)
	}
	p.m.Tasks = append(p.m.Tasks, task{id})
	p.m.Fresh = false
	// A converted rollout has the mark behind the request.
	if t := p.currentTurn(); t != nil && !realTurn(id) && t.ID == "" && t.Task == "" {
		t.Task, t.Marks, t.Over = id, true, false
		p.judge(t, t.Started)
		p.emitTurn(t, d)
	}
}

// taskEnded closes a task and the turn it belongs to. The mark of an aborted
// turn may lack the id.
func (p *Parser) taskEnded(id string, at time.Time, end func(*turn), d *transcript.Delta) {
	t := p.findTurn(id)
	if id == "" {
		t = p.currentTurn()
		p.m.Tasks = p.m.Tasks[:0]
	}
	for i := range p.m.Tasks {
		if p.m.Tasks[i].ID == id {
			p.m.Tasks = p.m.Tasks[:i]
			break
		}
	}
	if t == nil || t.Over && id == "" {
		return
	}
	t.Over, t.Ended = true, at
	end(t)
	p.emitTurn(t, d)
}

// emitTurn puts the newest state of a turn into d.
func (p *Parser) emitTurn(t *turn, d *transcript.Delta) {
	out := transcript.Turn{Number: t.Number, ID: t.ID, Started: t.Started, Ended: t.Ended, State: t.State, Error: t.Error}
	for i := len(d.Turns) - 1; i >= 0; i-- {
		if d.Turns[i].Number == t.Number {
			d.Turns[i] = out
			return
		}
	}
	d.Turns = append(d.Turns, out)
}

// rollback takes the last n requests and all that follows them from the branch.
func (p *Parser) rollback(n int64, r *record, d *transcript.Delta) {
	if n <= 0 || p.m.Seq == 0 {
		return
	}
	from := int64(1)
	keep := int64(len(p.m.Asked)) - n
	if keep >= 0 {
		from = p.m.Asked[keep].seq
	}
	keep = max(0, keep)
	for _, q := range p.m.Asked[keep:] {
		if q.starts {
			p.m.Count--
		}
	}
	p.m.Asked = p.m.Asked[:keep]
	if keep == 0 {
		p.m.Count = 0
	}
	if p.m.First >= from {
		p.facts.FirstUser, p.m.First, p.m.FirstOwn = "", 0, false
	}
	for len(p.m.Turns) > 0 && p.m.Turns[len(p.m.Turns)-1].Number > p.m.Count {
		p.m.Turns = p.m.Turns[:len(p.m.Turns)-1]
	}
	p.facts.Turns = p.m.Count
	p.m.Last, p.m.Echo = lastItem{}, echo{}
	p.dead(from, p.m.Seq, r, d)
}

func (p *Parser) dead(from, to int64, r *record, d *transcript.Delta) {
	d.Dead = append(d.Dead, transcript.Dead{
		Range: transcript.Range{From: from, To: to}, Offset: r.offset, Ordinal: r.ordinal,
	})
}
