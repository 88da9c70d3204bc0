package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// givenMessage is a message in the words of OpenAI's or Anthropic's API.
type givenMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // string, or blocks
	Name       string          `json:"name"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// givenBlock is a part of a message's content.
type givenBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// givenMessages reads messages_json: a list, or an object with one, as JSON or
// as a string of it.
func givenMessages(raw json.RawMessage) ([]transcript.Message, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, advise("messages_json is not a string: %v.", err)
		}
		raw = bytes.TrimSpace([]byte(text))
	}
	if len(raw) > maxMessages {
		return nil, advise("messages_json has %.1f MB, the limit is 8 MB. For a session on this machine pass its id to get_session_context.", float64(len(raw))/1e6)
	}
	if len(raw) > 0 && raw[0] == '{' {
		var wrapped struct {
			Messages json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(raw, &wrapped); err == nil && wrapped.Messages != nil {
			raw = wrapped.Messages
		}
	}
	var list []givenMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, advise("messages_json is not a JSON list of {role, content}: %s.", echoed(err.Error(), 200))
	}
	var out []transcript.Message
	for i := range list {
		ms, err := list[i].items()
		if err != nil {
			return nil, advise("messages_json, message %d: %s.", i+1, err)
		}
		out = append(out, ms...)
	}
	if len(out) == 0 {
		return nil, advise("messages_json has no messages.")
	}
	return out, nil
}

// items makes the items of one message: its text, its calls, its results.
func (g *givenMessage) items() ([]transcript.Message, error) {
	var role transcript.Role
	switch g.Role {
	case "user", "human":
		role = transcript.RoleUser
	case "assistant", "model", "ai":
		role = transcript.RoleAssistant
	case "tool", "function", "tool_result":
		role = transcript.RoleToolResult
	case "system", "developer", "agent":
		role = transcript.RoleAgent // said to the model, not by the person
	case "":
		return nil, advise("role is missing")
	default:
		return nil, advise("unknown role %q: system, user, assistant or tool", echoed(g.Role, 40))
	}
	out, err := g.content(role)
	if err != nil {
		return nil, err
	}
	for _, c := range g.ToolCalls {
		arguments := string(c.Function.Arguments)
		var text string
		if json.Unmarshal(c.Function.Arguments, &text) == nil {
			arguments = text
		}
		out = append(out, message(transcript.Item{Role: transcript.RoleToolCall, Name: c.Function.Name, CallID: c.ID, Args: arguments}))
	}
	return out, nil
}

func message(it transcript.Item) transcript.Message { return transcript.Message{Item: it} }

// content reads what a message says: text that follows on text is one item.
func (g *givenMessage) content(role transcript.Role) ([]transcript.Message, error) {
	said := transcript.Item{Role: role}
	if role == transcript.RoleToolResult {
		said.CallID, said.Name = g.ToolCallID, g.Name
	}
	content := bytes.TrimSpace(g.Content)
	switch {
	case len(content) == 0 || string(content) == "null":
		if len(g.ToolCalls) > 0 {
			return nil, nil
		}
		return []transcript.Message{message(said)}, nil
	case content[0] == '"':
		if err := json.Unmarshal(content, &said.Text); err != nil {
			return nil, advise("content is not a string")
		}
		return []transcript.Message{message(said)}, nil
	}
	var blocks []givenBlock
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, advise("content must be a string or a list of parts")
	}
	var out []transcript.Message
	flush := func() {
		if said.Text != "" || said.Images > 0 {
			out = append(out, message(said))
		}
		said.Text, said.Images = "", 0
	}
	for _, b := range blocks {
		switch b.Type {
		case "text", "input_text", "output_text", "":
			if said.Text != "" {
				said.Text += "\n"
			}
			said.Text += b.Text
		case "tool_use":
			flush()
			out = append(out, message(transcript.Item{Role: transcript.RoleToolCall, Name: b.Name, CallID: b.ID, Args: string(b.Input)}))
		case "tool_result":
			flush()
			out = append(out, message(transcript.Item{Role: transcript.RoleToolResult, CallID: b.ToolUseID, Text: blockText(b.Content)}))
		case "thinking", "redacted_thinking":
			// The thoughts of one model are no use to another.
		case "image", "image_url", "input_image":
			said.Images++
		default:
			if said.Text != "" {
				said.Text += "\n"
			}
			said.Text += "[" + echoed(b.Type, 40) + " left out]"
		}
	}
	flush()
	return out, nil
}

// blockText is the text of a result: a string, or the text parts of a list.
func blockText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []givenBlock
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	var parts []string
	for _, b := range blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
