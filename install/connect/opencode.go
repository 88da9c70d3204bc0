package connect

import "github.com/session-migrator/session-migrator/install/edit"

// opencode reads opencode.jsonc after opencode.json, with comments and trailing
// commas in both. Its "mcp add" asks questions in many versions, and nothing of
// its own takes a server out again: the file is changed.
func opencode() client {
	dir := func(m Machine) string { return m.join(m.xdg(), "opencode") }
	return client{
		name: "opencode", title: "opencode", programs: []string{"opencode"},
		signs: func(m Machine) []string { return []string{dir(m), m.join(m.Home, ".opencode")} },
		places: func(m Machine) []place {
			if file := m.Env("OPENCODE_CONFIG"); file != "" {
				return one(file)
			}
			d := m.env("OPENCODE_CONFIG_DIR", dir(m))
			return []place{{names: []string{m.join(d, "opencode.jsonc"), m.join(d, "opencode.json")}, fresh: m.join(d, "opencode.json")}}
		},
		format: edit.JSONC, table: []string{"mcp"},
		entry: func(s Server) edit.Object {
			return edit.Object{{Key: "type", Value: "local"}, {Key: "command", Value: append([]string{s.Command}, s.Args...)}}
		},
	}
}
