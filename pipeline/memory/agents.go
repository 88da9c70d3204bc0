package memory

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// commits finds what makes a commit.
var commits = pattern.Lazy(`\bgit( -[cC] \S+)* commit\b`)

// agentCall reads the calls by which an agent has another one work; false for
// other calls.
func (d *Document) agentCall(m *transcript.Message, result *transcript.Message) bool {
	switch m.Name {
	case "spawn_agent", "followup_task":
		var args struct {
			Message string `json:"message"`
			Prompt  string `json:"prompt"`
		}
		if json.Unmarshal([]byte(m.Args), &args) == nil {
			d.agentNote(first(args.Message, args.Prompt), m.ThreadTurn, false)
		}
		return true
	case "wait_agent", "wait":
		var out struct {
			Status map[string]json.RawMessage `json:"status"`
		}
		if result == nil || json.Unmarshal([]byte(result.Text), &out) != nil {
			return m.Name == "wait_agent"
		}
		ids := make([]string, 0, len(out.Status))
		for id := range out.Status {
			ids = append(ids, id)
		}
		sort.Strings(ids)
		for _, id := range ids {
			var end struct {
				Completed string `json:"completed"`
				Errored   string `json:"errored"`
			}
			if json.Unmarshal(out.Status[id], &end) == nil {
				d.agentNote(first(end.Completed, end.Errored), m.ThreadTurn, true)
			}
		}
		return true
	}
	return false
}

// question reads the call by which the agent asks the person; false for other
// calls. A reply is its result, or the next message.
func (d *Document) question(m *transcript.Message, result *transcript.Message) bool {
	if m.Name != "request_user_input" && m.Name != "request_user_input_async" {
		return false
	}
	var args struct {
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	}
	if json.Unmarshal([]byte(m.Args), &args) != nil || result != nil && m.Name == "request_user_input" {
		return true
	}
	var all []string
	for _, q := range args.Questions {
		if text := strings.TrimSpace(clean(q.Question)); text != "" {
			all = append(all, text)
		}
	}
	d.Question = Quote{Text: strings.Join(all, " "), Turn: m.ThreadTurn}
	return true
}

// agentSaid reads what another agent said to this one.
func (d *Document) agentSaid(m *transcript.Message) {
	text := m.Text
	if head, payload, ok := strings.Cut(text, "Payload:\n"); ok && strings.Contains(head, "Message Type:") {
		if strings.Contains(head, "NEW_TASK") {
			return // the task of this thread, or of a call that was read
		}
		text = payload
	}
	if !d.Task {
		d.agentNote(text, m.ThreadTurn, true)
	}
}

func (d *Document) agentNote(text string, turn int, report bool) {
	if text = strings.TrimSpace(clean(text)); text == "" {
		return
	}
	for _, a := range d.Agents {
		if a.Text == text && a.Report == report && a.Turn == turn {
			return
		}
	}
	d.Agents = append(d.Agents, AgentNote{Quote{Text: text, Turn: turn}, report})
}
