//go:build linux && faults

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// tokens60 makes 60 secrets of known shapes: none of them opens anything, and
// none stands here whole.
func tokens60() []string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	const hexdigits = "0123456789abcdef"
	r := rand.New(rand.NewPCG(60, 60))
	body := func(n int, set string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		b[n/2] = set[len(set)-1]
		return string(b)
	}
	var out []string
	for range 3 {
		out = append(out,
			"gh"+"p_"+body(36, letters), "gh"+"o_"+body(36, letters), "github"+"_pat_"+body(22, letters)+"_"+body(59, letters), "gl"+"pat-"+body(20, letters),
			"AKIA"+body(16, capitals), "ASIA"+body(16, capitals), "sk"+"-"+body(48, letters), "sk"+"-ant-api03-"+body(90, letters), "sk"+"-or-v1-"+body(64, hexdigits),
			"xo"+"xb-123456789012-"+body(24, letters), "xa"+"pp-1-"+body(40, letters), "AI"+"za"+body(35, letters), "sk"+"_live_"+body(24, letters),
			"np"+"m_"+body(36, letters), "h"+"f_"+body(34, letters), "py"+"pi-AgEI"+body(60, letters), "do"+"p_v1_"+body(64, hexdigits), "gs"+"k_"+body(52, letters),
			"ey"+"J"+body(20, letters)+".ey"+"J"+body(40, letters)+"."+body(43, letters), "GOC"+"SPX-"+body(28, letters))
	}
	return out
}

// What a user pasted once leaves by none of the ways out.
func TestFaultSecretsStayIn(t *testing.T) {
	secrets := tokens60()
	reliability.Fault(t, 48, "60 secrets as request, answer, command, output, title and folder")
	p := newProcess(t)
	var threads []*rollouttest.Rollout
	for i, s := range secrets {
		b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: threadID(i), Cwd: "/srv/" + s})
		b.User("use "+s+" for it").Call("exec_command", fmt.Sprintf(`{"cmd":"deploy --key %s"}`, s), "answered with "+s+"\n").Assistant("I used `" + s + "`.").End()
		b.Rename("deploy with " + s)
		threads = append(threads, b)
		p.write(b)
	}
	p.start("run", "--log-level", "debug")
	p.until("all are read and written", time.Minute, func() bool {
		files, _ := filepath.Glob(filepath.Join(p.data, "memory", "projects", "*", "2*.md"))
		return len(files) == len(secrets) && p.has("I used", threads...)
	})
	var questions strings.Builder
	questions.WriteString(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	ask := func(id int, tool string, args map[string]any) {
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
		if err != nil {
			t.Fatal(err)
		}
		questions.Write(append(line, '\n'))
	}
	ask(2, "list_sessions", map[string]any{"workspace": "all", "limit": 100})
	ask(3, "migrator_status", map[string]any{})
	for i := range secrets {
		ask(10+4*i, "get_session_context", map[string]any{"session": threadID(i)})
		ask(11+4*i, "migrate_session", map[string]any{"session": threadID(i), "target_model": "gpt-4o"})
		ask(12+4*i, "get_migration_decision", map[string]any{"session": threadID(i), "target_model": "gpt-4o"})
		ask(13+4*i, "get_omitted_original", map[string]any{"session": threadID(i), "ref": "t1"})
	}
	c := p.command("mcp", "--log-level", "debug")
	c.Stdin = strings.NewReader(questions.String())
	answers, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("mcp: %v", err)
	}
	if n := strings.Count(string(answers), "deploy --key "); n < len(secrets) {
		t.Errorf("only %d of %d sessions were handed out", n, len(secrets))
	}
	out := map[string]string{"mcp": string(answers), "sessions": p.output("sessions", "--limit", "0"), "status": p.output("status"), "doctor": p.output("doctor")}
	for i := range secrets {
		out["migrate"] += p.output("migrate", threadID(i), "--to", "gpt-4o")
	}
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out["log"] = p.err.String()
	err = filepath.WalkDir(filepath.Join(p.data, "memory"), func(path string, d fs.DirEntry, err error) error {
		out["file names"] += path + "\n"
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out["memory files"] += string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range out {
		low := strings.ToLower(text)
		for i, s := range secrets {
			if strings.Contains(text, s) || strings.Contains(low, strings.ToLower(s[len(s)-12:])) {
				t.Errorf("secret %d, %.6s…, is in %s", i, s, where)
			}
		}
	}
	reliability.Figure(t, 17, "60 secrets: none in memory files, their names, MCP answers, hand-overs, lists or logs")
}
