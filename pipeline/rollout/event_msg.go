package rollout

import (
	"bytes"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// eventMsg reads the marks among the events. What events repeat of the
// transcript is left alone.
func (p *Parser) eventMsg(r *record, d *transcript.Delta) {
	v := r.payload
	kind := r.sub
	if kind == "" {
		kind = kindName(v.get("type"))
	}
	switch kind {
	case "token_count":
		p.tokenCount(r, d)
	case "task_started", "turn_started":
		id := ""
		for w := v.members(); ; {
			k, m, ok := w.member()
			if !ok {
				break
			}
			if string(k) == "turn_id" {
				id = turnName(m)
			}
			p.limit(k, m)
		}
		p.copyTurn(id)
		p.taskStarted(id, d)
	case "task_complete", "turn_complete":
		p.taskComplete(r, d)
	case "turn_aborted":
		p.taskEnded(turnName(v.get("turn_id")), r.time, func(t *turn) { t.State = transcript.StateInterrupted }, d)
	case "error":
		if t := p.currentTurn(); t != nil && !t.Over {
			t.Error = errorText(v)
		}
	case "thread_rolled_back":
		p.facts.Rollbacks++
		p.rollback(v.get("num_turns").integer(), r, d)
	case "thread_name_updated":
		if !p.copied(r) {
			p.facts.Title = v.get("thread_name").str()
		}
	case "user_message":
		p.userEvent(r, d)
	case "agent_message":
		p.agentEvent(r, d)
	case "entered_review_mode":
		p.m.Review = true
	case "item_completed":
		p.completedItem(v.get("item").get("type").str(), r.place, d)
	default:
		if _, ok := eventNeeds[kind]; !ok {
			p.unknown("event_msg", kind, r.place, d)
		}
	}
}

func (p *Parser) taskComplete(r *record, d *transcript.Delta) {
	var id, last string
	var failure raw
	for w := r.payload.members(); ; {
		k, v, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "turn_id":
			id = turnName(v)
		case "last_agent_message":
			last = v.str()
		case "error":
			failure = v
		}
	}
	p.taskEnded(id, r.time, func(t *turn) {
		switch {
		case failure.isObject() || failure.isString():
			t.State, t.Error = transcript.StateFailed, errorText(failure)
		case last != "" || t.Replied:
			t.State, t.Error = transcript.StateAnswered, "" // it was tried again
		case t.Error != "":
			t.State = transcript.StateFailed
		case t.Acted:
			t.State = transcript.StateInterrupted
		default:
			t.State = transcript.StateUnanswered
		}
	}, d)
}

// errorText gives a failed turn's message, bounded as it is kept in State.
func errorText(v raw) string {
	s := v.str()
	if v.isObject() {
		s = v.get("message").str()
	}
	return preview(s, 500)
}

// completedItem checks that the kind of a finished item is a known one.
func (p *Parser) completedItem(kind string, at place, d *transcript.Delta) {
	switch {
	case kind == "EnteredReviewMode":
		p.m.Review = true
	case kind != "" && !completedItems[kind]:
		p.unknown("item_completed", kind, at, d)
	}
}

// itemKind finds the kind of a finished item in the first bytes of its
// payload; empty if it isn't where every version puts it.
func itemKind(rest []byte) string {
	mark := []byte(`,"item":{"type":"`)
	i := bytes.Index(rest[:min(len(rest), 300)], mark)
	if i < 0 {
		return ""
	}
	rest = rest[i+len(mark):]
	end := bytes.IndexByte(rest[:min(len(rest), 64)], '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return ""
	}
	return string(rest[:end])
}
