package transcript

import "time"

// Usage is what a vendor charged, in tokens. Input includes CachedInput and
// CacheWrite, Output includes Reasoning: nothing is added twice.
type Usage struct {
	Input       int64 `json:"input_tokens"`
	CachedInput int64 `json:"cached_input_tokens"`
	CacheWrite  int64 `json:"cache_write_input_tokens"`
	Output      int64 `json:"output_tokens"`
	Reasoning   int64 `json:"reasoning_output_tokens"`
	Total       int64 `json:"total_tokens"`
}

// Plus gives u + v.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CachedInput + v.CachedInput, u.CacheWrite + v.CacheWrite,
		u.Output + v.Output, u.Reasoning + v.Reasoning, u.Total + v.Total}
}

// Minus gives u − v, no figure below zero.
func (u Usage) Minus(v Usage) Usage {
	d := func(a, b int64) int64 { return max(0, a-b) }
	return Usage{d(u.Input, v.Input), d(u.CachedInput, v.CachedInput), d(u.CacheWrite, v.CacheWrite),
		d(u.Output, v.Output), d(u.Reasoning, v.Reasoning), d(u.Total, v.Total)}
}

// Quota is one of the windows that an account's use is limited in, as a
// rollout reported it.
type Quota struct {
	Percent float64   // used, 0–100
	Minutes int64     // length of the window; 0 unknown
	Resets  time.Time // UTC, when it is empty again; zero unknown
	Seen    time.Time // UTC, of the report
}

// FirstRequest is the first question of a conversation to a model, of which the
// vendor said how many tokens it was made of. It holds no more than what the
// program put there and the first messages: the difference is what stands before
// a conversation.
type FirstRequest struct {
	Model   string `json:"model"`
	Input   int64  `json:"input"`   // tokens, by the vendor's count
	Through int64  `json:"through"` // number of the newest item in it, within its rollout
	// Of the items in it: their o200k_base tokens, and how many they are.
	Own       int64 `json:"own,omitempty"`
	User      int   `json:"user,omitempty"`
	Assistant int   `json:"assistant,omitempty"`
	Calls     int   `json:"calls,omitempty"`
	Results   int   `json:"results,omitempty"`
}

// Add counts n items of a role with so many tokens.
func (f *FirstRequest) Add(role Role, n int, tokens int64) {
	if !role.Migrates() {
		return
	}
	f.Own += tokens
	switch role {
	case RoleUser, RoleAgent:
		f.User += n
	case RoleAssistant:
		f.Assistant += n
	case RoleToolCall:
		f.Calls += n
	case RoleToolResult:
		f.Results += n
	case RoleReasoning, RoleCompaction:
	}
}

// Base says where a rollout's history begins: in the first lines of another.
type Base struct {
	RolloutID string `json:"rollout_id"`
	Ordinal   int64  `json:"ordinal"` // lines with a smaller ordinal belong to the history
	Offset    int64  `json:"offset"`  // logical byte offset of the same cut; 0 where not told
}

// Counts are the items of a thread's current branch by kind, and what could
// not be read.
type Counts struct {
	User         int `json:"user"`
	Assistant    int `json:"assistant"`
	ToolCalls    int `json:"tool_calls"`
	ToolResults  int `json:"tool_results"`
	Reasoning    int `json:"reasoning"`
	Compactions  int `json:"compactions"`
	Unknown      int `json:"unknown"`
	DamagedLines int `json:"damaged_lines"`
}

// Facts is what the lines of one rollout, read so far, say of it as a whole.
type Facts struct {
	ThreadID   string
	Session    string // umbrella id that several threads may share
	CLIVersion string // of the creator
	Originator string // which program wrote it
	Source     string // cli, vscode, exec, subagent:…, as told
	Provider   string
	Cwd        string // the header's, else of the first turn; as written
	Model      string // newest
	Effort     string // newest reasoning effort
	GitBranch  string
	GitCommit  string
	GitURL     string

	ForkedFrom string // thread id
	Parent     string // thread id of the spawner, sub-agents only
	Nickname   string // sub-agents only
	Subagent   bool
	Base       *Base // nil: the history begins in this rollout
	Paginated  bool

	Created time.Time // UTC, from the header
	Updated time.Time // UTC, newest line

	FirstUser string // first own request, ≤ 400 bytes, IDE context stripped
	Title     string // a name given inside the rollout

	Usage        Usage   // spent by this rollout's own turns
	BaseUsage    Usage   // spent before by what it inherited, as its own counters tell
	ModelCalls   int     // answers that Usage adds up
	Window       int     // usable window reported newest, tokens; 0 unknown
	AutoCompact  int     // limit reported newest, tokens; 0 unknown
	ContextNow   int64   // tokens the next request starts from; 0 unknown
	ContextInput int64   // tokens the newest request was made of; 0 unknown
	Quotas       []Quota // of the account, as reported newest; nil unknown

	First FirstRequest // without counts; zero if it can't be compared with what was said

	Turns       int // live turns so far; turns with a higher number were rolled back
	Images      int
	Compactions int
	Rollbacks   int
	Injected    int    // messages that no person wrote, left out
	CopyOf      string // parent thread whose lines were copied to the front; empty if none
}

// Thread is one conversation with the figures of its current branch.
type Thread struct {
	ID        string
	RolloutID string // head: the rollout that holds the newest branch
	Path      string // of the head
	Archived  bool
	Gone      bool // the rollout was deleted; what we kept is all there is

	Title                          string
	Cwd                            string // as shown: normalised
	Workspace                      string // key by which threads are grouped, see WorkspaceKey
	Model                          string // newest; "unknown" when no line tells
	CLIVersion, Originator, Source string
	Session                        string
	Parent, ForkedFrom, Nickname   string
	Subagent                       bool
	GitBranch, GitCommit, GitURL   string

	State   State
	Created time.Time
	Updated time.Time
	Turns   int

	Usage, OwnUsage Usage
	SubagentUsage   Usage // of all threads it spawned
	ModelCalls      int
	Window          int
	AutoCompact     int
	ContextTokens   int64 // the next request starts from
	ContextInput    int64 // the newest request was made of
	Quotas          []Quota
	First           FirstRequest // of the history; zero unknown
	Counts          Counts

	Tokens       map[string]int64 // per encoding name: what Migrates, current branch
	ShrunkTokens map[string]int64 // the same with long tool output shrunk
	Migrated     int              // number of items that Tokens counts
	LastSeq      int64            // thread position of the newest item
	Subagents    int
	Rollbacks    int    // of its head: how often the user took turns back
	Untouched    bool   // a fork that adds nothing to what it inherits
	BaseMissing  string // rollout id of a base that isn't here; empty if complete
}

// Counted is what a thread came to in a vocabulary of its own choice.
type Counted struct {
	Vocabulary string
	Tokens     int64
	Shrunk     int64 // the same with long tool output shrunk
	// The thread as it was then.
	Through  int64
	Messages int
	O200k    int64
}

// Of tells whether the thread is still as it was.
func (c *Counted) Of(t *Thread) bool {
	return c.Through == t.LastSeq && c.Messages == t.Migrated && c.O200k == t.Tokens["o200k_base"]
}

// Message is an item as part of a thread: numbered through the whole branch.
type Message struct {
	Item
	ID         int64  // row in the store
	RolloutID  string // where it is written
	Position   int64  // 1-based within the thread, rising
	ThreadTurn int    // 1-based within the thread, 0 before the first request
	Tokens     int    // o200k_base, of Body (and Name)
	Hash       string // first 16 bytes of SHA-256 of Body, hex
	Ref        string // om_<last 8 of the rollout id>.<seq>
	Gone       bool   // Codex no longer has it in the file
}
