package transcript

import "fmt"

// Role says whose words or deed an item is.
type Role uint8

// The roles. The zero value is no role.
const (
	RoleUser Role = iota + 1
	RoleAssistant
	RoleToolCall
	RoleToolResult
	RoleReasoning
	RoleAgent      // another agent speaking to this one: never the person
	RoleCompaction // the summary that replaced the model's context
)

var roleNames = [...]string{"", "user", "assistant", "tool_call", "tool_result", "reasoning", "agent", "compaction"}

// String gives the name used in JSON and in the store.
func (r Role) String() string {
	if int(r) < len(roleNames) && r > 0 {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Role) UnmarshalText(b []byte) error {
	for i, n := range roleNames {
		if i > 0 && n == string(b) {
			*r = Role(i)
			return nil
		}
	}
	return fmt.Errorf("unknown role %q", b)
}

// Migrates tells whether items of this role are part of the conversation that
// is handed to the next agent and counted for it. Reasoning belongs to the
// model that thought it, and a compaction repeats what stands before it.
func (r Role) Migrates() bool {
	return r == RoleUser || r == RoleAssistant || r == RoleToolCall || r == RoleToolResult || r == RoleAgent
}

// Phase tells what an assistant message is for, where the agent says so.
type Phase uint8

// The phases. The zero value means that the rollout doesn't say.
const (
	PhaseCommentary Phase = iota + 1 // between tool calls
	PhaseFinal                       // ends the turn
)

var phaseNames = [...]string{"", "commentary", "final_answer"}

// String gives the name used in JSON; empty for no phase.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// MarshalText implements encoding.TextMarshaler.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// State is how a thread's last turn stands. Silence is never success.
type State uint8

// The states of a turn or thread.
const (
	StateEmpty       State = iota + 1 // nothing was asked yet
	StateUnanswered                   // a request, no action
	StateRunning                      // a request with actions, no answer, no end mark yet
	StateAnswered                     // the last request has its answer
	StateInterrupted                  // aborted, or actions without an answer and the turn is over
	StateFailed                       // the turn ended with an error
)

var stateNames = [...]string{"", "empty", "unanswered", "running", "answered", "interrupted", "failed"}

// String gives the name used in JSON and in the store.
func (s State) String() string {
	if int(s) < len(stateNames) && s > 0 {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(b []byte) error {
	for i, n := range stateNames {
		if i > 0 && n == string(b) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("unknown state %q", b)
}
