package plan_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/install/plan"
)

// What a file of others holds is not shown, in whatever form it stands there:
// nobody knows of a value whether it is a key.
func TestPrivateFilesKeepTheirValues(t *testing.T) {
	const entry = `"session-migrator": {"command": "/usr/bin/session-migrator", "args": ["mcp"]}`
	for name, c := range map[string]struct{ before, after, backup, shown string }{
		"lines": {
			"{\n  \"auth\": {\"tok\": \"hush1\"},\n  \"mcpServers\": {\n    \"a\": {\"env\": {\"K\": \"hush2\"}}\n  }\n}\n",
			"{\n  \"auth\": {\"tok\": \"hush1\"},\n  \"mcpServers\": {\n    \"a\": {\"env\": {\"K\": \"hush2\"}},\n    " + entry + "\n  }\n}\n",
			"kept", `+    ` + entry,
		},
		"one line": {
			`{"mcpServers":{"a":{"env":{"K":"hush1"}, "n": "hush2"}}}`,
			`{"mcpServers":{"a":{"env":{"K":"hush1"}, "n": "hush2"},` + entry + `}}`,
			"kept", entry,
		},
		"renewed within one line": {
			`{"mcpServers":{"session-migrator":{"command":"/hush1","env":{"K":"hush2"},"args":["mcp"]}}}`,
			`{"mcpServers":{"session-migrator":{"command":"/usr/bin/session-migrator","env":{"K":"hush2"},"args":["mcp","--home","/x"]}}}`,
			"kept", "/usr/bin/session-migrator",
		},
		"toml": {
			"# hush1\nkey = 'hush2'\nlong = \"\"\"\nhush3\n-----BEGIN hush4\n\"\"\"\n[mcp_servers.a]\nenv = { K = \"hush5\" }",
			"# hush1\nkey = 'hush2'\nlong = \"\"\"\nhush3\n-----BEGIN hush4\n\"\"\"\n[mcp_servers.a]\nenv = { K = \"hush5\" }\n\n[mcp_servers.session-migrator]\ncommand = \"/usr/bin/session-migrator\"\n",
			"kept", "+command = \"/usr/bin/session-migrator\"",
		},
		"comment": {
			"{\n  // hush1\n  \"a\": 1 // hush2\n}\n",
			"{\n  // hush1\n  \"a\": 1, // hush2\n  " + entry + "\n}\n",
			"kept", "+  " + entry,
		},
		"what comes back is the user's": {
			"command = \"/usr/bin/session-migrator\"\nargs = [\"mcp\"]\n",
			"command = \"npx\"\nargs = [\"--token\", \"hush1\"]\nurl = \"http://hush2\"\n",
			"", "+args = [ …",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan.Plan{Steps: []plan.Step{{Why: "w", File: &plan.File{Path: "/f", Before: []byte(c.before), After: []byte(c.after), Backup: c.backup}}}}
			var b strings.Builder
			if err := p.Print(&b, plan.PrintOptions{Private: true}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "hush") {
				t.Errorf("it shows what the user wrote:\n%s", b.String())
			}
			if !strings.Contains(b.String(), c.shown) {
				t.Errorf("it doesn't show %s:\n%s", c.shown, b.String())
			}
		})
	}
}

// A file of one long line is not printed twice.
func TestPrivateLongLines(t *testing.T) {
	before := `{"a":["` + strings.Repeat(`x","`, 200_000) + `"]}`
	after := strings.TrimSuffix(before, "}") + `,"session-migrator":{"command":"c"}}`
	p := plan.Plan{Steps: []plan.Step{{Why: "w", File: &plan.File{Path: "/f", Before: []byte(before), After: []byte(after), Backup: "b"}}}}
	var b strings.Builder
	if err := p.Print(&b, plan.PrintOptions{Private: true}); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1000 || !strings.Contains(b.String(), `"session-migrator":{"command":"c"}`) {
		t.Errorf("%d bytes: %.2000s", b.Len(), b.String())
	}
}
