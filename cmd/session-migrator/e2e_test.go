//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests here drive a real Codex (E2E_CODEX: its binary) against a scripted
// model on loopback, with our program (E2E_BINARY) beside it and as its MCP
// server.

// script is a model that plays its steps in turn: a tool call by the end of
// the tool's name, or an answer.
type script struct {
	mu      sync.Mutex // guards the rest
	steps   []step
	n       int
	results []string // of tool calls, as they reached the model
}

type step struct {
	tool string
	args map[string]any
	say  string
	wait time.Duration
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/responses") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[],"models":[]}`)
		return
	}
	var body struct {
		Tools []tool           `json:"tools"`
		Input []map[string]any `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = s.results[:0]
	for _, it := range body.Input {
		if it["type"] == "function_call_output" {
			text, _ := json.Marshal(it["output"])
			s.results = append(s.results, string(text))
		}
	}
	next := step{say: "Nothing more to do."}
	if s.n < len(s.steps) {
		next = s.steps[s.n]
	}
	s.n++
	time.Sleep(next.wait)
	s.answer(w, s.item(next, body.Tools))
}

type tool struct {
	Type, Name string
	Tools      []tool
}

func (s *script) item(next step, tools []tool) map[string]any {
	if next.tool == "" {
		return map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d", s.n), "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": next.say}}}
	}
	args, _ := json.Marshal(next.args)
	call := map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", s.n), "call_id": fmt.Sprintf("call_%d", s.n), "name": next.tool, "arguments": string(args)}
	for _, t := range tools {
		for _, u := range t.Tools {
			if u.Name == next.tool {
				call["namespace"] = t.Name
			}
		}
		if t.Type == "function" && strings.HasSuffix(t.Name, "__"+next.tool) {
			call["name"] = t.Name
		}
	}
	return call
}

func (s *script) answer(w http.ResponseWriter, item map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	id := fmt.Sprintf("resp_%d", s.n)
	usage := map[string]any{"input_tokens": 10, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 5, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 15}
	for _, e := range []map[string]any{
		{"type": "response.created", "response": map[string]any{"id": id}},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": map[string]any{"id": id, "usage": usage}},
	} {
		text, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], text)
	}
}

// world is a throw-away home with Codex and our program in it.
type world struct {
	t            *testing.T
	binary       string
	codex        string
	home, work   string
	codexHome    string
	env          []string
	model        *script
	daemonOutput bytes.Buffer
}

func newWorld(t *testing.T, steps ...step) *world {
	t.Helper()
	w := &world{t: t, binary: os.Getenv("E2E_BINARY"), codex: os.Getenv("E2E_CODEX"), home: os.Getenv("E2E_HOME"), model: &script{steps: steps}}
	if w.home == "" { // else an account of its own
		w.home = t.TempDir()
	}
	if w.binary == "" || w.codex == "" {
		t.Fatal("set E2E_BINARY and E2E_CODEX; make e2e does")
	}
	w.work, w.codexHome = filepath.Join(w.home, "work"), filepath.Join(w.home, ".codex")
	for _, d := range []string{w.work, w.codexHome} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewServer(w.model)
	t.Cleanup(srv.Close)
	config := fmt.Sprintf(`model = "scripted-model"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects.%q]
trust_level = "trusted"
`, srv.URL, w.work)
	if err := os.WriteFile(filepath.Join(w.codexHome, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb", "USER=nobody", "SCRIPT_KEY=none"}
	return w
}

// run runs a program of the world to its end and gives what it printed.
func (w *world) run(name string, args ...string) string {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), name, args...)
	c.Dir, c.Env = w.work, w.env
	var out, diag bytes.Buffer
	c.Stdout, c.Stderr = &out, &diag
	if err := c.Run(); err != nil {
		w.t.Fatalf("%s %s: %v\n%s\n%s", filepath.Base(name), strings.Join(args, " "), err, out.String(), diag.String())
	}
	return out.String()
}

// daemon starts "run" and gives a function that ends it.
func (w *world) daemon() (stop func()) {
	w.t.Helper()
	c := exec.Command(w.binary, "run")
	c.Dir, c.Env, c.Stdout, c.Stderr = w.work, w.env, &w.daemonOutput, &w.daemonOutput
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.until("the daemon runs", 10*time.Second, func() bool {
		var s struct{ Daemon struct{ Running bool } }
		out, err := w.query("status", "--json")
		return err == nil && json.Unmarshal(out, &s) == nil && s.Daemon.Running
	})
	return func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			w.t.Errorf("the daemon ended with %v\n%s", err, w.daemonOutput.String())
		}
	}
}

func (w *world) query(args ...string) ([]byte, error) {
	c := exec.Command(w.binary, args...)
	c.Dir, c.Env = w.work, w.env
	return c.Output()
}

func (w *world) until(what string, limit time.Duration, f func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if f() {
			return
		}
	}
	w.t.Fatalf("not within %v: %s\n%s", limit, what, w.daemonOutput.String())
}

func TestCodexAsksAboutItsOwnThread(t *testing.T) {
	w := newWorld(t,
		step{tool: "get_migration_decision", args: map[string]any{"session": "current", "target_model": "gpt-5"}},
		step{say: "It fits."})
	defer w.daemon()()
	w.run(w.codex, "mcp", "add", "session-migrator", "--", w.binary, "mcp")
	w.run(w.codex, "exec", "--json", "--skip-git-repo-check", "-C", w.work, "Can gpt-5 take over?")
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	if len(w.model.results) != 1 || !strings.Contains(w.model.results[0], "direct") || !strings.Contains(w.model.results[0], "session_tokens") {
		t.Fatalf("the model got %q\n%s", w.model.results, w.daemonOutput.String())
	}
}

func TestLiveSessionIsFollowed(t *testing.T) {
	w := newWorld(t, step{say: "First answer.", wait: 300 * time.Millisecond}, step{say: "Second answer."})
	defer w.daemon()()
	w.run(w.codex, "exec", "--json", "--skip-git-repo-check", "-C", w.work, "Say something.")
	var shown struct {
		Messages []struct{ Role, Text string }
	}
	w.until("the answer is queryable", time.Second, func() bool {
		out, err := w.query("show", "latest", "--format", "messages", "--json")
		return err == nil && json.Unmarshal(out, &shown) == nil && len(shown.Messages) == 2 && shown.Messages[1].Text == "First answer."
	})
	w.until("the memory file is there", 2*time.Second, func() bool {
		files, _ := filepath.Glob(filepath.Join(w.home, ".session-migrator", "memory", "projects", "*", "2*.md"))
		if len(files) != 1 {
			return false
		}
		text, err := os.ReadFile(files[0])
		return err == nil && bytes.Contains(text, []byte("First answer."))
	})
}

func TestCodexHomeIsOnlyRead(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace does not work here (apt install strace; a container may forbid ptrace): %v %s", err, out)
	}
	w := newWorld(t, step{say: "Done."})
	w.run(w.codex, "exec", "--json", "--skip-git-repo-check", "-C", w.work, "Do it.")
	trace := filepath.Join(w.home, "trace")
	w.run("strace", "-f", "-e", "trace=open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,flock,fcntl,truncate,chmod,fchmodat,utimensat",
		"-y", "-o", trace, w.binary, "run", "--once")
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	defer func() {
		if seen == 0 {
			t.Error("the trace shows nothing of the Codex home")
		}
	}()
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.Contains(line, w.codexHome) {
			continue
		}
		seen++
		reads := strings.Contains(line, "open") && !strings.Contains(line, "O_WRONLY") && !strings.Contains(line, "O_RDWR") && !strings.Contains(line, "O_CREAT") && !strings.Contains(line, "O_TRUNC")
		flags := strings.Contains(line, "fcntl") && !strings.Contains(line, "SETLK") && !strings.Contains(line, "OFD_SETLK")
		if !reads && !flags {
			t.Errorf("not a mere read: %s", line)
		}
	}
}
