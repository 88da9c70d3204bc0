package connect

import "github.com/session-migrator/session-migrator/install/edit"

// vscode has a file of the user's for each of its builds: the usual one, and
// Insiders where that is installed.
func vscode() client {
	build := func(m Machine, name string) string {
		if portable := m.Env("VSCODE_PORTABLE"); portable != "" {
			return m.join(portable, "user-data", "User")
		}
		return m.join(m.settings(), name, "User")
	}
	return client{
		name: "vscode", title: "VS Code", programs: []string{"code", "code-insiders"},
		signs: func(m Machine) []string { return []string{build(m, "Code"), build(m, "Code - Insiders")} },
		places: func(m Machine) []place {
			usual, insiders := build(m, "Code"), build(m, "Code - Insiders")
			out := []place{{names: []string{m.join(usual, "mcp.json")}, only: usual}}
			if insiders == usual {
				return out
			}
			return append(out, place{names: []string{m.join(insiders, "mcp.json")}, only: insiders})
		},
		format: edit.JSONC, table: []string{"servers"}, entry: typed,
		note: "VS Code asks once whether the server is trusted",
	}
}
