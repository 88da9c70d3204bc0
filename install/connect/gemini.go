package connect

import (
	"os"
	"path/filepath"

	"github.com/session-migrator/session-migrator/install/edit"
)

// gemini is Gemini CLI. Its settings may have comments. What its "mcp disable"
// switches off stands in a file beside them.
func gemini() client {
	dir := func(m Machine) string { return m.join(m.env("GEMINI_CLI_HOME", m.Home), ".gemini") }
	file := func(m Machine) string { return m.join(dir(m), "settings.json") }
	return client{
		name: "gemini", title: "Gemini CLI", programs: []string{"gemini"},
		signs:  func(m Machine) []string { return []string{dir(m)} },
		places: func(m Machine) []place { return one(file(m)) },
		format: edit.JSONC, table: []string{"mcpServers"}, entry: stdio,
		add: func(s Server) []string {
			return append([]string{"mcp", "add", "-s", "user", Key, s.Command}, s.Args...)
		},
		addsTo: file,
		off:    geminiOff,
		note:   "Gemini CLI starts servers in trusted folders only",
	}
}

func geminiOff(file string, all map[string]any) string {
	mcp, _ := all["mcp"].(map[string]any)
	if ours, _ := listed(mcp["excluded"]); ours {
		return "mcp.excluded names it"
	}
	if ours, some := listed(mcp["allowed"]); some && !ours {
		return "mcp.allowed doesn't name it"
	}
	const beside = "mcp-server-enablement.json"
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), beside))
	if err != nil {
		return ""
	}
	f := edit.File{Name: beside, Format: edit.JSON}
	if v, err := f.Get(text, []string{Key, "enabled"}); err == nil && v == false {
		return `"gemini mcp disable" was used`
	}
	return ""
}
