//go:build linux && faults

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// carrier is a session with secrets of one kind, another in each place.
func carrier(i int, s []redacttest.Secret) *rollouttest.Rollout {
	line := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	opt := rollouttest.Options{ThreadID: threadID(i), Cwd: "/srv/proj"}
	if !s[4].Block {
		opt.Cwd, opt.BranchName = "/srv/"+s[4].Text, s[5].Text
	}
	b := rollouttest.New(rollouttest.Paginated, opt)
	// The first request is the title until there is another: each of them is cut
	// at another place, many within the secret.
	b.User(strings.Repeat("go ", 133-i%40) + s[0].Text + "\nand go on")
	args, err := json.Marshal(map[string]string{"cmd": "make deploy # " + s[1].Text})
	if err != nil {
		panic(err) // of a map of strings
	}
	b.Call("exec_command", string(args), "Exit code: 1\nOutput:\nerror: "+s[2].Text+"\n"+strings.Repeat("more\n", i%50))
	b.Call("exec_command", `{"cmd":"go test ./..."}`, "Exit code: 1\nOutput:\n"+strings.Repeat("ok\n", i)+"FAIL "+s[2].Text)
	b.Assistant("I used this:\n\n" + s[3].Text + "\n\nand it went well. " + strings.Repeat("It did. ", i%90))
	if i%2 == 0 && !s[6].Block {
		b.Rename(line("deploy with " + s[6].Text))
	}
	b.End()
	b.User("Never show " + s[7].Text + " to anybody.")
	return b.Fail("stream failed: " + s[7].Text)
}

// What a user pasted once leaves by none of the ways out.
func TestFaultSecretsStayIn(t *testing.T) {
	const places = 8
	var made [places][]redacttest.Secret
	var all []redacttest.Secret
	for n := range made {
		made[n] = redacttest.All(uint64(100 + n))
		all = append(all, made[n]...)
	}
	kinds := len(made[0])
	reliability.Fault(t, 48, fmt.Sprintf("%d kinds of secrets as request, answer, command, output, title, folder, branch and error, many where texts are cut", kinds))
	p := newProcess(t)
	begun := time.Now()
	for i := range kinds {
		var s []redacttest.Secret
		for n := range made {
			s = append(s, made[n][i])
		}
		p.write(carrier(i, s))
	}
	user := filepath.Dir(p.data)
	for _, dir := range []string{".workbuddy", ".openclaw/workspace", "vault"} {
		if err := os.MkdirAll(filepath.Join(user, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sinks := []string{"workbuddy-global", "openclaw", "obsidian --dir " + filepath.Join(user, "vault", "codex")}
	for _, s := range sinks {
		p.output(strings.Fields("sink enable " + s)...)
	}
	p.start("run", "--log-level", "debug")
	p.until("all are read and written", 2*time.Minute, func() bool {
		files, _ := filepath.Glob(filepath.Join(p.data, "memory", "projects", "*", "2*.md"))
		return len(files) == kinds
	})
	t.Logf("written after %v", time.Since(begun))
	out := map[string]string{"mcp": askAll(t, p, kinds), "status": p.output("status"), "doctor": p.output("doctor")}
	for _, form := range []string{"", "--json"} {
		out["sessions "+form] = p.output(strings.Fields("sessions --limit 0 " + form)...)
		out["sink list "+form] = p.output(strings.Fields("sink list " + form)...)
		for _, s := range sinks {
			name, _, _ := strings.Cut(s, " ")
			for i := 0; i < kinds; i += 40 {
				out["sink preview"] += p.output(strings.Fields("sink preview " + name + " " + threadID(i) + " " + form)...)
			}
		}
	}
	// A process each takes long: these are a sample. All forms of all kinds are
	// seen to by TestNoFormShowsASecret of pipeline.
	formats := []string{"markdown", "messages", "openai", "anthropic"}
	for i := 0; i < kinds; i += 5 {
		id := threadID(i)
		switch i % 3 {
		case 0:
			out["decide"] += p.output("decide", id, "--model", "gpt-4o", "--json")
		case 1:
			out["show"] += p.output("show", id, "--model", "gpt-5.5")
		default:
			out["show"] += p.output("show", id, "--budget", strconv.Itoa(250+i))
		}
		out["migrate"] += p.output("migrate", id, "--to", "gpt-4o", "--format", formats[i%4])
	}
	t.Logf("asked after %v", time.Since(begun))
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out["log"] = p.err.String()
	for _, dir := range []string{filepath.Join(p.data, "memory"), filepath.Join(user, ".workbuddy"), filepath.Join(user, ".openclaw"), filepath.Join(user, "vault")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			out["file names"] += path + "\n"
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			out[map[bool]string{true: "memory files", false: "files of sinks"}[strings.HasPrefix(path, p.data)]] += string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	leaks := redacttest.NewLeaks(all)
	for where, text := range out {
		for name, part := range leaks.In(text) {
			t.Errorf("%s: %q of it is in %s: …%s…", name, part, where, around(text, part))
		}
	}
	for where, least := range map[string]int{"mcp": kinds, "migrate": kinds / 5, "memory files": kinds, "files of sinks": 2 * kinds, "sink preview": 6} {
		if n := strings.Count(out[where], "[redacted:"); n < least {
			t.Errorf("only %d marks in %s", n, where)
		}
	}
	reliability.Figure(t, 17, "%d kinds of secrets in %d places: none in memory files, their names, MCP answers, hand-overs, lists or logs", kinds, places)
}

func around(text, part string) string {
	i := max(0, strings.Index(strings.ToLower(text), part))
	return strings.ToValidUTF8(text[max(0, i-60):min(len(text), i+40)], "?")
}

// askAll gives what the MCP server answers of all sessions.
func askAll(t *testing.T, p *process, sessions int) string {
	t.Helper()
	var questions strings.Builder
	questions.WriteString(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	n := 1
	ask := func(tool string, args map[string]any) {
		n++
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
		if err != nil {
			t.Fatal(err)
		}
		questions.Write(append(line, '\n'))
	}
	ask("list_sessions", map[string]any{"workspace": "all", "limit": 100})
	ask("migrator_status", map[string]any{})
	for i := range sessions {
		id := threadID(i)
		format := []string{"memory", "summary", "messages", "handoff"}[i%4]
		ask("get_session_context", map[string]any{"session": id, "format": format, "target_model": "gpt-4o", "max_bytes": 2000 + i%2*30000})
		ask("get_omitted_original", map[string]any{"session": id, "ref": "t1"})
	}
	c := p.command("mcp", "--log-level", "debug")
	c.Stdin = strings.NewReader(questions.String())
	answers, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("mcp: %v", err)
	}
	if n := strings.Count(string(answers), "make deploy # "); n < sessions {
		t.Errorf("sessions were handed out %d times", n)
	}
	return string(answers)
}
