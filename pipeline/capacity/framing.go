package capacity

// Framing is what a chat format puts around messages, in the model's tokens:
// once, and for each message of a kind. What stands for tools, instructions and
// files is no part of it.
type Framing struct {
	Fixed      int `json:"fixed"`
	User       int `json:"user"`
	Assistant  int `json:"assistant"`
	ToolCall   int `json:"tool_call"`
	ToolResult int `json:"tool_result"`
}

// Around gives the tokens around so many messages; Fixed is in.
func (f Framing) Around(user, assistant, toolCalls, toolResults int) int {
	return f.Fixed + f.User*user + f.Assistant*assistant + f.ToolCall*toolCalls + f.ToolResult*toolResults
}

// format is a chat format.
type format uint8

const (
	formatOther format = iota + 1
	formatChat
	formatHarmony
	formatClaude
	formatGemini
	formatDeepSeek
	formatChatML
	formatLlama3
)

// framing gives the figures of a format. They were measured with the published
// templates or fitted to what the vendors' endpoints count; only the upper one
// is given where versions differ. Where tools were not measured they count as
// two messages.
func (f format) framing() Framing {
	switch f {
	case formatChat: // three for the reply, three a message and one for the role
		return Framing{Fixed: 3, User: 4, Assistant: 4, ToolCall: 8, ToolResult: 8}
	case formatHarmony: // the channel of an answer and the recipient of a call are spelled out
		return Framing{Fixed: 5, User: 4, Assistant: 6, ToolCall: 14, ToolResult: 11}
	case formatClaude: // 7 for a request of one message up to 4.6, 11 for 4.7, 6 since
		return Framing{Fixed: 9, User: 2, Assistant: 2, ToolCall: 4, ToolResult: 4}
	case formatGemini:
		return Framing{User: 5, Assistant: 5, ToolCall: 10, ToolResult: 10}
	case formatDeepSeek:
		return Framing{Fixed: 1, User: 1, Assistant: 2, ToolCall: 4, ToolResult: 4}
	case formatChatML:
		return Framing{Fixed: 3, User: 5, Assistant: 5, ToolCall: 10, ToolResult: 10}
	case formatLlama3:
		return Framing{Fixed: 5, User: 5, Assistant: 5, ToolCall: 10, ToolResult: 10}
	case formatOther: // above what the known ones have
	}
	return Framing{Fixed: 11, User: 8, Assistant: 8, ToolCall: 14, ToolResult: 14}
}
