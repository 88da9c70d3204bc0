//go:build e2e

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// connectable is a client that says itself which MCP servers it has.
type connectable struct {
	name, env string
	program   func(path string) string // what stands for it in the PATH: a shell's command
	own       bool                     // connect uses its command
	file      string                   // below the home
	text      string                   // of a user
}

func native(path string) string { return `exec "` + path + `" "$@"` }
func byNode(path string) string { return `exec node "` + path + `" "$@"` }

var connectables = []connectable{
	{"codex", "E2E_CODEX", native, true, ".codex/config.toml", "# mine\nmodel = \"x\"   # usual\n\n[tui]\n  theme = 'a'"},
	{"claude", "E2E_CLAUDE", native, true, ".claude.json", "{\"numStartups\":3,   \"projects\":{\"/x\":{\"mcpServers\":{}}}}"},
	{"gemini", "E2E_GEMINI", byNode, true, ".gemini/settings.json",
		"{\r\n    // mine\r\n    \"general\": {\"disableAutoUpdate\": true}, \"privacy\": { \"usageStatisticsEnabled\": false },\r\n    \"security\": {\"folderTrust\": {\"enabled\": false}}\r\n}"},
	{"opencode", "E2E_OPENCODE", native, false, ".config/opencode/opencode.jsonc", "{\n\t// mine\n\t\"autoupdate\": false,\n\t\"mcp\": {\n\t},\n}\n"},
	// The package brings the commands in the part for use without a terminal.
	{"codebuddy", "E2E_CODEBUDDY", func(path string) string {
		return byNode(filepath.Join(filepath.Dir(filepath.Dir(path)), "dist", "codebuddy-headless.js"))
	}, true, ".codebuddy/.mcp.json", "{\n  \"mcpServers\": {\n    \"theirs\": {\"command\": \"true\"}\n  },\n  \"disabledMcpServers\": []\n}"},
}

// TestConnectRealClients has each client list what connect did: by the client's
// own command, and by its file with the client out of the PATH. They go one by
// one: a command has a minute, and these take seconds of a processor each.
func TestConnectRealClients(t *testing.T) {
	binary := os.Getenv("E2E_BINARY")
	if binary == "" {
		t.Fatal("set E2E_BINARY; make e2e does")
	}
	for _, c := range connectables {
		t.Run(c.name, func(t *testing.T) {
			path := os.Getenv(c.env)
			if path == "" {
				t.Skipf("%s is not installed (%s)", c.name, c.env)
			}
			p := newConnectPlace(t, binary, c, path)
			lists := func(want bool) {
				t.Helper()
				out := p.run(true, c.name, "mcp", "list")
				t.Logf("%s mcp list:\n%s", c.name, strings.TrimSpace(out))
				if strings.Contains(out, "session-migrator") != want {
					t.Errorf("it is listed: %t, want %t", !want, want)
				}
			}
			if c.own {
				out := p.run(true, binary, "connect", c.name)
				t.Log(strings.TrimSpace(out))
				switch {
				case strings.Contains(out, "connected by "):
				case strings.Contains(out, "did not end within"):
					t.Log("this machine is too slow for its command now: the file was changed instead")
				default:
					t.Error("its own command was not used")
				}
				lists(true)
				p.run(true, binary, "disconnect", c.name)
				p.lacks(c)
				p.write(c.file, c.text)
			}
			t.Log(strings.TrimSpace(p.run(false, binary, "connect", c.name)))
			p.keeps(c)
			lists(true)
			p.run(false, binary, "disconnect", c.name)
			p.lacks(c)
			lists(false)
		})
	}
}

// connectPlace is a throw-away home with one client.
type connectPlace struct {
	t              *testing.T
	home, bin, was string
}

func newConnectPlace(t *testing.T, binary string, c connectable, path string) *connectPlace {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &connectPlace{t: t, home: home, bin: filepath.Join(home, "bin"), was: c.text}
	p.write(c.file, c.text)
	p.write(filepath.Join("bin", c.name), "#!/bin/sh\n"+c.program(path)+"\n")
	p.write("work/README.md", "A place to start clients in.\n")
	if err := os.Chmod(filepath.Join(p.bin, c.name), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *connectPlace) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run runs a program to its end, with the client in the PATH or without.
func (p *connectPlace) run(found bool, name string, args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer cancel()
	search := os.Getenv("PATH")
	if found {
		search = p.bin + string(filepath.ListSeparator) + search
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.bin, name)
		}
	}
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.WaitDelay = filepath.Join(p.home, "work"), 5*time.Second
	c.Env = []string{"HOME=" + p.home, "PATH=" + search, "LANG=C.UTF-8", "TERM=dumb", "USER=nobody", "NO_COLOR=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CODEBUDDY_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_API_KEY=none"}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, tailOf(out.String()))
	}
	return out.String()
}

func (p *connectPlace) read(c connectable) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.home, c.file))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// keeps tells that what the user wrote is all in the file: each line of it but
// for commas and the end.
func (p *connectPlace) keeps(c connectable) {
	p.t.Helper()
	text := p.read(c)
	for line := range strings.Lines(c.text) {
		if line = strings.TrimRight(line, "\r\n{}"); !strings.Contains(text, line) {
			p.t.Errorf("%q is gone from\n%s", line, text)
		}
	}
}

// lacks tells that our entry is gone, and the file as it was unless the client
// itself wrote into it meanwhile.
func (p *connectPlace) lacks(c connectable) {
	p.t.Helper()
	text := p.read(c)
	if strings.Contains(text, "session-migrator") {
		p.t.Errorf("our entry is still there:\n%s", text)
	}
	if text != p.was {
		p.t.Logf("%s was written by the client meanwhile: %d bytes, were %d", c.file, len(text), len(p.was))
	}
}
