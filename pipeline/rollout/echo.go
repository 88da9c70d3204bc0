package rollout

import (
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Codex itself writes every message as a response item. Some other writers of
// its format leave that out for the person's words, or for all, and write the
// event only. As long as no person's message came as response item, an event is
// taken as one; if its response item follows after all, that is not taken a
// second time. In Codex's own files the item comes first, so none of this
// happens there, save in reviews, where the events are the reviewer's.

// echoNote is how such lines are counted in Delta.Unknown.
const echoNote = "user_message without response_item"

func (p *Parser) userEvent(r *record, d *transcript.Delta) {
	if p.m.Responses || p.m.Review || p.copied(r) {
		return
	}
	text := p.eventText(r)
	images := 0
	for _, k := range [...]string{"images", "local_images"} {
		for w := r.payload.get(k).elements(); ; images++ {
			if _, ok := w.element(); !ok {
				break
			}
		}
	}
	if text == "" && images == 0 || injected(text) {
		return
	}
	if p.m.Echo.Open {
		p.echoConfirmed(d)
	}
	p.facts.Images += images
	key := itemKey(transcript.RoleUser, text, "", "", "")
	p.person(transcript.Item{Role: transcript.RoleUser, Text: text, Images: images, TurnID: p.openTask(), Key: key}, r, d)
	p.m.Echo = echo{Line: r.line, User: key, Open: true, Count: p.m.Echo.Count + 1, Images: images}
}

func (p *Parser) eventText(r *record) string {
	if text := r.payload.get("message"); text != nil || !r.head {
		return text.str()
	}
	return cutString(r.payload, `"message":"`)
}

// echoConfirmed notes that a person's message had no response item.
func (p *Parser) echoConfirmed(d *transcript.Delta) {
	p.m.Echo.Open = false
	p.unknown("event_msg", echoNote, place{line: p.m.Echo.Line}, d)
}

// echoAnswered handles the first response item of a person: true if it is the
// one whose event was taken already.
func (p *Parser) echoAnswered(key uint64, r *record, d *transcript.Delta) bool {
	e := p.m.Echo
	p.m.Echo = echo{}
	if e.User == key {
		p.m.Responses = true
		return true
	}
	// The same message in another shape: the item is the canonical one.
	p.facts.Images -= e.Images
	p.rollback(1, r, d)
	return false
}

func (p *Parser) agentEvent(r *record, d *transcript.Delta) {
	if p.m.Responses || p.m.Answers || p.m.Review || p.m.Echo.Count == 0 || p.copied(r) {
		return
	}
	text := p.eventText(r)
	if text == "" || text == "Compact task completed" {
		return
	}
	out := transcript.Item{Role: transcript.RoleAssistant, Text: text, Phase: phaseOf(r.payload.get("phase")), TurnID: p.openTask()}
	out.Key = itemKey(out.Role, text, "", "", "")
	p.add(out, r, d)
	p.m.Echo.Agent, p.m.Echo.HasText = out.Key, true
}
