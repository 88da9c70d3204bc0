package connect

import "github.com/session-migrator/session-migrator/install/edit"

// codebuddy reads the first of three files that is there.
func codebuddy() client {
	dir := func(m Machine) string { return m.env("CODEBUDDY_CONFIG_DIR", m.join(m.Home, ".codebuddy")) }
	return client{
		name: "codebuddy", title: "CodeBuddy", programs: []string{"codebuddy"},
		signs: func(m Machine) []string { return []string{dir(m)} },
		places: func(m Machine) []place {
			return []place{{names: []string{m.join(dir(m), ".mcp.json"), m.join(dir(m), "mcp.json"), m.join(m.Home, ".codebuddy.json")}}}
		},
		format: edit.JSONC, table: []string{"mcpServers"}, entry: typed,
		add: func(s Server) []string {
			return append([]string{"mcp", "add", "-s", "user", Key, "--", s.Command}, s.Args...)
		},
		off: func(_ string, all map[string]any) string {
			if ours, _ := listed(all["disabledMcpServers"]); ours {
				return "disabledMcpServers names it"
			}
			return ""
		},
	}
}
