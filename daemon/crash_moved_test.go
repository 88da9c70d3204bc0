//go:build crash

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A shared file that was written just before a crash is ours to clear up, even
// if its only session has gone to another folder when the daemon is back.
func TestCrashThenItsSessionMoved(t *testing.T) {
	dir := t.TempDir()
	k := task{Kind: taskOnce, Data: filepath.Join(dir, "data"), Home: filepath.Join(dir, "home"), User: filepath.Join(dir, "user")}
	from, to := filepath.Join(dir, "work", "from"), filepath.Join(dir, "work", "to")
	day := filepath.Join(k.Home, "sessions", "2026", "09", "01")
	for _, d := range []string{k.User, filepath.Join(from, ".workbuddy"), to, day} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const id = "019a0000-0000-7000-8000-0000000000d1"
	record := func(cwd, asked string) {
		text := fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"session_meta","payload":{"id":%q,"timestamp":"2026-09-01T09:00:00.000Z","cwd":%q}}
{"timestamp":"2026-09-01T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}
{"timestamp":"2026-09-01T09:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is done."}]}}
{"timestamp":"2026-09-01T09:00:03.000Z","type":"event_msg","payload":{"type":"task_complete"}}
`, id, cwd, asked)
		if err := os.WriteFile(filepath.Join(day, "rollout-2026-09-01T09-00-00-"+id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	once := func(at string) (died bool) {
		c, err := k.command(at)
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.CombinedOutput()
		if died = c.ProcessState.ExitCode() == -1; err != nil && !died {
			t.Fatalf("%v: %s", err, out)
		}
		return died
	}
	memory := filepath.Join(from, ".workbuddy", "memory", "MEMORY.md")
	ours := func() bool {
		text, err := os.ReadFile(memory)
		return err == nil && strings.Contains(string(text), "session-migrator:begin")
	}

	record(from, "Fix the upload test.")
	if !once("before_shared:1") || !ours() {
		t.Fatal("it did not die after it had written the shared file")
	}
	record(to, "Fix the upload test, over there.")
	once("")
	if ours() {
		t.Errorf("%s still speaks of a session that went elsewhere", memory)
	}
}
