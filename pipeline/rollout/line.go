package rollout

import (
	"bytes"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

var (
	byteOrderMark = []byte("\xEF\xBB\xBF")
	payloadStart  = []byte(`"payload":{`)
)

// Line reads one line into d. It never fails: what can't be read is reported
// in d.Damage, what isn't known in d.Unknown.
func (p *Parser) Line(l Line, d *transcript.Delta) {
	d.Lines++
	b := l.Bytes
	if l.Number <= 1 {
		b = bytes.TrimPrefix(b, byteOrderMark)
	}
	start := skipSpace(b, 0)
	b = b[start:]
	if len(b) == 0 {
		return
	}
	at := place{line: l.Number, offset: l.Offset, size: l.Size, ordinal: -1}
	// [1] how much is needed, and how much is there
	h, shaped := parseHead(b)
	if l.Rest != nil && p.rest(&h, l.Rest, at, d) {
		return
	}
	if l.TooLong {
		p.tooLong(&h, shaped, at, d)
		return
	}
	// The newline and a carriage return may or may not be part of the size.
	complete := l.Need <= NeedAll || int64(len(l.Bytes)) >= l.Size-2
	if complete {
		b = bytes.TrimRight(b, " \t\r\n")
	}
	need := NeedAll
	if shaped {
		if n, isKnown := h.need(b); isKnown || !complete {
			need = n
			if !isKnown {
				need = NeedNone
			}
		}
		if need == NeedHead && h.kind == "event_msg" && p.m.Responses {
			need = NeedNone // the response item has it
		}
	}
	switch {
	case need == NeedNone && (!complete || intact(b)):
		p.skim(&h, b, at, d)
	case !complete && need == NeedHead:
		p.take(headRecord(&h, b, at), d)
	case !complete && shaped:
		p.damage(at, "too-long", h.kind, l.Size, 0, d)
	default:
		// [2] grammar, envelope
		p.full(&h, shaped, b, at, start, d)
	}
}

// intact tells cheaply whether a line whose content isn't needed ends as
// records do and hides no other record.
func intact(b []byte) bool {
	return bytes.HasSuffix(b, []byte("}}")) && !bytes.Contains(b[1:], recordStart) && bytes.IndexByte(b, 0) < 0
}

// headRecord makes a record of the first bytes of a line.
func headRecord(h *head, b []byte, at place) *record {
	at.ordinal, at.time = h.ordinal, parseStamp(h.stamp)
	i := bytes.Index(b, payloadStart) + len(payloadStart) - 1
	return &record{kind: h.kind, sub: h.sub, payload: b[i:], head: true, place: at}
}

func (p *Parser) tooLong(h *head, shaped bool, at place, d *transcript.Delta) {
	detail := ""
	if shaped {
		detail = h.name()
		at.time, at.ordinal = parseStamp(h.stamp), h.ordinal
		p.step(&record{place: at})
	}
	p.damage(at, "too-long", detail, at.size, 0, d)
}

// rest takes in the record that was glued to a torn line above the cap. Where
// the rest is more or less than a record, it is part of the long one: false.
func (p *Parser) rest(h *head, b []byte, at place, d *transcript.Delta) bool {
	b = bytes.TrimRight(b, " \t\r\n")
	v, ok := whole(b)
	if !ok || !v.isObject() {
		return false
	}
	inner := at
	inner.offset, inner.size = at.offset+at.size-int64(len(b)+1), int64(len(b))
	r, ok := p.open(v, inner)
	if !ok {
		return false
	}
	p.take(&r, d)
	p.damage(at, "torn", h.name(), at.size-int64(len(b)), 1, d)
	return true
}

// full reads a complete line.
func (p *Parser) full(h *head, shaped bool, b []byte, at place, start int, d *transcript.Delta) {
	if shaped {
		if r, it, ok := openDirect(h, b, at); ok {
			if h.kind == "response_item" {
				p.step(&r)
				p.takeItem(&it, &r, d)
			} else {
				p.take(&r, d)
			}
			return
		}
	}
	v, ok := whole(b)
	if !ok {
		p.salvage(b, at, start, d)
		return
	}
	if !v.isObject() {
		p.damage(at, "not-an-object", "", at.size, 0, d)
		return
	}
	r, ok := p.open(v, at)
	if !ok {
		detail := r.kind
		p.damage(at, "no-payload", detail, at.size, 0, d)
		return
	}
	p.take(&r, d)
}

// openDirect opens a line in the order of keys that all versions write; false
// for anything else, which open then looks at. Most bytes of a rollout are
// items: their payload is read while its grammar is checked.
func openDirect(h *head, b []byte, at place) (r record, it item, ok bool) {
	payload := bytes.Index(b[:h.rest], payloadStart) + len(payloadStart) - 1
	var end int
	if h.kind == "response_item" {
		w := walker{b: b, i: payload + 1}
		it = openItem(&w)
		end = w.closed()
	} else {
		end = skipObject(b, payload, 2)
	}
	if end < 0 {
		return r, it, false
	}
	at.ordinal, at.time = h.ordinal, parseStamp(h.stamp)
	r = record{kind: h.kind, sub: h.sub, payload: b[payload:end], place: at}
	for w := (walker{b: b, i: end, begun: true}); ; {
		k, v, more := w.member()
		if !more {
			return r, it, w.closed() == len(b)
		}
		switch string(k) {
		case "metadata":
			r.meta = v
		case "timestamp", "type", "ordinal", "payload":
			return r, it, false
		}
	}
}

// open finds type, time, ordinal and payload of a record in any era's form.
func (p *Parser) open(v raw, at place) (record, bool) {
	r := record{place: at}
	var id, state, stamp, payload raw
	for w := v.members(); ; {
		k, m, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "timestamp":
			stamp = m
		case "ordinal":
			r.ordinal = -1
			if len(m) > 0 && (m[0] >= '0' && m[0] <= '9') {
				r.ordinal = m.integer()
			}
		case "type":
			r.kind = kindName(m)
		case "payload":
			payload = m
		case "metadata":
			r.meta = m
		case "record_type":
			state = m
		case "id":
			id = m
		}
	}
	r.time = parseTime(stamp)
	switch {
	case payload != nil:
		r.payload = payload
		return r, payload.isObject() && r.kind != ""
	case state != nil && r.kind == "":
		r.kind = "inter_agent_communication_metadata" // a mark without content
		return r, true
	case stamp == nil && r.kind != "": // a bare item
		_, isKnown := itemNeeds[r.kind]
		if isKnown || p.m.Bare {
			p.m.Bare = true
			r.kind, r.payload = "response_item", v
		}
		return r, true
	case stamp != nil && id.isString() && r.kind == "": // a bare header
		p.m.Bare = true
		r.kind, r.payload = "session_meta", v
		return r, true
	}
	return r, false
}

func kindName(v raw) string {
	if !v.isString() {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 && len(v) < 40 && utf8.Valid(v) {
		return known(v[1 : len(v)-1])
	}
	return v.str()
}

func (p *Parser) damage(at place, cause, detail string, lost int64, salvaged int, d *transcript.Delta) {
	d.Damage = append(d.Damage, transcript.Damage{
		Line: at.line, Offset: at.offset, Size: lost, Cause: cause, Detail: preview(detail, 80), Salvaged: salvaged,
	})
}
