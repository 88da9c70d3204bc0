package connect

import (
	"slices"
	"testing"
)

// TestWhereClientsHaveTheirSettings asks for every system on any.
func TestWhereClientsHaveTheirSettings(t *testing.T) {
	linux := Machine{OS: "linux", Home: "/home/u"}
	mac := Machine{OS: "darwin", Home: "/Users/u"}
	windows := Machine{OS: "windows", Home: `C:\Users\u`}
	for _, c := range []struct {
		client string
		m      Machine
		vars   map[string]string
		want   []string
	}{
		{"codex", linux, nil, []string{"/home/u/.codex/config.toml"}},
		{"codex", windows, nil, []string{`C:\Users\u\.codex\config.toml`}},
		{"codex", linux, map[string]string{"CODEX_HOME": "/c/"}, []string{"/c/config.toml"}},
		{"codex", Machine{OS: "linux", Home: "/home/u", CodexHomes: []string{"/a", "/b"}}, map[string]string{"CODEX_HOME": "/c"}, []string{"/a/config.toml", "/b/config.toml"}},
		{"claude", mac, nil, []string{"/Users/u/.claude.json"}},
		{"claude", windows, nil, []string{`C:\Users\u\.claude.json`}},
		{"claude", linux, map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, []string{"/c/.claude.json"}},
		{"gemini", linux, nil, []string{"/home/u/.gemini/settings.json"}},
		{"gemini", windows, map[string]string{"GEMINI_CLI_HOME": `D:\g`}, []string{`D:\g\.gemini\settings.json`}},
		{"opencode", linux, nil, []string{"/home/u/.config/opencode/opencode.jsonc", "/home/u/.config/opencode/opencode.json"}},
		{"opencode", mac, map[string]string{"XDG_CONFIG_HOME": "/x"}, []string{"/x/opencode/opencode.jsonc", "/x/opencode/opencode.json"}},
		{"opencode", windows, nil, []string{`C:\Users\u\.config\opencode\opencode.jsonc`, `C:\Users\u\.config\opencode\opencode.json`}},
		{"opencode", linux, map[string]string{"OPENCODE_CONFIG": "/o/mine.json", "OPENCODE_CONFIG_DIR": "/d"}, []string{"/o/mine.json"}},
		{"opencode", linux, map[string]string{"OPENCODE_CONFIG_DIR": "/d"}, []string{"/d/opencode.jsonc", "/d/opencode.json"}},
		{"codebuddy", linux, nil, []string{"/home/u/.codebuddy/.mcp.json", "/home/u/.codebuddy/mcp.json", "/home/u/.codebuddy.json"}},
		{"codebuddy", windows, map[string]string{"CODEBUDDY_CONFIG_DIR": `D:\cb`}, []string{`D:\cb\.mcp.json`, `D:\cb\mcp.json`, `C:\Users\u\.codebuddy.json`}},
		{"cursor", mac, nil, []string{"/Users/u/.cursor/mcp.json"}},
		{"cursor", windows, nil, []string{`C:\Users\u\.cursor\mcp.json`}},
		{"vscode", linux, nil, []string{"/home/u/.config/Code/User/mcp.json", "/home/u/.config/Code - Insiders/User/mcp.json"}},
		{"vscode", mac, nil, []string{"/Users/u/Library/Application Support/Code/User/mcp.json", "/Users/u/Library/Application Support/Code - Insiders/User/mcp.json"}},
		{"vscode", windows, nil, []string{`C:\Users\u\AppData\Roaming\Code\User\mcp.json`, `C:\Users\u\AppData\Roaming\Code - Insiders\User\mcp.json`}},
		{"vscode", windows, map[string]string{"APPDATA": `E:\r`, "VSCODE_PORTABLE": `E:\p`}, []string{`E:\p\user-data\User\mcp.json`}},
		{"windsurf", windows, nil, []string{`C:\Users\u\.codeium\windsurf\mcp_config.json`}},
		{"windsurf", mac, nil, []string{"/Users/u/.codeium/windsurf/mcp_config.json"}},
		{"claude-desktop", linux, nil, []string{"/home/u/.config/Claude/claude_desktop_config.json"}},
		{"claude-desktop", mac, nil, []string{"/Users/u/Library/Application Support/Claude/claude_desktop_config.json"}},
		{"claude-desktop", windows, map[string]string{"APPDATA": `E:\r`}, []string{`E:\r\Claude\claude_desktop_config.json`}},
		{"workbuddy", mac, nil, []string{"/Users/u/.workbuddy/mcp.json"}},
		{"workbuddy", linux, map[string]string{"WORKBUDDY_CONFIG_DIR": "/w"}, []string{"/w/mcp.json"}},
		{"workbuddy", windows, map[string]string{"WORKBUDDY_DATA_FOLDER_NAME": ".wb"}, []string{`C:\Users\u\.wb\mcp.json`}},
		{"workbuddy", linux, map[string]string{"WORKBUDDY_DATA_FOLDER_NAME": "../x"}, []string{"/home/u/.workbuddy/mcp.json"}},
	} {
		c.m.Env = func(k string) string { return c.vars[k] }
		cl, err := find(c.client)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range cl.places(c.m) {
			got = append(got, p.names...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s on %s with %v: %q, want %q", c.client, c.m.OS, c.vars, got, c.want)
		}
		if len(cl.signs(c.m)) == 0 {
			t.Errorf("%s: nothing shows that it is here", c.client)
		}
	}
}

func TestWhichCommandIsOurs(t *testing.T) {
	con := New(Machine{}, Server{Command: "/opt/sm"}, "", nil)
	for _, c := range []struct {
		command []string
		ours    bool
	}{
		{[]string{"/x/session-migrator", "mcp"}, true},
		{[]string{`C:\x\Session-Migrator.EXE`, "--home", "h", "mcp"}, true},
		{[]string{"session-migrator", "mcp", "--workspace", "/w"}, true},
		{[]string{"session-migrator", "run"}, false},
		{[]string{"/x/session-migrator-1.2-linux", "mcp"}, true},
		{[]string{"/opt/sm", "mcp"}, true},
		{[]string{"session-migrators", "mcp"}, false},
		{[]string{"npx", "session-migrator", "mcp"}, false},
		{[]string{"session-migrator"}, false},
		{nil, false},
	} {
		if got := con.startsUs(c.command); got != c.ours {
			t.Errorf("%q: %v", c.command, got)
		}
	}
}
