package connect

import "github.com/session-migrator/session-migrator/install/edit"

func windsurf() client {
	dir := func(m Machine) string { return m.join(m.Home, ".codeium", "windsurf") }
	return client{
		name: "windsurf", title: "Windsurf", programs: []string{"windsurf"},
		signs:  func(m Machine) []string { return []string{dir(m)} },
		places: func(m Machine) []place { return one(m.join(dir(m), "mcp_config.json")) },
		format: edit.JSONC, table: []string{"mcpServers"}, entry: stdio,
		note: "press Refresh in Windsurf's list of MCP servers",
	}
}
