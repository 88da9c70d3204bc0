package connect

import "github.com/session-migrator/session-migrator/install/edit"

// cursor drops tools whose name and server's name have more than 60 characters
// together; ours have fewer.
func cursor() client {
	dir := func(m Machine) string { return m.join(m.Home, ".cursor") }
	return client{
		name: "cursor", title: "Cursor", programs: []string{"cursor"},
		signs:  func(m Machine) []string { return []string{dir(m)} },
		places: func(m Machine) []place { return one(m.join(dir(m), "mcp.json")) },
		format: edit.JSONC, table: []string{"mcpServers"}, entry: stdio,
		note: "see Cursor's settings, MCP, whether the server is switched on",
	}
}
