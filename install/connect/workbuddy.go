package connect

import (
	"path/filepath"

	"github.com/session-migrator/session-migrator/install/edit"
)

// workbuddy reads mcp.json; .mcp.json beside it is the program's own. It has
// skills, but no plugins: ours goes there as one.
func workbuddy() client {
	dir := func(m Machine) string {
		name := m.Env("WORKBUDDY_DATA_FOLDER_NAME")
		if name == "" || filepath.Base(name) != name || !filepath.IsLocal(name) || name == "." {
			name = ".workbuddy"
		}
		return m.env("WORKBUDDY_CONFIG_DIR", m.join(m.Home, name))
	}
	return client{
		name: "workbuddy", title: "WorkBuddy",
		signs:  func(m Machine) []string { return []string{dir(m)} },
		places: func(m Machine) []place { return one(m.join(dir(m), "mcp.json")) },
		format: edit.JSON, table: []string{"mcpServers"}, entry: stdio,
		skill: func(m Machine) string { return m.join(dir(m), "skills", "codex-handoff", "SKILL.md") },
		note:  "press Trust in the connector page of WorkBuddy, and start it again",
	}
}
