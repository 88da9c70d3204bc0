package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// goldens are the sessions whose documents are kept in testdata and were read
// by eye. -update rewrites them.
func goldens() map[string]struct {
	s   *session
	opt memory.Options
} {
	type golden = struct {
		s   *session
		opt memory.Options
	}
	brief, full, direct := memory.Options{Budget: memory.BudgetBrief}, memory.Options{Budget: memory.BudgetFull}, memory.Options{Direct: true}
	return map[string]golden{
		"answered": {answered(), memory.Options{}}, "answered-brief": {answered(), brief}, "answered-direct": {answered(), direct}, "answered-zh": {chineseSession(), memory.Options{}},
		"answered-bare":  {answered(), memory.Options{Bare: true}},
		"interrupted-de": {interrupted(), memory.Options{}}, "interrupted-brief": {interrupted(), brief}, "unanswered-ja": {japaneseSession(), memory.Options{}},
		"long": {long(), memory.Options{}}, "long-full": {long(), full}, "long-direct": {long(), memory.Options{Direct: true, Units: 4000}}, "empty": {emptySession(), memory.Options{}},
		"failed": {failedSession(), memory.Options{}}, "blocked": {blockedSession(), memory.Options{}}, "done-zh": {doneSession(), memory.Options{}},
		"running": {runningSession(), memory.Options{}}, "stale-plan": {stalePlan(), memory.Options{}}, "finished-plan": {finishedPlan(), memory.Options{}},
		"hidden-exits": {hiddenExits(), memory.Options{}}, "no-answer": {noAnswer(), memory.Options{}}, "accepted-offer": {acceptedOffer(), memory.Options{}}, "accepted-offer-brief": {acceptedOffer(), brief},
		"only-steers": {onlySteers(), memory.Options{}}, "pictures": {pictures(), memory.Options{}}, "long-request": {longRequest(), memory.Options{}}, "many-files": {manyFiles(), memory.Options{}},
		"shell-files": {shellFiles(), memory.Options{}}, "windows": {windowsSession(), memory.Options{}}, "archived-gone": {archivedGone(), memory.Options{}}, "fork": {forked(), memory.Options{}},
		"sub-agents": {subAgents(), memory.Options{}}, "sub-agent": {subAgent(), memory.Options{}}, "fences": {fences(), memory.Options{}}, "hostile": {hostileSession(), memory.Options{}},
		"commentary": {commentaryOnly(), memory.Options{}}, "learned": {learned(), memory.Options{}}, "after-done": {afterDone(), memory.Options{}},
		"answered-ja": {japaneseWork(), memory.Options{}}, "answered-ko": {korean(), memory.Options{}}, "interrupted-fr": {french(), memory.Options{}}, "answered-es": {spanish(), memory.Options{}}, "failed-ru": {russian(), memory.Options{}},
		"nothing-known": {nothingKnown(), memory.Options{}}, "summary": {withSummary(), memory.Options{}},
	}
}

func TestGolden(t *testing.T) {
	for name, c := range goldens() {
		t.Run(name, func(t *testing.T) {
			got := c.s.render(t, c.opt)
			file := filepath.Join("testdata", name+".md")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (-update rewrites it); got\n%s", file, got)
			}
			if !c.opt.Bare {
				checkFront(t, got)
			}
		})
	}
}

// No golden file is left over.
func TestGoldenFilesAreAllUsed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := goldens()[strings.TrimSuffix(filepath.Base(f), ".md")]; !ok {
			t.Errorf("%s is of no session", f)
		}
	}
}

func emptySession() *session {
	s := newSession("")
	s.thread.State = transcript.StateEmpty
	s.thread.Tokens, s.thread.Usage = nil, transcript.Usage{}
	return s
}

func failedSession() *session {
	s := newSession("Import the tide tables of 2027")
	s.thread.Cwd = "/home/dana/code/tidetab"
	s.user("Import the tide tables of 2027 from data/raw and write one CSV per port into data/out. Don't change the readers.")
	s.run("ls data/raw", "brest.txt\nstmalo.txt\n", 0)
	s.run("cargo run -q -- import data/raw/brest.txt", "read 8760 heights\n", 0)
	s.patch("*** Add File: data/out/brest.csv\n+time,height\n+2027-01-01T00:00Z,4.12\n", 0)
	s.remark("Brest is written. St Malo has a summer-time gap in March, I'll look at that next.")
	s.thread.State = transcript.StateFailed
	s.turns[0].Error = "stream disconnected before completion: error sending request for url"
	return s
}

func blockedSession() *session {
	s := newSession("Freeze the golden invoices")
	s.user("Render the twelve sample invoices and freeze their hashes in testdata/golden.json. Don't touch the fonts on this machine, only look.")
	s.plan("x Read docs/GOLDEN.md", "~ Render the samples", "  Freeze the hashes")
	s.run("go run ./cmd/ledgerkit render --sample minimal --out .out/min.pdf; exit 0", "render: font \"Ledger Sans\" is 1.9, golden set needs 2.1\n", 0)
	s.run("fc-list \"Ledger Sans\" file fontversion", "/usr/share/fonts/ledger.ttf: fontversion=124518\n", 0)
	s.assistant("Every run ends at the font check, before a page is laid out.\n\n**Next step:** have Ledger Sans 2.1 put on the host, check `go run ./cmd/ledgerkit fonts`, then rerun the golden commands.")
	s.user("OK. We're blocked until IT installs the font.")
	s.assistant("Understood, I stop here. Nothing is staged or committed.")
	return s
}

func doneSession() *session {
	s := newSession("给导出加上进度条")
	s.thread.Cwd = "/Users/lin/work/报表"
	s.user("给 export.py 加一个进度条，不要引入新的依赖")
	s.patch("*** Update File: export.py\n@@\n-for row in rows:\n+for row in progress(rows):\n", 0)
	s.run("python -m pytest -q", "12 passed in 0.40s\n", 0)
	s.run("git commit -am '导出：进度条'", "[main 4f1c2aa] 导出：进度条\n", 0)
	s.assistant("已加上进度条，没有新依赖，12 个测试通过，已提交。")
	s.user("谢谢，完成了")
	s.thread.State = transcript.StateUnanswered
	return s
}

func runningSession() *session {
	s := newSession("Speed up the nightly report")
	s.user("Speed up the nightly report: it takes 40 minutes. Profile it first.")
	s.run("rg -n 'func Nightly' -g '*.go'", "report/nightly.go:41:func Nightly(\n", 0)
	s.run("sed -n '1,120p' report/nightly.go", "package report\n", 0)
	s.began("exec_command", `{"cmd":"go test ./report -bench Nightly -cpuprofile cpu.out"}`, "Chunk ID: 1\nWall time: 10.0 seconds\nProcess running with session ID 5\nOutput:\n")
	s.call("write_stdin", `{"session_id":5,"chars":""}`, "Process exited with code 0\nOutput:\nBenchmarkNightly-8  1  41234 ms/op\nPASS\n", 0)
	s.remark("Most of the time goes into one query per customer. I'll batch them.")
	s.patch("*** Update File: report/nightly.go\n@@\n-a\n+b\n+c\n", 0)
	s.began("exec_command", `{"cmd":"go test ./report"}`, "Chunk ID: 2\nWall time: 10.0 seconds\nProcess running with session ID 6\nOutput:\n")
	s.thread.State = transcript.StateRunning
	return s
}

func stalePlan() *session {
	s := newSession("Settings per coast")
	s.user("Give every coast its own settings file.")
	s.plan("x Read config", "~ Write the loader", "  Docs")
	s.assistant("The loader is written.")
	for i := range 3 {
		s.user(fmt.Sprintf("Also check coast number %d, please.", i+1))
		s.assistant("Checked.")
	}
	s.user("What does the loader do with a key that it doesn't know?")
	s.assistant("It names the key and the line and stops.")
	return s
}

func finishedPlan() *session {
	s := newSession("Rename the flag")
	s.user("Rename --dry to --dry-run everywhere, keep --dry as a hidden alias.")
	s.plan("x Find all uses", "x Rename", "x Tests")
	s.patch("*** Update File: cmd/root.go\n@@\n-a\n+b\n*** Update File: docs/usage.md\n@@\n-a\n+b\n", 0)
	s.run("go test ./...", "ok  \tledgerkit/cmd\t0.1s\n", 0)
	s.run("git commit -qam 'cmd: name the flag --dry-run'", "\n", 0)
	s.assistant("Renamed in 2 files; `--dry` still works and is hidden. Tests pass, committed.")
	return s
}

func hiddenExits() *session {
	s := newSession("Why is CI red?")
	s.user("Find out why CI is red. Change nothing yet.")
	s.run("go vet ./... || true", "report/a.go:3: unreachable code\n", 0)
	s.run("go test ./report; exit 0", "--- FAIL: TestNightly\nFAIL\n", 0)
	s.run("set +e; make lint; git status --short", "lint: 3 problems\n", 0)
	s.run("go test ./... 2>&1 | tail -3", "FAIL\tledgerkit/report\n", 0)
	s.run("go test -run 'TestA|TestB' ./cmd", "ok  \tledgerkit/cmd\n", 0)
	s.run("set -o pipefail; go build ./... | tee build.log", "all built\n", 0)
	s.run("npm test &", "[1] 4242\n", 0)
	s.run("cargo check; echo \"exit $?\"", "exit 101\n", 0)
	s.run("go test ./store; rc=$?; rm -f tmp.db; exit $rc", "ok  \tledgerkit/store\n", 0)
	s.assistant("`report` fails: TestNightly compares against last year's table.")
	return s
}

func noAnswer() *session {
	s := newSession("Station lists can be edited")
	s.thread.Cwd = "/home/dana/code/tidetab"
	s.user("Write the column layouts down in docs/format-notes.md.")
	s.assistant("Done, with the tests: 48 passed.")
	s.user("The station lists can't be edited: I need add, rename and remove for PortList and QuayBook. Man page and tests have to say the same as the code. Only commit when the tests are green.")
	s.say("I'll begin with the client, then the writers.")
	s.patch("*** Add File: src/stations/client.rs\n+pub fn add() {}\n+pub fn rename() {}\n", 0)
	s.patch("*** Update File: src/cli/mod.rs\n@@\n-mod a;\n+mod a;\n+mod stations;\n", 0)
	s.patch("*** Update File: src/writers/quaybook.rs\n@@\n-x\n+y\n", 1)
	s.patch("*** Update File: docs/format-notes.md\n@@\n-x\n+y\n", 1)
	s.patch("*** Update File: docs/format-notes.md\n@@\n-x\n+z\n", 1)
	s.run("cat docs/progress.md", "# Progress\n", 0)
	s.run("cargo test --offline -q", "error[E0425]: cannot find value `client`\nerror: could not compile `tidetab`\n", 101)
	s.say("The module isn't public yet; next I'd fix that and repeat the two patches.")
	s.thread.State = transcript.StateInterrupted
	return s
}

func acceptedOffer() *session {
	s := newSession("QuayBook writer")
	s.thread.Cwd = "/home/dana/code/tidetab"
	s.user("Write a QuayBook writer with tests. One commit a format.")
	s.patch("*** Add File: src/writers/quaybook.rs\n+a\n+b\n+c\n", 0)
	s.run("cargo test --offline -q", "48 passed\n", 0)
	s.run("git commit -qam 'writers: QuayBook'", "\n", 0)
	s.assistant("The writer is done and committed, 48 tests pass.\n\nShall I bring the iCal writer to the same column layout? I could also add `tidetab bundle` for a whole coast.")
	s.user("yes")
	s.patch("*** Update File: src/writers/ical.rs\n@@\n-a\n+b\n+c\n", 0)
	s.user("go on")
	s.thread.State = transcript.StateInterrupted
	return s
}

func onlySteers() *session {
	s := newSession("")
	s.user("continue")
	s.assistant("There is nothing to continue: tell me what to do.")
	s.user("ok")
	s.thread.State = transcript.StateUnanswered
	return s
}

func pictures() *session {
	s := newSession("")
	s.picture("The total is cut off at the right edge, see the two screenshots.", 2)
	s.patch("*** Update File: web/invoice.css\n@@\n-width: 600px;\n+max-width: 100%;\n", 0)
	s.assistant("The table no longer has a fixed width.")
	s.picture("", 1)
	s.thread.State = transcript.StateUnanswered
	return s
}
