package connect

import "github.com/session-migrator/session-migrator/install/edit"

// claude is Claude Code. Its file holds the state of all its projects and is
// written by itself alone: standard JSON. Servers of single projects are in it,
// too; ours is the user's, for all projects.
func claude() client {
	file := func(m Machine) string {
		if dir := m.Env("CLAUDE_CONFIG_DIR"); dir != "" {
			return m.join(dir, ".claude.json")
		}
		return m.join(m.Home, ".claude.json")
	}
	return client{
		name: "claude", title: "Claude Code", programs: []string{"claude"},
		signs: func(m Machine) []string {
			return []string{file(m), m.env("CLAUDE_CONFIG_DIR", m.join(m.Home, ".claude"))}
		},
		places: func(m Machine) []place { return one(file(m)) },
		format: edit.JSON, table: []string{"mcpServers"}, entry: typed,
		add: func(s Server) []string {
			return append([]string{"mcp", "add", "-s", "user", Key, "--", s.Command}, s.Args...)
		},
		addsTo: file,
		note:   "start a new session to have the tools; Claude Code asks once before it uses them",
	}
}
