package connect

import "github.com/session-migrator/session-migrator/install/edit"

// claudeDesktop is the program with windows, not Claude Code.
func claudeDesktop() client {
	dir := func(m Machine) string { return m.join(m.settings(), "Claude") }
	return client{
		name: "claude-desktop", title: "Claude Desktop",
		signs:  func(m Machine) []string { return []string{dir(m)} },
		places: func(m Machine) []place { return one(m.join(dir(m), "claude_desktop_config.json")) },
		format: edit.JSON, table: []string{"mcpServers"}, entry: stdio,
		note: "quit Claude Desktop and start it again",
	}
}
