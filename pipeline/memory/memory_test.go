package memory_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var zone = time.FixedZone("", 8*3600)

// session builds a thread the way the store gives it.
type session struct {
	thread transcript.Thread
	ms     []transcript.Message
	turns  []transcript.Turn

	summary *memory.Summary
}

func newSession(title string) *session {
	at := time.Date(2026, 2, 11, 0, 18, 47, 0, time.UTC)
	return &session{thread: transcript.Thread{
		ID: "019c4a10-9790-7c5e-9a41-3f08b7d20e63", Title: title, Cwd: "/home/dana/code/ledgerkit", Workspace: "/home/dana/code/ledgerkit",
		Path:  "/home/dana/.codex/sessions/2026/02/11/rollout-2026-02-11T08-18-47-019c4a10-9790-7c5e-9a41-3f08b7d20e63.jsonl",
		Model: "gpt-5-codex", GitBranch: "main", GitCommit: "c3fa71d", GitURL: "git.example.com/paperworks/ledgerkit",
		State: transcript.StateAnswered, Created: at, Updated: at.Add(67 * time.Minute), Window: 272000,
		Tokens: map[string]int64{"o200k_base": 4386}, Usage: transcript.Usage{Total: 6120934},
	}}
}

func (s *session) add(m transcript.Message) {
	n := int64(len(s.ms) + 1)
	m.Seq, m.Position, m.Ref, m.ThreadTurn = n, n, fmt.Sprintf("om_b7d20e63.%d", n), s.thread.Turns
	m.Tokens = (len(m.Body()) + 3) / 4
	s.ms = append(s.ms, m)
}

func (s *session) user(text string) {
	s.thread.Turns++
	s.turns = append(s.turns, transcript.Turn{Number: s.thread.Turns, State: transcript.StateAnswered})
	s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleUser, Text: text}})
}

func (s *session) assistant(text string) {
	s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleAssistant, Text: text, Phase: transcript.PhaseFinal}})
}

// remark is said between steps; say is of a rollout that has no phases.
func (s *session) remark(text string) {
	s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleAssistant, Text: text, Phase: transcript.PhaseCommentary}})
}

func (s *session) say(text string) {
	s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleAssistant, Text: text}})
}

// told is what another agent said.
func (s *session) told(text string) {
	s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleAgent, Text: text}})
}

// picture is a request with pictures.
func (s *session) picture(text string, n int) {
	s.user(text)
	s.ms[len(s.ms)-1].Images = n
}

// began is a command whose result has no exit code.
func (s *session) began(name, args, output string) {
	s.call(name, args, output, 0)
	s.ms[len(s.ms)-1].HasExit = false
}

func (s *session) plan(steps ...string) {
	type step struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	}
	var all []step
	for _, text := range steps {
		status := map[byte]string{'x': "completed", '~': "in_progress", ' ': "pending"}[text[0]]
		all = append(all, step{text[2:], status})
	}
	b, err := json.Marshal(map[string]any{"plan": all})
	if err != nil {
		panic("bug: " + err.Error())
	}
	s.call("update_plan", string(b), "Plan updated", 0)
}

func (s *session) call(name, args, output string, exit int) {
	id := fmt.Sprint("c", len(s.ms))
	s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Name: name, CallID: id, Args: args}})
	if output != "" {
		s.add(transcript.Message{Item: transcript.Item{Role: transcript.RoleToolResult, CallID: id, Text: output, HasExit: true, ExitCode: exit}})
	}
}

func (s *session) run(cmd, output string, exit int) {
	b, err := json.Marshal(map[string]string{"cmd": cmd})
	if err != nil {
		panic("bug: " + err.Error())
	}
	s.call("exec_command", string(b), output, exit)
}

func (s *session) patch(body string, exit int) {
	output := "Success. Updated the following files:\n"
	if exit != 0 {
		output = "apply_patch verification failed: context did not match\n"
	}
	s.call("apply_patch", "*** Begin Patch\n"+body+"*** End Patch\n", output, exit)
}

func (s *session) input() memory.Input {
	budget := 8000
	return memory.Input{Thread: s.thread, Messages: s.ms, Turns: s.turns, Location: zone, Summary: s.summary,
		Decisions: []decide.Decision{{TargetModel: "gpt-5", Verdict: decide.Direct}, {TargetModel: "8k-model", Verdict: decide.Compress, Budget: &budget}}}
}

func (s *session) render(t *testing.T, opt memory.Options) string {
	t.Helper()
	text, err := memory.Render(memory.Build(s.input()), opt)
	if err != nil {
		t.Fatal(err)
	}
	limit := opt.Units
	if limit == 0 && !opt.Direct {
		limit = opt.Budget.Units()
	}
	if n := len(utf16.Encode([]rune(string(text)))); limit > 0 && n > limit {
		t.Errorf("%d units, budget %d", n, limit)
	}
	return string(text)
}

// answered is a session with everything in it.
func answered() *session {
	s := newSession("verify and freeze the golden invoices")
	s.user("Render the twelve sample invoices. Amounts stay in cents, never floats. Don't call the mail relay, only the render port on localhost.")
	s.call("update_plan", `{"explanation":"start","plan":[{"step":"old step","status":"pending"}]}`, "Plan updated", 0)
	s.run("rg -n font internal", "", 1)
	s.run("go run ./cmd/ledgerkit render --sample minimal", "render: font \"Ledger Sans\" is 1.9, golden set needs 2.1\n", 1)
	s.patch("*** Update File: /home/dana/code/ledgerkit/internal/render/page.go\n@@\n-a\n-b\n+c\n+d\n+e\n*** Add File: docs/GOLDEN.md\n+one\n+two\n", 0)
	s.run("make golden-verify || true", "font too old\n", 0)
	s.assistant("Started; the font is old.")
	s.user("continue")
	s.assistant("Still old.")
	s.user("Is there another way?")
	s.assistant("No.")
	s.user("If they match, commit. The commit holds golden files and docs, nothing else.\n\nNo commit before I have opened one of the PDFs: you must not push.")
	s.call("update_plan", `{"plan":[{"step":"Render the twelve samples","status":"in_progress"},{"step":"Read the docs","status":"completed"},{"step":"Commit","status":"pending"}]}`, "Plan updated", 0)
	s.run("go test ./...", "ok  \tledgerkit/internal\t0.2s\nPASS\n", 0)
	s.patch("*** Update File: internal/render/fonts.go\n@@\n-x\n+y\n", 0)
	s.patch("*** Update File: build/golden.mk\n@@\n-x\n+y\n", 1)
	s.assistant("**Golden run stopped** — every run ends at the font check.\n\nPut `Ledger Sans 2.1` on the host, then rerun.")
	return s
}

func interrupted() *session {
	s := newSession("")
	s.user("Bitte prüfe die Vorlagen und ändere nichts an den Schriften, das ist nur für den Test.")
	s.assistant("Geprüft, alles gut. Soll ich weitermachen?")
	s.user("Schreib die Stationsliste neu und ergänze die Tests dazu, bitte mit dem alten Format.")
	s.patch("*** Add File: src/client.rs\n+a\n", 0)
	s.patch("*** Update File: docs/notes.md\n@@\n+a\n", 1)
	s.patch("*** Update File: docs/notes.md\n@@\n+b\n", 1)
	s.run("cargo test --offline -q", "error[E0425]: cannot find value\ntest failed\n", 101)
	s.run("sleep 100", "", 0)
	s.user("weiter")
	s.thread.State = transcript.StateInterrupted
	return s
}

func chineseSession() *session {
	s := newSession("超时未付款订单自动取消并回补库存")
	s.thread.Cwd = `D:\code\xiaodian-houtai`
	s.user("现在下了单不付钱的订单一直占着库存，秒杀的能不能十分钟不付就自动取消，先说说怎么改")
	s.assistant("可以按商品类型区分。")
	s.user("好，就按你说的改，退款那块先别动")
	s.patch("*** Update File: order/src/main/java/xiaodian/order/TimeoutPolicy.java\n@@\n-a\n+b\n+c\n", 0)
	s.assistant("`TimeoutPolicy.minutesFor` 现在按商品类型取付款时限。")
	return s
}

func japaneseSession() *session {
	s := newSession("テストの修正")
	s.user("失敗しているテストを直してください。設定ファイルは変更しないでください。")
	s.thread.State = transcript.StateUnanswered
	return s
}

func long() *session {
	s := newSession("a long one")
	for i := range 120 {
		s.user(fmt.Sprintf("Request %d: please look at module %d. You must never touch file_%d.go. %s", i, i, i, strings.Repeat("More words about it. ", 12)))
		s.run(fmt.Sprintf("pytest tests/test_%d.py", i), fmt.Sprintf("%d passed\n", i), i%2)
		s.run(fmt.Sprintf("deploy --step %d", i), fmt.Sprintf("fatal: step %d is not possible\n", i), 2)
		s.patch(fmt.Sprintf("*** Update File: src/file_%d.go\n@@\n-a\n+b\n", i), i%5/4)
		s.assistant(fmt.Sprintf("Answer %d. %s", i, strings.Repeat("It was done with care. ", 20)))
	}
	s.user("Now the last thing: " + strings.Repeat("do it all once more, and then again. ", 80))
	s.run("ls", "a\nb\n", 0)
	s.thread.State = transcript.StateRunning
	return s
}

// checkFront reads the front matter as a strict consumer would.
func checkFront(t *testing.T, text string) map[string]any {
	t.Helper()
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		t.Fatalf("no front matter in\n%s", text)
	}
	front, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		t.Fatal("front matter isn't closed")
	}
	if n := len(front) + 9; n > 2048 || strings.Count(front, "\n")+3 > 25 {
		t.Errorf("front matter of %d bytes, %d lines", n, strings.Count(front, "\n")+3)
	}
	var m map[string]any
	dec := yaml.NewDecoder(strings.NewReader(front))
	dec.KnownFields(true)
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%v in\n%s", err, front)
	}
	known := "name title description type metadata tags created modified source session_id parent status cwd git model turns tokens fit summary hash generator "
	for k, v := range m {
		if !strings.Contains(known, k+" ") {
			t.Errorf("unknown key %q", k)
		}
		if s, ok := v.(string); ok && strings.Contains(s, "\n") {
			t.Errorf("%s has several lines", k)
		}
	}
	if !strings.HasPrefix(body, "# ") {
		t.Errorf("body begins with %.40q", body)
	}
	return m
}

// TestFrontSaysHowTargetsCount: exact, or estimated with the bounds.
func TestFrontSaysHowTargetsCount(t *testing.T) {
	in := answered().input()
	in.Decisions[0].Count = tokens.Result{Tokens: 1234, Method: tokens.Exact, Lo: 1234, Hi: 1234}
	in.Decisions[1].Count = tokens.Result{Tokens: 1876, Method: tokens.Estimated, Lo: 1740, Hi: 1975}
	text, err := memory.Render(memory.Build(in), memory.Options{})
	if want := `fit_tokens: {"gpt-5": "1234 exact", "8k-model": "1876 estimated 1740-1975"}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: no %s in\n%.2000s", err, want, text)
	}
}
