// Package loop finds in a session what this program itself put there, and what
// the programs around an agent put into a person's mouth. Handed on, it would
// come back larger each time: A's hand-off in B's session, B's in A's.
//
// The way of the data, on the way from the cache to a hand-off:
//
//	[1] Strip drops calls of our tools with their results
//	[2] Text cuts out of every message our documents, lists, hand-overs, frames,
//	    managed blocks and log entries (text.go), and out of a person's also
//	    the memory and reminders that the agent's program wrapped (wrap.go)
//	[3] a message of which nothing is left is dropped
//
// The cache keeps all of it, and the originals show it.
package loop

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// ourTools are the tools whose names nobody else has; only read.
var ourTools = map[string]bool{
	"get_session_context": true, "get_migration_decision": true, "get_omitted_original": true, "migrate_session": true, "migrator_status": true,
	"save_session_summary": true,
}

// ours matches the names that clients make of server and tool:
// mcp__session-migrator__get_session_context, session_migrator.list_sessions.
var ours = pattern.Lazy(`(?i)(^|[^a-z0-9])session[-_]?migrator(__|[./:_-])[a-z_]+$`)

// Call tells whether a tool call by this name is one of ours.
func Call(name string) bool { return ourTools[name] || ours().MatchString(name) }

// resource is the call by which agents read what a server offers.
var resource = pattern.Lazy(`(?i)"(server|server_name)"\s*:\s*"session[-_]?migrator"`)

// Strip gives the messages without what is ours, and how many pieces were left
// out. The messages given are not written to.
func Strip(ms []transcript.Message) (kept []transcript.Message, left int) {
	calls := map[string]bool{} // ids of our calls that wait for a result
	bare := false              // one of ours without an id came last
	kept = make([]transcript.Message, 0, len(ms))
	for _, m := range ms {
		switch {
		case m.Role == transcript.RoleToolCall && (Call(m.Name) || len(m.Args) < 4096 && strings.HasPrefix(m.Name, "read_mcp") && resource().MatchString(m.Args)):
			if bare = m.CallID == ""; !bare {
				calls[m.CallID] = true
			}
			left++
		case m.Role == transcript.RoleToolResult && (m.CallID != "" && calls[m.CallID] || m.CallID == "" && bare):
			delete(calls, m.CallID)
			bare = false
		default:
			bare = false
			text, n := Text(m.Role, m.Text)
			left += n
			if n > 0 && strings.TrimSpace(text) == "" && m.Images == 0 && m.Role != transcript.RoleToolResult {
				continue
			}
			m.Text = text
			kept = append(kept, m)
		}
	}
	return kept, left
}
