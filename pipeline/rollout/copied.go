package rollout

import (
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// copying follows the lines of a parent that were copied to the front of a
// fork. The copies bear the time of the fork, all within moments.
type copying struct {
	Active bool      `json:"on,omitempty"`
	Prev   time.Time `json:"prev,omitzero"`  // of the line before
	Next   int       `json:"next,omitempty"` // lineage entry that is expected next
	Ids    bool      `json:"ids,omitempty"`  // copies bear turn ids that tell their age
}

const (
	copyPause = 2 * time.Second // between two copied lines there is never more
	// Without anything else to tell copies by, a shorter pause must do: nobody
	// types a request within it.
	copyPauseAlone = time.Second
)

// copied tells whether a line that makes no item is inherited.
func (p *Parser) copied(r *record) bool {
	return p.m.Copy.Active || p.belowStart(r)
}

func (p *Parser) belowStart(r *record) bool {
	return r.ordinal >= 0 && r.ordinal < p.m.Start
}

// copyBegins starts copy mode at the header of another thread.
func (p *Parser) copyBegins(id string, at time.Time) {
	p.facts.CopyOf = id
	p.m.Copy = copying{Active: true, Prev: at}
}

// copyClock ends copy mode at a pause.
func (p *Parser) copyClock(at time.Time) {
	c := &p.m.Copy
	if !c.Active {
		return
	}
	pause := at.Sub(c.Prev)
	alone := p.m.Awaits != "" && !c.Ids
	if !c.Prev.IsZero() && (pause > copyPause || alone && pause >= copyPauseAlone) {
		c.Active = false
	}
	c.Prev = at
}

// copyTurn ends copy mode at a turn that is younger than the fork, and tells
// whether the id proves that its turn is older.
func (p *Parser) copyTurn(id string) (older bool) {
	c := &p.m.Copy
	at := idTime(id)
	if !c.Active || at.IsZero() || p.m.Born.IsZero() {
		return false
	}
	if !at.Before(p.m.Born) {
		c.Active = false
		return false
	}
	c.Ids = true
	return true
}

// inherit tells whether an item is a parent's.
func (p *Parser) inherit(role transcript.Role, key uint64, turnID string, r *record) bool {
	if p.belowStart(r) {
		return true
	}
	c := &p.m.Copy
	if !c.Active {
		return false
	}
	older := p.copyTurn(turnID)
	if !c.Active {
		return false
	}
	parent, ok := p.parent()
	if !ok {
		return true
	}
	for j := c.Next; j < len(parent); j++ {
		a := &parent[j]
		if a.Key == key && a.Role == role {
			c.Next = j + 1
			return true
		}
		// A sub-agent gets the persons' words only, and not every version
		// copies reasoning.
		if !a.Dead && a.Role != transcript.RoleReasoning && !(p.facts.Subagent && a.Role != transcript.RoleUser) {
			break
		}
	}
	if role == transcript.RoleUser && !older {
		c.Active = false // the fork's own first request
		return false
	}
	return true // nothing of its own comes before that
}

// parent asks for the lineage, once.
func (p *Parser) parent() (Lineage, bool) {
	if !p.asked {
		p.asked = true
		if p.m.Awaits != "" {
			return nil, false // its first items went by unmatched
		}
		ok := false
		if p.opt.Parent != nil {
			p.lineage, ok = p.opt.Parent(p.facts.CopyOf)
		}
		if !ok {
			p.lineage, p.m.Awaits = nil, p.facts.CopyOf
		}
	}
	return p.lineage, p.m.Awaits == ""
}
