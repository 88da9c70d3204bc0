package rollout

import "github.com/session-migrator/session-migrator/pipeline/transcript"

// firstRequest is what is remembered until the first request is known: which
// items it holds. They stand before its answer, whichever of the answer and its
// token count a version writes first.
type firstRequest struct {
	Asked   int64 `json:"asked,omitempty"`   // newest message of a person or agent
	Worked  bool  `json:"worked,omitempty"`  // a tool answered, or a model thought: what follows is no first message
	Unclear bool  `json:"unclear,omitempty"` // what the request holds is not only what is counted
	Over    bool  `json:"over,omitempty"`    // it is known, or can't be
}

// hosted are the tools that a vendor runs within one request: what they find is
// in its count.
func hosted(name string) bool {
	return name == "web_search" || name == "image_generation" || name == "tool_search"
}

func (f *firstRequest) see(it *transcript.Item) {
	if f.Over {
		return
	}
	switch it.Role {
	case transcript.RoleUser, transcript.RoleAgent:
		f.Asked = it.Seq
		f.Unclear = f.Unclear || f.Worked || it.Images > 0
	case transcript.RoleToolResult, transcript.RoleReasoning, transcript.RoleCompaction:
		f.Worked = true
	case transcript.RoleToolCall:
		f.Unclear = f.Unclear || hosted(it.Name)
	case transcript.RoleAssistant:
		f.Unclear = f.Unclear || it.Images > 0
	}
}

// firstRequest takes the vendor's count of the first request, if all that the
// request holds beside what the program put there was read here: nothing was
// rolled back or compacted before, no history is elsewhere, there are no
// pictures, and the counter began with it.
func (p *Parser) firstRequest(total, last transcript.Usage) {
	f := &p.m.Request
	if f.Over || last.Input == 0 {
		return
	}
	f.Over = true
	if f.Unclear || f.Asked == 0 || total != last || p.facts.Base != nil || p.facts.Model == "" || p.facts.Compactions > 0 || p.facts.Rollbacks > 0 {
		return
	}
	p.facts.First = transcript.FirstRequest{Model: p.facts.Model, Input: last.Input, Through: f.Asked}
}
