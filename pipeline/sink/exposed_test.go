package sink_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// put writes a file and the folders above it.
func put(t *testing.T, text string, elem ...string) string {
	t.Helper()
	name := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Each row is asked of git itself too, where there is one.
func TestExposed(t *testing.T) {
	const file = ".workbuddy/memory/codex/a.md"
	tests := []struct {
		name, ignore, exclude, inner string
		exposed                      bool
	}{
		{"nothing ignored", "", "", "", true},
		{"the folder by name", ".workbuddy/\n", "", "", false},
		{"the folder without a slash", ".workbuddy\n", "", "", false},
		{"anchored", "/.workbuddy/memory\n", "", "", false},
		{"in the middle", ".workbuddy/memory/codex/\n", "", "", false},
		{"anchored elsewhere", "/memory\n", "", "", true},
		{"a name at any depth", "codex\n", "", "", false},
		{"a pattern of names", "*.md\n", "", "", false},
		{"taken back in", "*.md\n!a.md\n", "", "", true},
		{"taken back in within an ignored folder", ".workbuddy/\n!a.md\n", "", "", false},
		{"stars", "**/codex/*.md\n", "", "", false},
		{"stars at the end", ".workbuddy/**\n", "", "", false},
		{"one star is one level", ".workbuddy/*.md\n", "", "", true},
		{"question mark and class", ".workbudd?/memor[x-z]\n", "", "", false},
		{"class turned around", ".workbuddy/[!m]emory\n", "", "", true},
		{"folders only", "a.md/\n", "", "", true},
		{"comment", "# .workbuddy\n", "", "", true},
		{"with carriage return and spaces", ".workbuddy  \r\n", "", "", false},
		{"by exclude", "", ".workbuddy/\n", "", false},
		{"exclude taken back", "!.workbuddy/\n", ".workbuddy/\n", "", true},
		{"by a file below", "", "", "*\n", false},
		{"by a file below, by name", "", "", "/codex\n", false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := put(t, "", dir, file)
			git, err := exec.LookPath("git")
			if err == nil {
				if out, err := exec.Command(git, "-C", dir, "init", "-q").CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			put(t, c.ignore, dir, ".gitignore")
			put(t, c.exclude, dir, ".git", "info", "exclude")
			put(t, c.inner, dir, ".workbuddy", "memory", ".gitignore")
			repository, exposed := sink.Exposed(name)
			if exposed != c.exposed || repository != dir {
				t.Errorf("exposed %v in %q, want %v", exposed, repository, c.exposed)
			}
			if git == "" {
				return
			}
			cmd := exec.Command(git, "-C", dir, "check-ignore", "-q", file)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "XDG_CONFIG_HOME="+dir)
			if ignored := cmd.Run() == nil; ignored == c.exposed {
				t.Errorf("git ignores it: %v", ignored)
			}
		})
	}
	if repository, exposed := sink.Exposed(put(t, "", t.TempDir(), "a.md")); exposed || repository != "" {
		t.Errorf("outside of git: %v in %q", exposed, repository)
	}
}
