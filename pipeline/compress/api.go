package compress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// The two formats of chat APIs. Both want every call answered and every
// answer called: a call without a result gets a stub, a result without a call
// becomes text. Call ids are made anew, since recorded ones may be missing,
// doubled or of characters that the APIs refuse.

const (
	noResult = "[no output recorded]"
	noText   = "[empty message]"
)

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (s *Selection) openAI() ([]byte, error) {
	msgs := []openAIMessage{}
	say := func(role, text string) {
		msgs = append(msgs, openAIMessage{Role: role, Content: &text})
	}
	if len(s.Gaps) > 0 {
		say("system", s.Note)
	}
	if s.Summary != "" {
		say("user", s.Summary) // of a model's making: it has no say
	}
	s.walk(func(g Gap) { say("system", g.mark()) }, func(i int) {
		p := &s.Keep[i]
		switch role, text := apiText(p); role {
		case apiCall:
			id := callID(i)
			call := openAICall{ID: id, Type: "function"}
			call.Function.Name = apiName(p.Message.Name)
			call.Function.Arguments = string(apiInput(p))
			m := openAIMessage{Role: "assistant", ToolCalls: []openAICall{call}}
			if p.Retrieved {
				mark := "[" + p.retrievedMark() + "]"
				m.Content = &mark
			}
			msgs = append(msgs, m)
			if !s.answered(i) {
				none := noResult
				msgs = append(msgs, openAIMessage{Role: "tool", Content: &none, ToolCallID: id})
			}
		case apiResult:
			msgs = append(msgs, openAIMessage{Role: "tool", Content: &text, ToolCallID: callID(p.Call)})
		case apiUser:
			say("user", text)
		case apiAssistant:
			say("assistant", text)
		}
	})
	return encodeArray(msgs)
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
}

func (s *Selection) anthropic() ([]byte, error) {
	msgs := []anthropicMessage{}
	add := func(role string, b anthropicBlock) {
		if n := len(msgs); n > 0 && msgs[n-1].Role == role {
			msgs[n-1].Content = append(msgs[n-1].Content, b)
			return
		}
		msgs = append(msgs, anthropicMessage{Role: role, Content: []anthropicBlock{b}})
	}
	say := func(role, text string) { add(role, anthropicBlock{Type: "text", Text: text}) }
	// The first message must be the user's.
	if len(s.Gaps) > 0 || len(s.Keep) > 0 && !startsWithUser(&s.Keep[0]) {
		say("user", s.lead())
	}
	s.walk(func(g Gap) { say("user", g.mark()) }, func(i int) {
		p := &s.Keep[i]
		switch role, text := apiText(p); role {
		case apiCall:
			id := callID(i)
			if p.Retrieved {
				say("assistant", "["+p.retrievedMark()+"]")
			}
			add("assistant", anthropicBlock{Type: "tool_use", ID: id, Name: apiName(p.Message.Name), Input: apiObject(p)})
			if !s.answered(i) {
				add("user", anthropicBlock{Type: "tool_result", ToolUseID: id, Content: noResult})
			}
		case apiResult:
			add("user", anthropicBlock{Type: "tool_result", ToolUseID: callID(p.Call), Content: text})
		case apiUser:
			say("user", text)
		case apiAssistant:
			say("assistant", text)
		}
	})
	return encodeArray(msgs)
}

type apiRole uint8

const (
	apiUser apiRole = iota + 1
	apiAssistant
	apiCall
	apiResult
)

// apiText returns how an API sees a piece, and its text.
func apiText(p *Piece) (apiRole, string) {
	m, text := p.Message, p.Text
	if p.Retrieved && m.Role != transcript.RoleToolCall { // what a call is given is no place for words
		text = join("["+p.retrievedMark()+"]", text)
	}
	if m.Images > 0 {
		text = join(text, "["+pictures(m.Images)+"]")
	}
	switch m.Role {
	case transcript.RoleAssistant:
		return apiAssistant, nonEmpty(text, noText)
	case transcript.RoleToolCall:
		return apiCall, text
	case transcript.RoleToolResult:
		if m.HasExit && m.ExitCode != 0 {
			text = join("["+exitOf(m)+"]", text)
		}
		if p.Call >= 0 {
			return apiResult, nonEmpty(text, "[empty output]")
		}
		return apiUser, join("[output of a tool call that is not recorded]", text)
	case transcript.RoleAgent:
		return apiUser, join("[another agent, not the user]", text)
	case transcript.RoleUser, transcript.RoleReasoning, transcript.RoleCompaction:
	}
	return apiUser, nonEmpty(text, noText)
}

func startsWithUser(p *Piece) bool {
	role, _ := apiText(p)
	return role == apiUser
}

// answered tells whether the piece after the call at i is its result.
func (s *Selection) answered(i int) bool { return i+1 < len(s.Keep) && s.Keep[i+1].Call == i }

func callID(i int) string { return "call_" + strconv.Itoa(i+1) }

func apiName(s string) string {
	return strings.NewReplacer(".", "_", ":", "_", "/", "_").Replace(safeName(s))
}

// apiInput returns the arguments of a call as a JSON object. What isn't one,
// the free text of a custom tool or arguments that were cut, is put into one.
func apiInput(p *Piece) []byte {
	text := []byte(p.Text)
	if t := bytes.TrimSpace(text); len(t) > 0 && t[0] == '{' && json.Valid(t) {
		return t
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A map of one string can't fail to encode.
	_ = enc.Encode(map[string]string{"input": p.Text})
	return bytes.TrimSpace(b.Bytes())
}

// apiObject is apiInput in as little space as possible.
func apiObject(p *Piece) json.RawMessage {
	in := apiInput(p)
	var b bytes.Buffer
	if json.Compact(&b, in) != nil {
		return in
	}
	return b.Bytes()
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func nonEmpty(s, or string) string {
	if strings.TrimSpace(s) == "" {
		return or
	}
	return s
}

// encodeArray writes one message a line, so that a long conversation can be
// looked at.
func encodeArray[T any](msgs []T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteString("[")
	for i := range msgs {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		if err := enc.Encode(msgs[i]); err != nil {
			return nil, fmt.Errorf("render conversation: %w", err)
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteString("\n]\n")
	return b.Bytes(), nil
}
