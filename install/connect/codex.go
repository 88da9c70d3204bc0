package connect

import "github.com/session-migrator/session-migrator/install/edit"

// codex reads config.toml in its home. A server is given about a second before
// the first turn, which we keep; the limit of 10 s for the handshake and that of
// 60 s for a tool need no change for us either. It hands only a few variables
// on, so that folders other than the usual ones stand in the arguments.
func codex() client {
	usual := func(m Machine) string { return m.env("CODEX_HOME", m.join(m.Home, ".codex")) }
	homes := func(m Machine) []string {
		if len(m.CodexHomes) > 0 {
			return m.CodexHomes
		}
		return []string{usual(m)}
	}
	return client{
		name: "codex", title: "Codex", programs: []string{"codex"},
		signs: homes,
		places: func(m Machine) (out []place) {
			for _, h := range homes(m) {
				out = append(out, place{names: []string{m.join(h, "config.toml")}})
			}
			return out
		},
		format: edit.TOML, table: []string{"mcp_servers"}, entry: stdio,
		add:    func(s Server) []string { return append([]string{"mcp", "add", Key, "--", s.Command}, s.Args...) },
		addsTo: func(m Machine) string { return m.join(usual(m), "config.toml") },
		note:   "start a new Codex session to have the tools",
	}
}
