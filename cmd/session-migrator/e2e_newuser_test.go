//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newUserMost is how long it may take a new user from the program to the first
// answer, Codex's own time included.
const newUserMost = 2 * time.Minute

// A new user runs one command, works with Codex once, and asks about it: in
// another session of Codex, over MCP. .ci/newuser runs it in an account of its own.
func TestCodexNewUser(t *testing.T) {
	const noted = "The release number is 4711."
	w := newWorld(t, step{say: noted},
		step{tool: "get_session_context", args: map[string]any{"session": "latest"}}, step{say: "It is 4711."})
	w.env = append(w.env, "PATH="+filepath.Dir(w.codex)+string(os.PathListSeparator)+os.Getenv("PATH")) // the last one counts
	begun := time.Now()
	lap := func(what string) { t.Logf("%6.1f s: %s", time.Since(begun).Seconds(), what) }

	setup := []string{"setup", "--yes"}
	if os.Getenv("E2E_HOME") == "" {
		setup = append(setup, "--no-service") // the account is somebody's
	}
	text := w.run(w.binary, setup...)
	lap("session-migrator setup --yes")
	for _, want := range []string{"connect Codex", "What you can do now"} {
		if !strings.Contains(text, want) {
			t.Errorf("setup says nothing of %q:\n%s", want, text)
		}
	}
	defer func() {
		w.run(w.binary, "setup", "--undo", "--yes")
		if settings, err := os.ReadFile(filepath.Join(w.codexHome, "config.toml")); err != nil || strings.Contains(string(settings), "session-migrator") {
			t.Errorf("taken back, and still there (%v):\n%s", err, settings)
		}
		lap("session-migrator setup --undo --yes")
	}()
	w.run(w.codex, "exec", "--json", "--skip-git-repo-check", "-C", w.work, "Note the release number.")
	lap("one turn of Codex")
	w.run(w.codex, "exec", "--json", "--skip-git-repo-check", "-C", w.work, "What was the release number?")
	lap("a question over MCP, in another session")
	took := time.Since(begun)

	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	if len(w.model.results) != 1 || !strings.Contains(w.model.results[0], noted) {
		t.Fatalf("the model got %q", w.model.results)
	}
	if took > newUserMost {
		t.Errorf("from nothing to the first answer: %v, more than %v", took, newUserMost)
	}
}
