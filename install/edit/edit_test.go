package edit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/install/edit"
)

var (
	jsonFile  = edit.File{Name: "/h/mcp.json", Format: edit.JSON}
	jsoncFile = edit.File{Name: "/h/mcp.json", Format: edit.JSONC}
	tomlFile  = edit.File{Name: "/h/config.toml", Format: edit.TOML}
	small     = edit.Object{{Key: "command", Value: "/b"}, {Key: "args", Value: []string{"mcp"}}}
)

func TestHowAnEntryIsWritten(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		file             edit.File
	}{
		{"nothing", "", "{\n  \"mcpServers\": {\n    \"session-migrator\": {\n      \"command\": \"/b\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n", jsonFile},
		{"only a mark", "\xef\xbb\xbf", "\xef\xbb\xbf{\n  \"mcpServers\": {\n    \"session-migrator\": {\n      \"command\": \"/b\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n", jsonFile},
		{"only a note", "// mine", "// mine\n{\n  \"mcpServers\": {\n    \"session-migrator\": {\n      \"command\": \"/b\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n", jsoncFile},
		{"tabs, no final newline", "{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"session-migrator\": {\n\t\t\t\"command\": \"/b\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}", jsonFile},
		{"minified", `{"a":1,"mcpServers":{"x":{"command":"y"}}}`, `{"a":1,"mcpServers":{"x":{"command":"y"},"session-migrator":{"command":"/b","args":["mcp"]}}}`, jsonFile},
		{"trailing comma and notes", "{\r\n    // one\r\n    \"mcpServers\": {\r\n        \"x\": {}, // two\r\n        // three\r\n    },\r\n}", "{\r\n    // one\r\n    \"mcpServers\": {\r\n        \"x\": {}, // two\r\n        // three\r\n        \"session-migrator\": {\r\n            \"command\": \"/b\",\r\n            \"args\": [\"mcp\"]\r\n        },\r\n    },\r\n}", jsoncFile},
		{"a note behind the last", "{\"a\": 1 // note\n}", "{\"a\": 1, // note\n  \"mcpServers\": {\"session-migrator\": {\"command\": \"/b\", \"args\": [\"mcp\"]}}\n}", jsoncFile},
		{"toml", "a = 1", "a = 1\n\n[mcp_servers.session-migrator]\ncommand = \"/b\"\nargs = [\"mcp\"]", tomlFile},
		{"toml, nothing", "", "[mcp_servers.session-migrator]\ncommand = \"/b\"\nargs = [\"mcp\"]\n", tomlFile},
		{"toml in braces", "mcp_servers = { a.command = \"x\" } # n\n", "mcp_servers = { a.command = \"x\", session-migrator = { command = \"/b\", args = [\"mcp\"] } } # n\n", tomlFile},
		{"toml, another entry", "[mcp_servers]\nsession-migrator = { command = \"x\", env = { A = '1' } }\n", "[mcp_servers]\nsession-migrator = { command = \"/b\", args = [\"mcp\"] }\n", tomlFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := jsonAt
			if c.file.Format == edit.TOML {
				path = tomlAt
			}
			got, err := c.file.Set([]byte(c.text), path, small)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\n%q\nwant\n%q", err, got, c.want)
			}
		})
	}
}

func TestOneKeyOfAnEntryIsRenewed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[mcp_servers.session-migrator]\ncommand = \"/old\" # mine\nenabled = false\n\n[mcp_servers.session-migrator.env]\nA = \"1\"\n",
			"[mcp_servers.session-migrator]\ncommand = \"/old\" # mine\nenabled = false\nargs = [\"mcp\"]\n\n[mcp_servers.session-migrator.env]\nA = \"1\"\n"},
		{"mcp_servers.session-migrator.command = \"/old\"\n[x]\n", "mcp_servers.session-migrator.command = \"/old\"\nmcp_servers.session-migrator.args = [\"mcp\"]\n[x]\n"},
		{"[mcp_servers]\n  session-migrator . command = \"/old\"\n", "[mcp_servers]\n  session-migrator . command = \"/old\"\n  session-migrator . args = [\"mcp\"]\n"},
		{"[mcp_servers.session-migrator.env]\nA = \"1\"", "[mcp_servers.session-migrator.env]\nA = \"1\"\n\n[mcp_servers.session-migrator]\nargs = [\"mcp\"]"},
		{"[mcp_servers.session-migrator]", "[mcp_servers.session-migrator]\nargs = [\"mcp\"]"},
	} {
		got, err := tomlFile.Set([]byte(c.text), append(tomlAt[:2:2], "args"), []string{"mcp"})
		if err != nil || string(got) != c.want {
			t.Errorf("%v\n%q\nwant\n%q", err, got, c.want)
		}
	}
	text := "{\n  \"mcpServers\": {\"session-migrator\": {\"command\": \"/old\", \"env\": {\"A\": \"1\"}}}\n}"
	got, err := jsonFile.Set([]byte(text), append(jsonAt[:2:2], "command"), "/new")
	if want := strings.Replace(text, "/old", "/new", 1); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestRemoveTakesTheWholeTable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a = 1\n\n[mcp_servers.session-migrator]\n# ours\ncommand = \"/b\" # x\n\n[mcp_servers.session-migrator.env]\nA = \"1\"\n\n# of the next\n[z]\n", "a = 1\n\n# of the next\n[z]\n"},
		{"mcp_servers = { session-migrator.command = \"x\", b = {}, session-migrator.args = [] }\n", "mcp_servers = { b = {} }\n"},
		{"mcp_servers = { b = {}, session-migrator = {} }\n", "mcp_servers = { b = {} }\n"},
		{"mcp_servers = { session-migrator = {} }\n", "mcp_servers = {}\n"},
		{"[mcp_servers]\nsession-migrator.command = 'x'\nb.command = 'y'\nsession-migrator.args = []", "[mcp_servers]\nb.command = 'y'"},
	} {
		got, err := tomlFile.Remove([]byte(c.text), tomlAt)
		if err != nil || string(got) != c.want {
			t.Errorf("%v\n%q\nwant\n%q", err, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"{ // note\n \"mcpServers\": { // n\n \"session-migrator\": 1, \"b\": 2 } }", "{ // note\n \"mcpServers\": { // n\n  \"b\": 2 } }"},
		{`{"mcpServers": {"session-migrator": 1,}}`, `{"mcpServers": {}}`},
		{`{"mcpServers": {/* a */ "session-migrator": 1 /* b */}}`, `{"mcpServers": {/* a */ /* b */}}`},
		{`{"mcpServers": {"b": 1, "session-migrator": 1,}}`, `{"mcpServers": {"b": 1,}}`},
	} {
		got, err := jsoncFile.Remove([]byte(c.text), jsonAt)
		if err != nil || string(got) != c.want {
			t.Errorf("%v\n%q\nwant\n%q", err, got, c.want)
		}
	}
}

func TestWhatCantBeChangedIsNamed(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		file         edit.File
		kind         edit.Kind
		line, column int
		says         string
	}{
		{"list of servers", "{\n  \"mcpServers\": []\n}", jsonFile, edit.WrongType, 2, 17, `"mcpServers" should hold an object {…}, not a list`},
		{"null", `{"mcpServers": null}`, jsonFile, edit.WrongType, 1, 16, "not null"},
		{"a list", "[]", jsonFile, edit.WrongType, 1, 1, "holds no object"},
		{"torn", "{\n  \"a\": 1,\n  \"b\": {", jsonFile, edit.Malformed, 3, 9, "not the end of the file"},
		{"no comma", "{\n  \"a\": 1\n  \"é\": 2 \"b\"\n}", jsonFile, edit.Malformed, 3, 3, "a comma or '}' should be here"},
		{"note", "{\n  // n\n}", jsonFile, edit.Malformed, 2, 3, "a comment, which this file's program doesn't read"},
		{"comma", "{\"a\": 1, }", jsonFile, edit.Malformed, 1, 8, "a comma behind the last"},
		{"open note", "{ /* ", jsoncFile, edit.Malformed, 1, 3, "a comment that doesn't end"},
		{"twice", "{\"mcpServers\": {},\n\"mcpServers\": {}}", jsonFile, edit.Duplicate, 2, 1, "a second time"},
		{"entry twice", "{\"mcpServers\": {\"session-migrator\": 1, \"session\\u002dmigrator\": 2}}", jsonFile, edit.Duplicate, 1, 40, "a second time"},
		{"two files", "{}\n{}", jsonFile, edit.Malformed, 2, 1, "behind the end"},
		{"line in a text", "{\"a\": \"x\ny\"}", jsonFile, edit.Malformed, 1, 9, "a text that its line ends"},
		{"no value", "{\"a\": nul}", jsonFile, edit.Malformed, 1, 7, "no value"},
		{"deep", strings.Repeat(`{"a":`, 600), jsonFile, edit.Malformed, 1, 2506, "too deeply"},
		{"utf-16", "\xff\xfe{\x00}\x00", jsonFile, edit.Encoding, 1, 1, "UTF-16"},
		{"latin 1", "{\n\"a\": \"\xe9\"}", jsonFile, edit.Encoding, 2, 7, "no UTF-8"},
		{"toml list", "a = 1\n[[mcp_servers]]\nx = 1\n", tomlFile, edit.WrongType, 2, 1, "[[mcp_servers]]"},
		{"toml text", "mcp_servers = 'x'\n", tomlFile, edit.WrongType, 1, 15, "mcp_servers should be a table, not a text"},
		{"toml torn", "a = 1\nb = [\n", tomlFile, edit.Malformed, 2, 6, "unexpected EOF"},
		{"toml twice", "[mcp_servers.a]\n[mcp_servers.a]\n", tomlFile, edit.Duplicate, 2, 2, "already been defined"},
		{"toml in braces", "mcp_servers = { session-migrator = 1 }\n", tomlFile, edit.WrongType, 1, 36, "should be a table, not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := append(jsonAt[:2:2], "command")
			if c.file.Format == edit.TOML {
				path = append(tomlAt[:2:2], "command")
			}
			for what, f := range map[string]func() ([]byte, error){
				"set":    func() ([]byte, error) { return c.file.Set([]byte(c.text), path, "x") },
				"remove": func() ([]byte, error) { return c.file.Remove([]byte(c.text), path) },
				"get":    func() ([]byte, error) { _, err := c.file.Get([]byte(c.text), path); return nil, err },
			} {
				got, err := f()
				e, ok := errors.AsType[*edit.Error](err)
				if !ok || got != nil {
					t.Fatalf("%s: %v, %q", what, err, got)
				}
				if e.Kind != c.kind || e.Line != c.line || e.Column != c.column || !strings.Contains(err.Error(), c.says) || e.Next == "" || e.File != c.file.Name {
					t.Errorf("%s: %v (%v; next: %s)", what, err, e.Kind, e.Next)
				}
			}
		})
	}
}

func TestGetGivesWhatIsThere(t *testing.T) {
	v, err := jsoncFile.Get([]byte(`{"mcpServers": {"session-migrator": {"command": "c", "args": ["a"],}}} // x`), jsonAt)
	if m, ok := v.(map[string]any); err != nil || !ok || m["command"] != "c" {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := tomlFile.Get([]byte("x = 1"), tomlAt); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := jsonFile.Get(nil, jsonAt); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
}

// No bytes make it fail in another way than with an Error, lose a byte, or give
// what can't be read again.
func fuzz(f *testing.F, file edit.File, path []string) {
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := file.Set(text, path, small)
		if err != nil {
			if _, ok := errors.AsType[*edit.Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		again, err := file.Set(out, path, small)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("set twice: %v\n%q\n%q", err, out, again)
		}
		gone, err := file.Remove(out, path)
		if err != nil {
			t.Fatalf("%v\n%q", err, out)
		}
		if v, err := file.Get(gone, path); v != nil || err != nil {
			t.Fatalf("still there: %v, %v\n%q", v, err, gone)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "{}", "{\"mcpServers\":{\"a\":1,}} // x", "{\"a\":[1,/* */],\n\t\"mcpServers\": {}}", "\xef\xbb\xbf{\r\n}"} {
		f.Add([]byte(s))
	}
	fuzz(f, jsoncFile, jsonAt)
}

func FuzzTOML(f *testing.F) {
	for _, s := range []string{"", "a = '''\n[b]'''\n[mcp_servers]\nx.y = {z = [1,\n2]}", "mcp_servers = {a=1}", "[mcp_servers.session-migrator]\ncommand=1\r\n[[c]]\n", "mcp_servers.a.b = \"\"\"\"\"\"\""} {
		f.Add([]byte(s))
	}
	fuzz(f, tomlFile, tomlAt)
}
