package memory_test

import (
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestBrief(t *testing.T) {
	s := answered()
	s.assistant("## Result\n\nThe run **stopped** at the font check of /home/dana/code/ledgerkit/internal/render/page.go.\n\nNext steps:\n1. Put `Ledger Sans 2.1` on the host.\n2. Rerun /home/dana/code/ledgerkit/build/golden.mk with /usr/local/bin/gmake")
	g := memory.Brief(memory.Build(s.input()))
	if g.Lang != "en" {
		t.Errorf("lang %q", g.Lang)
	}
	if want := "`internal/render/fonts.go` +1 −1|`docs/GOLDEN.md` +2 −0, new|`internal/render/page.go` +3 −2"; strings.Join(g.Did, "|") != want {
		t.Errorf("did %q", g.Did)
	}
	if want := "The run stopped at the font check of internal/render/page.go."; !strings.HasPrefix(g.Result, want) {
		t.Errorf("result %q", g.Result)
	}
	if want := "failed patch of `build/golden.mk`; plan steps left: 2, first: Render the twelve samples"; g.Open != want {
		t.Errorf("open %q", g.Open)
	}
	if want := "Put `Ledger Sans 2.1` on the host; Rerun build/golden.mk with …/gmake"; g.Next != want {
		t.Errorf("next %q", g.Next)
	}
}

func TestBriefOfTurnsWithoutAnAnswer(t *testing.T) {
	g := memory.Brief(memory.Build(interrupted().input()))
	if g.Lang != "de" || g.Result != "`cargo test --offline -q` → exit 101, `test failed`" {
		t.Errorf("lang %q, result %q", g.Lang, g.Result)
	}
	if want := "unbeantwortet: „Schreib die Stationsliste neu und ergänze die Tests dazu, bitte mit dem alten Format.“; gescheiterter Patch an `docs/notes.md`; `cargo test --offline -q` scheitert"; g.Open != want {
		t.Errorf("open %q", g.Open)
	}
	if g.Next != "" {
		t.Errorf("an old offer is no next step: %q", g.Next)
	}
	s := newSession("t")
	s.user("do it")
	s.thread.State = transcript.StateFailed
	s.turns[0].Error = "stream disconnected at /home/dana/.codex/log"
	if g := memory.Brief(memory.Build(s.input())); g.Result != "stream disconnected at …/log" || len(g.Did) != 0 {
		t.Errorf("%+v", g)
	}
	if g := memory.Brief(memory.Build(newSession("").input())); g.Result+g.Open+g.Next != "" {
		t.Errorf("an empty session tells %+v", g)
	}
}

// A shared file is read by agents that work elsewhere: an absolute path in it
// would pull their writes to the old folder.
func TestBriefTellsTheStanding(t *testing.T) {
	if g := memory.Brief(memory.Build(blockedSession().input())); g.Standing != "blocked" {
		t.Errorf("standing %q", g.Standing)
	}
	if g := memory.Brief(memory.Build(answered().input())); g.Standing != "" {
		t.Errorf("standing %q", g.Standing)
	}
}

func TestBriefHasNoAbsolutePaths(t *testing.T) {
	tests := []struct{ cwd, in, want string }{
		{"/home/dana/code/ledgerkit", "see /home/dana/code/ledgerkit/a/b.go:3", "see a/b.go:3"},
		{"/home/dana/code/ledgerkit", "in /home/dana/code/ledgerkit.", "in .."},
		{"/home/dana/code/ledgerkit", "in /home/dana/other/c.go, too", "in …/c.go, too"},
		{"/home/dana/code/ledgerkit", "`~/notes/x.md` and (/etc/hosts)", "`…/x.md` and (…/hosts)"},
		{"/home/dana/code/ledgerkit", "/home/dana/code/ledgerkit-old/x.go", "…/x.go"},
		{"/home/dana/code/ledgerkit", "GET /api/users, and/or http://h/home/x", "GET /api/users, and/or http://h/home/x"},
		{"/home/dana/code/ledgerkit", "file:///home/dana/x.html", "…/x.html"},
		{"/home/dana/code/ledgerkit", "保存在/home/dana/图/一.png。", "保存在…/一.png。"},
		{`D:\code\shop`, `D:\code\shop\src\a.java and C:\Users\dana\b.txt`, `src\a.java and …/b.txt`},
		{`D:\code\shop`, `D:/code/shop/src/a.java, \\srv\share\c.txt`, `src/a.java, …/c.txt`},
	}
	for _, c := range tests {
		s := newSession("t")
		s.thread.Cwd = c.cwd
		s.user("where?")
		s.assistant(c.in)
		if g := memory.Brief(memory.Build(s.input())); g.Result != c.want {
			t.Errorf("%q in %s: %q, want %q", c.in, c.cwd, g.Result, c.want)
		}
	}
}

func TestNextStep(t *testing.T) {
	tests := []struct {
		answer, want string
		offer        bool
	}{
		{"Done.\n\n**Next steps**\n- run the tests\n- commit\n- push\n- rest", "run the tests; commit; push", false},
		{"Left before a deploy: 1. the office must agree; 2. put it into main. All tests pass.", "1. the office must agree; 2. put it into main. All tests pass.", false},
		{"Remaining: docs. Left: 20px.", "docs. Left: 20px.", false},
		{"The margins are now:\nLeft: 20px", "", false},
		{"Done.\n\nNext step: install the font, then rerun.", "install the font, then rerun.", false},
		{"Stopped here. Next, the writers have to be adapted. Then all is done.", "Next, the writers have to be adapted.", false},
		{"All green.\n\nShall I bring the writers to the exact layout? I could also add a bundle.", "Shall I bring the writers to the exact layout? I could also add a bundle.", true},
		{"改好了。\n\n下一步：\n1. 跑单元测试。\n2. 提交", "跑单元测试; 提交", false},
		{"改好了。\n\n要不要我顺便把退款也改掉？", "要不要我顺便把退款也改掉？", true},
		{"直しました。\n\n## 次のステップ\n\nテストを実行してください。", "テストを実行してください。", false},
		{"直しました。テストも追加しましょうか？", "テストも追加しましょうか？", true},
		{"Fertig.\n\nNächste Schritte:\n- Tests laufen lassen", "Tests laufen lassen", false},
		{"Geprüft, alles gut. Soll ich weitermachen?", "Soll ich weitermachen?", true},
		{"Shall I? was the question.\n\nAll is done now.", "", false},
		{"See:\n```\nNext steps:\n- rm -rf x\n```\nDone.", "", false},
		{"The Next steps button works.", "", false},
		{"改好了。我可以接着更新文档。", "我可以接着更新文档。", true},
		{"改好了。\n\n我可以继续把测试补上。", "我可以继续把测试补上。", true},
		{"改好了。还需要我更新文档吗？", "还需要我更新文档吗？", true},
		{"改好了。需要我提交吗?", "需要我提交吗?", true},
		{"直しました。ドキュメントも更新しましょうか", "ドキュメントも更新しましょうか", true},
		{"Fertig. Ich kann die Doku noch anpassen.", "Ich kann die Doku noch anpassen.", true},
		{"Fertig. Ich kann das hier noch nicht testen.", "", false},
		{"Next steps: shall I tag it?", "shall I tag it?", true},
		{"", "", false},
	}
	for _, c := range tests {
		s := newSession("t")
		s.user("go")
		s.assistant(c.answer)
		if n := memory.Build(s.input()).Next; n.Text != c.want || n.Offer != c.offer {
			t.Errorf("%q: %+v", c.answer, n)
		}
	}
}

// The backslashes of a path are turned around when it is shown: what stands
// behind one was known for a secret before, and not afterwards.
func TestPathsWithBackslashesHideNoSecret(t *testing.T) {
	key, token := "AKIA"+"QX7MPLR2ZTN4WVB6", "ghp_"+strings.Repeat("a1B2c3D4e5F6", 3)
	for _, path := range []string{`src/"a\n` + key + `"`, `src\` + token[:9] + `\u200b` + token[9:] + ` end.go`} {
		s := newSession("Rotate the keys")
		s.user("Rotate the keys")
		s.patch("*** Update File: "+path+"\n@@\n-a\n+b\n", 0)
		for _, text := range []string{s.render(t, memory.Options{}), strings.Join(memory.Brief(memory.Build(s.input())).Did, "\n")} {
			if strings.Contains(text, key) || strings.Contains(text, token[9:]) || !strings.Contains(text, "[redacted:") {
				t.Errorf("%q is shown as\n%s", path, text)
			}
		}
	}
}

// A step and the question after it are two things.
func TestStepAndOffer(t *testing.T) {
	for _, c := range []struct{ answer, step, also string }{
		{"Done.\n\nNext step: write release notes. Shall I also tag it?", "write release notes.", "Shall I also tag it?"},
		{"Done.\n\nNext steps:\n1. write release notes\n2. tag it\n\nDo you want me to go on?", "write release notes; tag it", "Do you want me to go on?"},
		{"Done.\n\nNext steps:\n- write release notes\n- Shall I tag it?", "write release notes", "Shall I tag it?"},
		{"改好了。\n\n下一步：写发布说明。需要我打标签吗？", "写发布说明。", "需要我打标签吗？"},
		{"Fertig.\n\nNächster Schritt: Notizen schreiben. Soll ich das gleich machen?", "Notizen schreiben.", "Soll ich das gleich machen?"},
		{"直しました。\n\n次は、リリースノートを書きます。タグも付けましょうか？", "次は、リリースノートを書きます。", "タグも付けましょうか？"},
	} {
		s := newSession("t")
		s.user("go")
		s.assistant(c.answer)
		d := memory.Build(s.input())
		if n := d.Next; n.Text != c.step || n.Also != c.also || n.Offer {
			t.Errorf("%q: %+v", c.answer, n)
		}
		if g := memory.Brief(d); g.Next != c.step {
			t.Errorf("%q: next %q", c.answer, g.Next)
		}
		wantText(t, s.render(t, memory.Options{}), c.also)
	}
}

// The words asked first are no name for what is asked seven turns later; a name
// that was given is.
func TestBriefTellsWhatWasAskedLast(t *testing.T) {
	for _, c := range []struct {
		title, want string
		said        []string
	}{
		{"Fix the build", "now write the notes in a/b.md", []string{"Fix the build\nof ledgerkit", "now write\nthe notes in /home/dana/code/ledgerkit/a/b.md", "go on"}},
		{"Fix the build of…", "now test it", []string{"yes", "Fix the build of ledgerkit", "now test it"}},
		{"yes", "fix it", []string{"yes", "fix it"}},
		{"My name", "", []string{"Fix the build", "now write the notes"}},
		{"Fix the build", "", []string{"Fix the build", "go on"}},
		{"Fix the build", "", []string{"Fix the build", "Fix the build again"}},
		{"", "", nil},
		{"Use it", "push with [redacted:github-token]", []string{"Use it", "push with ghp_" + strings.Repeat("a1B2c3", 6)}},
	} {
		s := newSession(c.title)
		for _, text := range c.said {
			s.user(text)
			s.assistant("ok")
		}
		if g := memory.Brief(memory.Build(s.input())); g.Asked != c.want {
			t.Errorf("%q %q: %q, want %q", c.title, c.said, g.Asked, c.want)
		}
	}
	s := newSession("Fix the build")
	s.user("Fix the build")
	s.user("now " + strings.Repeat("长", 500))
	if g := memory.Brief(memory.Build(s.input())); len([]rune(g.Asked)) != 200 {
		t.Errorf("%d units", len([]rune(g.Asked)))
	}
}
