package memory_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// full has something for every section, in a thread without an answer.
func fullSession() *session {
	s := learned()
	s.user("Now write docs/report.md. Never push to main.")
	s.run("go test ./...", "ok  \tledgerkit\t0.2s\n", 0)
	s.call("spawn_agent", `{"message":"Read the old report."}`, `{"agent_id":"1"}`, 0)
	s.patch("*** Add File: docs/report.md\n+a\n", 0)
	s.plan("x Read", "~ Write")
	s.remark("Writing.")
	s.thread.State = transcript.StateInterrupted
	s.summary = &memory.Summary{Model: "qwen3", Goal: "a report"}
	return s
}

// What the next agent needs first stands first.
func TestOrderOfSections(t *testing.T) {
	var got []string
	for _, l := range strings.Split(fullSession().render(t, memory.Options{Budget: memory.BudgetFull}), "\n") {
		if strings.HasPrefix(l, "## ") {
			got = append(got, strings.Fields(strings.TrimPrefix(l, "## "))[0])
		}
	}
	want := strings.Fields("Now Request Done Plan Rules Notes Files Checks Errors Work Last Earlier Left")
	if !slices.Equal(got, want) {
		t.Errorf("sections %q, want %q", got, want)
	}
}

// A section without anything to say is not there.
func TestEmptySectionsAreLeftOut(t *testing.T) {
	s := newSession("t")
	s.user("hello")
	s.assistant("hi")
	text := s.render(t, memory.Options{})
	if n := strings.Count(text, "\n## "); n != 4 { // now, request, answer, left out
		t.Errorf("%d sections in\n%s", n, text)
	}
}

// The document is a record: it says so first, and commands nothing.
func TestFrameSaysHistory(t *testing.T) {
	for name, c := range goldens() {
		text := c.s.render(t, c.opt)
		_, body, _ := strings.Cut(text, "\n# ")
		if c.opt.Bare {
			body = text
		}
		lines := strings.Split(body, "\n")
		if len(lines) < 3 || !strings.HasPrefix(lines[2], "> ") || !strings.Contains(lines[2], "Codex") {
			t.Errorf("%s: the frame is not the first thing", name)
		}
		if end := strings.ToLower(lines[len(lines)-2]); strings.Contains(end, "continue") || strings.Contains(end, "pick up") {
			t.Errorf("%s ends with a command: %s", name, end)
		}
	}
}

var turnRef = regexp.MustCompile(`\[t\d+(?:-t\d+)?(?:, t\d+)*\]|"t\d+(?:-t\d+)?"`)

// Every statement names the turn it is from: in its line or in the heading.
func TestEveryFactCarriesItsTurn(t *testing.T) {
	for name, c := range goldens() {
		if c.s.thread.Turns == 0 {
			continue
		}
		text := c.s.render(t, c.opt)
		heading := ""
		for _, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, "## ") {
				heading = l
			}
			if !strings.HasPrefix(l, "- ") || turnRef.MatchString(l) || turnRef.MatchString(heading) {
				continue
			}
			whole := false // about the thread as a whole
			for _, w := range []string{"Original", "元のファイル", "原始文件", "원본", "Оригинал", "fork of", "archived in", "sub-agent ", "Goal: "} {
				whole = whole || strings.Contains(l, w)
			}
			if !whole {
				t.Errorf("%s: %q below %q has no turn", name, l, heading)
			}
		}
	}
}

// A text that is cut says by how many characters; quotes and lists say how to
// get the rest, lines by the turn they carry.
func TestEveryCutIsCounted(t *testing.T) {
	long := strings.Repeat("word ", 200) + "end"
	s := newSession("t")
	s.user(long + " 1")
	s.user("never do that: " + strings.Repeat("x", 200))
	s.run("deploy "+long, "fatal: "+long, 3)
	s.run("go test "+long, "FAIL "+long, 1)
	s.plan("~ " + long)
	s.assistant("Next steps:\n- " + long + "\n\n" + strings.Repeat(long, 20))
	text := s.render(t, memory.Options{})
	cut := regexp.MustCompile(`…\[\+\d+ chars(?:\]|: ` + "`get_omitted_original" + `\()`)
	_, body, _ := strings.Cut(text, "\n# ")
	if n := len(cut.FindAllString(body, -1)); n < 8 {
		t.Errorf("%d cuts are counted in\n%s", n, body)
	}
	for _, l := range strings.Split(body, "\n") {
		if rest := cut.ReplaceAllString(l, ""); strings.Contains(strings.TrimSuffix(rest, "]…"), "…") {
			t.Errorf("an uncounted cut: %s", l)
		}
	}
	total := len([]rune(strings.TrimSpace("Next steps:\n- " + long + "\n\n" + strings.Repeat(long, 20))))
	shown, found := 0, false
	for _, l := range strings.Split(body[strings.Index(body, "## Last answer"):], "\n") {
		if m := regexp.MustCompile(`\[\+(\d+) chars: ` + "`" + `get_omitted_original\("b7d20e63", "t2"\)`).FindStringSubmatch(l); m != nil {
			found = true
		} else if strings.HasPrefix(l, "> ") {
			shown += len([]rune(l)) - 2
		}
	}
	if !found || shown >= total {
		t.Errorf("%d of %d characters are shown, and nothing says so", shown, total)
	}
}

// Only a word of the person, or of the model that summed the thread up, makes
// a thread done or blocked.
func TestStandingIsSomebodysWord(t *testing.T) {
	tests := []struct {
		said string
		want memory.Standing
	}{
		{"We're blocked until IT installs the font.", memory.StandingBlocked},
		{"ok. put this on hold until Monday", memory.StandingBlocked},
		{"先停在这里，等运维装好字体再继续", memory.StandingBlocked},
		{"フォント待ちです", memory.StandingBlocked},
		{"これは保留にしてください", memory.StandingBlocked},
		{"Das ist jetzt blockiert, wir warten auf die IT.", memory.StandingBlocked},
		{"Great, that's all for today.", memory.StandingDone},
		{"thanks, we're done", memory.StandingDone},
		{"谢谢，完成了", memory.StandingDone},
		{"これで完了です", memory.StandingDone},
		{"Danke. Das war's.", memory.StandingDone},
		{"Are we done?", 0},
		{"So we're done?", 0},
		{"This is blocked until Monday?", 0},
		{"The button is blocked by the overlay, please fix it", 0},
		{"We are blocked by CORS, can you fix it", 0},
		{"it's done wrong, make it blue", 0},
		{"when it's done, push it", 0},
		{"完成这个功能", 0},
		{"thanks", 0},
		{"mark the invoice as paid", 0},
	}
	for _, c := range tests {
		s := newSession("t")
		s.user("Build the list of stations.")
		s.assistant("All done, everything is finished and blocked.")
		s.user(c.said)
		s.thread.State = transcript.StateUnanswered
		d := memory.Build(s.input())
		if d.Standing != c.want {
			t.Errorf("%q: %v, want %v", c.said, d.Standing, c.want)
		}
		if c.want != 0 {
			if d.Request.Turn != 1 || d.Word.Text != c.said {
				t.Errorf("%q: request %q, word %q", c.said, d.Request.Text, d.Word.Text)
			}
			text := s.render(t, memory.Options{})
			wantText(t, text, "status: \""+c.want.String()+"\"", "[t2]", c.said)
			if c.want == memory.StandingDone && strings.Contains(text, "## Done for it") {
				t.Error("what is done is shown as unfinished")
			}
		}
		s.user("Now add ports to it.")
		if d := memory.Build(s.input()); d.Standing != 0 {
			t.Errorf("%q counts after a new request", c.said)
		}
	}
}

func TestAcceptedOffer(t *testing.T) {
	d := memory.Build(acceptedOffer().input())
	if d.Accepted != 2 || !slices.Equal(d.Pushed, []int{3}) || !d.Next.Offer || d.Request.Turn != 1 {
		t.Errorf("accepted in t%d, pushed %v, %+v", d.Accepted, d.Pushed, d.Next)
	}
	if len(d.Done) != 1 || d.Done[0].Turn != 2 {
		t.Errorf("done %+v", d.Done)
	}
	s := acceptedOffer()
	s.assistant("The iCal writer is done.")
	s.thread.State = transcript.StateAnswered
	if d := memory.Build(s.input()); d.Accepted != 0 || len(d.Pushed) != 0 || d.Next.Text != "" {
		t.Errorf("after the answer: accepted in t%d, pushed %v, next %q", d.Accepted, d.Pushed, d.Next.Text)
	}
}

// A next step is the newest answer's, and ends with it.
func TestNextStepOfTheNewestAnswer(t *testing.T) {
	s := newSession("t")
	s.user("Look into it.")
	s.assistant("Found it. Next step: patch the reader.")
	s.user("ok")
	if n := memory.Build(s.input()).Next; n.Text != "patch the reader." || n.Turn != 1 {
		t.Errorf("%+v", n)
	}
	s.assistant("Good, it is patched.")
	if n := memory.Build(s.input()).Next; n.Text != "" {
		t.Errorf("an older answer's is still next: %+v", n)
	}
	s.user("Write the notes.")
	s.assistant("Written. Next step: tag it.")
	s.user("Now look at the fonts instead.")
	if g := memory.Brief(memory.Build(s.input())); g.Next != "" {
		t.Errorf("the user moved on: %q", g.Next)
	}
	s.assistant("They are fine. Next step: tag it.")
	s.user("We're done.")
	if g := memory.Brief(memory.Build(s.input())); g.Next != "" || g.Standing != "done" {
		t.Errorf("it is %s: %q", g.Standing, g.Next)
	}
	s.user("One more look at the fonts.")
	s.assistant("They are fine.")
	if d := memory.Build(s.input()); d.Next.Text != "" || memory.Brief(d).Next != "" {
		t.Errorf("the newest answer names none: %+v", d.Next)
	}
}

// Words between steps are no answer.
func TestRemarksAreNoAnswers(t *testing.T) {
	s := newSession("t")
	s.user("one")
	s.assistant("first answer")
	s.user("two")
	s.remark("looking")
	s.run("touch a", "\n", 0)
	s.say("almost there")
	s.thread.State = transcript.StateInterrupted
	d := memory.Build(s.input())
	if d.Answer.Text != "first answer" || !d.Final || d.Remark.Text != "almost there" {
		t.Errorf("answer %q, remark %q", d.Answer.Text, d.Remark.Text)
	}
	wantText(t, s.render(t, memory.Options{}), "## Last finished answer [t1]", "Last remark between steps: “almost there” [t2]")
}

func TestPathsInTheBodyAreRelative(t *testing.T) {
	s := newSession("t")
	s.user("do it")
	s.patch("*** Update File: /home/dana/code/ledgerkit/a/b.go\n@@\n+x\n*** Update File: /home/dana/code/other/c.go\n@@\n+x\n", 0)
	s.run("cat x > /home/dana/code/ledgerkit/out.txt", "\n", 0)
	s.run("go test /home/dana/code/ledgerkit/store", "FAIL /home/dana/code/ledgerkit/store\n", 1)
	s.run("deploy /home/dana/code/ledgerkit/x", "fatal: /home/dana/code/ledgerkit/x is no package\n", 2)
	s.thread.State = transcript.StateFailed
	s.turns[0].Error = "no room in /home/dana/code/ledgerkit/tmp"
	text := s.render(t, memory.Options{Budget: memory.BudgetFull})
	front, body, _ := strings.Cut(text, "\n# ")
	if !strings.Contains(front, `cwd: "/home/dana/code/ledgerkit"`) {
		t.Error("the front matter has no folder")
	}
	if strings.Contains(body, "/home/dana") {
		t.Errorf("the body has absolute paths:\n%s", body)
	}
	wantText(t, body, "`a/b.go`", "`../other/c.go`", "`out.txt`", "`go test store` → exit 1, `FAIL store`", "`fatal: x is no package`", "no room in tmp")
}

func TestShellWrites(t *testing.T) {
	tests := []struct{ cmd, want string }{
		{"echo a > x.txt", "x.txt >"}, {"echo a >> dir/x.txt", "dir/x.txt >"}, {"echo a>x.txt", "x.txt >"}, {"a &> both.txt", "both.txt >"},
		{"cat <<'EOF' > f.sh\n#!/bin/sh\necho a > b\nEOF", "f.sh >"}, {"echo a | tee -a x.md y.md", "x.md tee|y.md tee"},
		{"sed -i 's/a>b/c/' x.go y.go", "x.go sed -i|y.go sed -i"}, {"sed -i.bak -e 's/a/b/' x.go", "x.go sed -i"}, {"sed -i '' 's/a/b/' x.go", "x.go sed -i"}, {"sed -n 's/a/b/p' x.go", ""},
		{"perl -pi -e 's/a/b/' x.pl", "x.pl perl -i"}, {"Set-Content -Path a\\b.txt -Value x", "a/b.txt Set-Content"}, {"'x' | Out-File out.txt", "out.txt Out-File"}, {"Add-Content log.md 'x > y'", "log.md Add-Content"},
		{"cd sub && echo a > x.txt", "sub/x.txt >"}, {"make 2> err.txt", ""}, {"make >/dev/null 2>&1", ""}, {"make > /tmp/x", ""}, {"echo a > $OUT", ""}, {"make > build.log", ""},
		{"awk '$1 > 3' x.txt", ""}, {"echo 'a > b'", ""}, {"test 3 -gt 2", ""}, {"echo $(cat a > b.txt)", ""},
	}
	for _, c := range tests {
		s := newSession("t")
		s.user("write")
		s.run(c.cmd, "\n", 0)
		var got []string
		for _, f := range memory.Build(s.input()).Files {
			got = append(got, f.Path+" "+f.Shell)
		}
		slices.Sort(got)
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q writes %q, want %q", c.cmd, got, c.want)
		}
		s.ms[len(s.ms)-1].ExitCode = 1
		if files := memory.Build(s.input()).Files; len(files) != 0 {
			t.Errorf("%q failed and is listed", c.cmd)
		}
	}
}

func TestInsteadOfWhatFailed(t *testing.T) {
	d := memory.Build(learned().input())
	got := make(map[string]string)
	for _, e := range d.Errors {
		got[strings.Fields(e.Command)[0]] = e.Instead
		if e.Missing != (e.Exit == 127) {
			t.Errorf("%s: missing %v", e.Command, e.Missing)
		}
	}
	want := map[string]string{"jq": "go run ./tools/jsonget out/report.json sum", "python3": "go run ./tools/jsonget out/report.json sum", "docker": "", "make": "", "git": ""}
	for k, w := range want {
		if g, ok := got[k]; !ok || g != w {
			t.Errorf("%s: %q, want %q", k, g, w)
		}
	}
}

func TestCommandThatRanOn(t *testing.T) {
	s := runningSession()
	d := memory.Build(s.input())
	if len(d.Checks) != 2 || d.Checks[0].HasExit || !d.Checks[1].HasExit || d.Checks[1].LastLine != "PASS" {
		t.Errorf("%+v", d.Checks)
	}
	wantText(t, s.render(t, memory.Options{}), "`go test ./report` → still running when last seen")
}

func TestRequestAndWorkLeaveRoom(t *testing.T) {
	s := long()
	text := s.render(t, memory.Options{})
	for _, h := range []string{"## Rules", "## Files", "## Checks", "## Errors", "## Last finished answer", "## Earlier"} {
		wantText(t, text, "\n"+h)
	}
	// In the smallest document the request stands before all else.
	wantText(t, interrupted().render(t, memory.Options{Budget: memory.BudgetBrief}), "> Schreib die Stationsliste neu")
}

func TestQuestionWithoutAReply(t *testing.T) {
	s := newSession("t")
	s.user("Move the data.")
	s.call("request_user_input_async", `{"questions":[{"header":"Where","question":"To which disk?"}]}`, "asked", 0)
	s.thread.State = transcript.StateInterrupted
	wantText(t, s.render(t, memory.Options{}), "The agent asked the user and no reply is recorded [t1]: “To which disk?”")
	s.user("To the second one.")
	if d := memory.Build(s.input()); d.Question.Text != "" {
		t.Errorf("the reply is there: %+v", d.Question)
	}
	s.call("request_user_input", `{"questions":[{"question":"Sure?"}]}`, `{"answers":["yes"]}`, 0)
	if d := memory.Build(s.input()); d.Question.Text != "" {
		t.Errorf("the result is the reply: %+v", d.Question)
	}
	s.call("request_user_input", `{"questions":[{"question":"Which folder?"}]}`, "", 0)
	if d := memory.Build(s.input()); d.Question.Text != "Which folder?" || d.Question.Turn != 2 {
		t.Errorf("%+v", d.Question)
	}
}

// What a long request asks often stands at its end, below what was pasted.
func TestCutQuotesKeepTheirEnd(t *testing.T) {
	text := longRequest().render(t, memory.Options{})
	wantText(t, text, "> Here is the log of last night:\n", "Which berths were free at 08:03?\n", "\n> Next: run it on the logs of January.\n")
	at := func(s string) int { return strings.Index(text, s) }
	if first, cut, last := at("Here is the log"), at("…[+"), at("at 08:03?"); first > cut || cut > last {
		t.Errorf("begin at %d, cut at %d, end at %d", first, cut, last)
	}
}

// What is special about a thread stands in its first section.
func TestMarks(t *testing.T) {
	now := func(s *session) string {
		text := s.render(t, memory.Options{})
		return text[strings.Index(text, "\n## Now\n"):strings.Index(text, "\n## Last request")]
	}
	wantText(t, now(forked()), "fork of session `019c49f0-1111-7c5e-9a41-3f08aaaa0001`", "its beginning (`019c49f0-1111-7c5e-9a41-3f08aaaa0002`) is not here", "taken back 2 times", "archived in Codex", "2 messages that Codex no longer has")
	wantText(t, now(archivedGone()), "archived in Codex; Codex's file of it was deleted")
	wantText(t, now(answered()), "no commit was seen after that [t1, t4]")
	if text := now(finishedPlan()); strings.Contains(text, "commit") {
		t.Errorf("all is committed, and it says\n%s", text)
	}
	wantText(t, answered().render(t, memory.Options{}), "**After the last check [t4] files were changed: [t4]**")
}
