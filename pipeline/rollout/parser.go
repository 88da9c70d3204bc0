package rollout

import (
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Ancestor is an item of a parent rollout, as far as it is needed to
// recognise a copy of it.
type Ancestor struct {
	Key  uint64
	Role transcript.Role
	Dead bool
}

// Lineage is all items of a parent rollout in file order.
type Lineage []Ancestor

// Options are what a parser may ask of its surroundings.
type Options struct {
	// Parent gives the items of the parent thread whose lines were copied to
	// the front of this rollout; false if it isn't known (yet). It is asked at
	// most once by a parser, when the first copied item is read. Nil: no
	// parent is known.
	Parent func(threadID string) (Lineage, bool)
}

// Line is one line of a rollout, or the part of it that was asked for.
type Line struct {
	Bytes   []byte // without the newline; only the head if less was needed
	Number  int64  // 1-based
	Offset  int64  // logical offset in the rollout
	Size    int64  // bytes of the line in the file
	Need    Need   // what Bytes was cut down to, as Classify said; zero counts as NeedAll
	TooLong bool   // the line is above the reader's cap: Bytes is its first bytes only
	// Rest is, of a line above the reader's cap, what stands from the last
	// Restart on, if there is one behind its start.
	Rest []byte
}

// Parser turns the lines of one rollout into deltas. It is not safe for
// concurrent use.
type Parser struct {
	facts transcript.Facts
	m     memory
	opt   Options

	lineage Lineage
	asked   bool // Options.Parent was asked, or need not be
}

// NewParser makes a parser that goes on after the lines that led to st; the
// zero State is the start of a rollout.
func NewParser(st State, opt Options) *Parser {
	return &Parser{facts: st.Facts, m: st.m.clone(), opt: opt}
}

// State gives what is to be stored with the lines read so far.
func (p *Parser) State() State {
	st := State{Facts: p.facts, m: p.m.clone()}
	if p.facts.Base != nil {
		base := *p.facts.Base
		st.Facts.Base = &base
	}
	return st
}

// AwaitsParent gives the thread id of the parent whose lines were copied to
// the front of this rollout, if it wasn't known when they were read: what is
// inherited was then told by times alone, and should be read again when the
// parent appears. Empty otherwise.
func (p *Parser) AwaitsParent() string { return p.m.Awaits }

// place is where a record stands.
type place struct {
	line    int64
	offset  int64
	size    int64
	ordinal int64
	time    time.Time
}

// record is one line's content with its grammar checked.
type record struct {
	kind    string
	sub     string // payload type, where the head told it
	payload raw
	meta    raw  // metadata beside the payload
	head    bool // payload may be cut off
	place
}

// take hands a record to the reader of its kind.
func (p *Parser) take(r *record, d *transcript.Delta) {
	p.step(r)
	switch r.kind {
	case "response_item":
		p.responseItem(r, d)
	case "event_msg":
		p.eventMsg(r, d)
	case "turn_context":
		p.turnContext(r)
	case "session_meta":
		p.sessionMeta(r)
	case "token_usage_record":
		p.tokenUsageRecord(r)
	case "compacted":
		p.compacted(r, d)
	default:
		if _, ok := lineNeeds[r.kind]; !ok {
			p.unknown("line", r.kind, r.place, d)
		}
	}
}

// skim takes from a head what can be had without the payload: time, ordinal
// and the names to count.
func (p *Parser) skim(h *head, b []byte, at place, d *transcript.Delta) {
	at.ordinal, at.time = h.ordinal, parseStamp(h.stamp)
	r := record{kind: h.kind, place: at}
	p.step(&r)
	switch h.kind {
	case "event_msg":
		switch h.sub {
		case "item_completed":
			p.completedItem(itemKind(b[h.rest:]), at, d)
		case "entered_review_mode":
			p.m.Review = true
		}
		if _, ok := eventNeeds[h.sub]; !ok {
			p.unknown("event_msg", h.sub, at, d)
		}
	case "response_item":
		if _, ok := itemNeeds[h.sub]; !ok {
			p.unknown("response_item", h.sub, at, d)
		} else if h.sub == "message" {
			p.facts.Injected++
		}
	default:
		if _, ok := lineNeeds[h.kind]; !ok {
			p.unknown("line", h.kind, at, d)
		}
	}
}

// step follows the clock of the lines and what it says of copied history.
func (p *Parser) step(r *record) {
	if r.ordinal >= 0 {
		p.m.Ordinal = r.ordinal
	}
	if r.time.IsZero() {
		return
	}
	if r.time.After(p.facts.Updated) {
		p.facts.Updated = r.time
	}
	p.copyClock(r.time)
}

// emit gives an item its number and place and appends it to d.
func (p *Parser) emit(it transcript.Item, r *record, d *transcript.Delta) {
	p.m.Seq++
	it.Seq = p.m.Seq
	it.Time, it.Offset, it.Size, it.Ordinal = r.time, r.offset, r.size, r.ordinal
	p.m.Request.see(&it)
	d.Bytes += int64(len(it.Text) + len(it.Args))
	d.Items = append(d.Items, it)
}

// itemKey hashes what survives re-serialisation by another version.
func itemKey(role transcript.Role, text, name, callID, args string) uint64 {
	h := hash64(uint64(role), text)
	if role == transcript.RoleToolCall || role == transcript.RoleToolResult {
		h = hash64(hash64(hash64(h, name), callID), args)
	}
	return h
}
