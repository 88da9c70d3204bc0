//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// place is a throw-away home with a git repository in it. Clients that are
// started in the repository talk to a model that only listens.
type place struct {
	t          *testing.T
	home, work string
	model      *listener
}

func newPlace(t *testing.T) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, home: home, work: filepath.Join(home, "code", "shop_api"), model: listen(t)}
	if err := os.MkdirAll(p.work, 0o755); err != nil {
		t.Fatal(err)
	}
	p.run(p.work, nil, "git", "init", "-q", ".")
	return p
}

// in is the place as seen from a part of the test.
func (p *place) in(t *testing.T) *place {
	q := *p
	q.t = t
	return &q
}

// write writes a file below the home, with the folders it needs.
func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) writeJSON(name string, v any) {
	p.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, string(text))
}

// run runs a program in a folder, in an environment of its own.
func (p *place) run(dir string, env []string, argv ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.WaitDelay = dir, 5*time.Second
	c.Env = append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb", "USER=nobody",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@localhost", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@localhost"}, env...)
	var out, diag bytes.Buffer
	c.Stdout, c.Stderr = &out, &diag
	if err := c.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.t.Fatalf("%s: %v\n%s\n%s", filepath.Base(argv[0]), err, tailOf(out.String()), tailOf(diag.String()))
	}
	return out.String()
}

func tailOf(s string) string { return s[max(0, len(s)-3000):] }

// client is a program that reads what our sinks write.
type client struct {
	name string
	env  string // the environment variable with its path; .ci/e2e sets it
	// setUp writes the client's own settings, and gives how it is started for
	// one question and with which environment.
	setUp func(p *place, path string) (argv, env []string)
}

// shown starts the client in a folder of the place, asks it something, and
// gives the texts of the requests it sent to the model.
func (c client) shown(p *place, dir string) string {
	p.t.Helper()
	path := os.Getenv(c.env)
	if path == "" {
		p.t.Skipf("%s is not installed (%s)", c.name, c.env)
	}
	argv, env := c.setUp(p, path)
	before := len(p.model.texts())
	out := p.run(dir, env, argv...)
	texts := p.model.texts()[before:]
	if len(texts) == 0 {
		p.t.Fatalf("%s asked the model nothing, but %q\n%s", c.name, p.model.asides(), tailOf(out))
	}
	return strings.Join(texts, "\n")
}

const question = "What was done here last?"

var codex = client{name: "Codex", env: "E2E_CODEX", setUp: func(p *place, path string) ([]string, []string) {
	p.write(".codex/config.toml", `model = "scripted-model"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "`+p.model.url+`/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."`+p.work+`"]
trust_level = "trusted"
`)
	return []string{path, "exec", "--json", "--skip-git-repo-check", question}, []string{"SCRIPT_KEY=none"}
}}

var claude = client{name: "Claude Code", env: "E2E_CLAUDE", setUp: func(p *place, path string) ([]string, []string) {
	return []string{path, "-p", question, "--output-format", "json"},
		[]string{"ANTHROPIC_BASE_URL=" + p.model.url, "ANTHROPIC_API_KEY=none", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
			"DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}}

var gemini = client{name: "Gemini CLI", env: "E2E_GEMINI", setUp: func(p *place, path string) ([]string, []string) {
	p.writeJSON(".gemini/settings.json", map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}, "folderTrust": map[string]any{"enabled": false}},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"general":   map[string]any{"disableAutoUpdate": true, "enableAutoUpdate": false},
	})
	return []string{"node", path, "-p", question, "-m", "gemini-2.5-flash", "--output-format", "json"},
		[]string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + p.model.url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
}}

var codebuddy = client{name: "CodeBuddy", env: "E2E_CODEBUDDY", setUp: func(p *place, path string) ([]string, []string) {
	p.writeJSON(".codebuddy/models.json", map[string]any{
		"models": []any{map[string]any{"id": "scripted", "name": "scripted", "vendor": "scripted", "url": p.model.url + "/v1/chat/completions", "apiKey": "none",
			"maxInputTokens": 200000, "maxOutputTokens": 8192, "supportsToolCall": true, "supportsImages": false}},
		"availableModels": []string{"scripted"},
	})
	return []string{"node", path, "-p", question, "--model", "scripted", "-y", "--output-format", "json"},
		[]string{"CODEBUDDY_API_KEY=none", "CODEBUDDY_BASE_URL=" + p.model.url, "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1"}
}}
