package rollout

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// item is the payload of a response item, its parts not yet decoded.
type item struct {
	kind, role                     string
	content, summary, action       raw
	name, args, input, output      raw
	callID, id, phase, passthrough raw
	prompt, tools                  raw
}

// openItem finds the parts of a payload, up to its end or the first fault.
func openItem(w *walker) item {
	var it item
	for {
		k, m, ok := w.member()
		if !ok {
			return it
		}
		switch string(k) {
		case "type":
			it.kind = kindName(m)
		case "role":
			it.role = m.str()
		case "content":
			it.content = m
		case "summary":
			it.summary = m
		case "action":
			it.action = m
		case "name":
			it.name = m
		case "arguments":
			it.args = m
		case "input":
			it.input = m
		case "output":
			it.output = m
		case "call_id":
			it.callID = m
		case "id":
			it.id = m
		case "phase":
			it.phase = m
		case "internal_chat_message_metadata_passthrough":
			it.passthrough = m
		case "revised_prompt":
			it.prompt = m
		case "tools":
			it.tools = m
		}
	}
}

// responseItem reads a line of the transcript.
func (p *Parser) responseItem(r *record, d *transcript.Delta) {
	w := r.payload.members()
	it := openItem(&w)
	p.takeItem(&it, r, d)
}

func (p *Parser) takeItem(it *item, r *record, d *transcript.Delta) {
	switch it.kind {
	case "message":
		switch it.role {
		case "user":
			p.userMessage(it, r, d)
		case "assistant":
			p.assistantMessage(it, r, d)
		case "developer", "system":
			p.facts.Injected++
		default:
			p.unknown("response_item", "message of role "+it.role, r.place, d)
		}
	case "reasoning":
		p.reasoning(it, r, d)
	case "agent_message":
		p.agentMessage(it, r, d)
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		p.toolCall(it, r, d)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
		p.toolResult(it, r, d)
	default:
		if _, ok := itemNeeds[it.kind]; !ok {
			p.unknown("response_item", it.kind, r.place, d)
		}
	}
}

// turnID gives the id of the turn that an item says it belongs to, else that
// of the task under way.
func (p *Parser) turnID(it *item) string {
	if it.passthrough != nil {
		if id := turnName(it.passthrough.get("turn_id")); id != "" {
			return id
		}
	}
	return p.openTask()
}

// add completes an item that is no request and emits it.
func (p *Parser) add(out transcript.Item, r *record, d *transcript.Delta) {
	if p.m.Echo.Open {
		p.echoConfirmed(d)
	}
	if out.Key == 0 {
		out.Key = itemKey(out.Role, out.Text, out.Name, out.CallID, out.Args)
	}
	out.Inherited = p.inherit(out.Role, out.Key, out.TurnID, r)
	out.Turn = p.turnOf(out.TurnID)
	out.Time = r.time
	p.act(&out, d)
	p.emit(out, r, d)
	if out.Role != transcript.RoleReasoning {
		p.m.Last = lastItem{Seq: p.m.Seq}
	}
}

func (p *Parser) assistantMessage(it *item, r *record, d *transcript.Delta) {
	if r.meta.get("compaction_output").isTrue() {
		return // a summary, which the compacted line tells again
	}
	text, images := joined(it.content, "")
	p.facts.Images += images
	out := transcript.Item{Role: transcript.RoleAssistant, Text: text, Images: images, Phase: phaseOf(it.phase), TurnID: p.turnID(it)}
	out.Key = itemKey(out.Role, text, "", "", "")
	if p.m.Echo.HasText && p.m.Echo.Agent == out.Key {
		// Its event came first and was taken for all there is.
		p.m.Echo.HasText, p.m.Answers = false, true
		return
	}
	p.m.Answers = true
	p.add(out, r, d)
	p.m.Last.Hash, p.m.Last.Len = hash64(0, text), len(text)
}

func phaseOf(v raw) transcript.Phase {
	switch v.str() {
	case "commentary", "partial_answer":
		return transcript.PhaseCommentary
	case "final_answer":
		return transcript.PhaseFinal
	}
	return 0
}

// reasoning takes the summary, else the text; never what is encrypted.
func (p *Parser) reasoning(it *item, r *record, d *transcript.Delta) {
	text, _ := joined(it.summary, "\n\n")
	if text == "" {
		text, _ = joined(it.content, "\n\n")
	}
	if text == "" {
		return
	}
	p.add(transcript.Item{Role: transcript.RoleReasoning, Text: text, TurnID: p.turnID(it)}, r, d)
}

// agentMessage is what another agent said to this one. A sub-agent gets its
// task so.
func (p *Parser) agentMessage(it *item, r *record, d *transcript.Delta) {
	text, images := joined(it.content, "\n")
	p.facts.Images += images
	out := transcript.Item{Role: transcript.RoleAgent, Text: text, Images: images, TurnID: p.turnID(it)}
	cur := p.currentTurn()
	if p.facts.Subagent && (cur == nil || !realTurn(out.TurnID) || cur.ID != out.TurnID) {
		p.request(p.m.Seq+1, out.TurnID, r.time, d)
	}
	p.add(out, r, d)
}

func (p *Parser) toolCall(it *item, r *record, d *transcript.Delta) {
	out := transcript.Item{Role: transcript.RoleToolCall, Name: it.name.str(), CallID: it.callID.str(), TurnID: p.turnID(it)}
	if out.Name == "" {
		out.Name = strings.TrimSuffix(it.kind, "_call")
	}
	switch {
	case it.args.isString():
		out.Args = it.args.str()
	case it.args.isObject() || it.args.isArray():
		out.Args = repair(it.args)
	case it.input.isString():
		out.Args = it.input.str()
	case it.input != nil && !it.input.isNull():
		out.Args = repair(it.input)
	case it.action.isObject():
		out.Args = repair(it.action)
	case it.prompt.isString():
		out.Args = it.prompt.str()
	}
	if it.kind == "image_generation_call" {
		out.Images = 1
		p.facts.Images++
	}
	out.Key = itemKey(out.Role, "", out.Name, out.CallID, out.Args)
	if out.CallID == "" {
		out.CallID = it.id.str()
	}
	p.add(out, r, d)
}

// joined puts the texts of a content list together; encrypted parts and
// pictures have none.
func joined(v raw, between string) (text string, images int) {
	if v.isString() {
		return v.str(), 0
	}
	var parts []string
	for w := v.elements(); ; {
		e, ok := w.element()
		if !ok {
			break
		}
		if e.isString() {
			parts = append(parts, e.str())
			continue
		}
		t, isImage := partText(e)
		if isImage {
			images++
		} else if t != nil {
			parts = append(parts, t.str())
		}
	}
	if len(parts) == 1 {
		return parts[0], images
	}
	return strings.Join(parts, between), images
}

// partText looks at one part of a message.
func partText(v raw) (text raw, image bool) {
	for w := v.members(); ; {
		k, m, ok := w.member()
		if !ok {
			return text, image
		}
		switch string(k) {
		case "text":
			if m.isString() {
				text = m
			}
		case "type":
			image = image || isImageType(m)
		case "image_url":
			image = true
		}
	}
}

func isImageType(v raw) bool {
	switch string(v) {
	case `"input_image"`, `"image"`, `"local_image"`, `"output_image"`:
		return true
	}
	return false
}

func (v raw) isNull() bool { return len(v) == 4 && v[0] == 'n' }
func (v raw) isTrue() bool { return len(v) == 4 && v[0] == 't' }
