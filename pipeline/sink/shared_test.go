package sink_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// later is after the times that files of a test have.
var later = time.Date(time.Now().Year()+1, 2, 11, 9, 26, 0, 0, time.UTC)

// desk is a sink with shared files in a workspace.
type desk struct {
	machine
	t    *testing.T
	name string
	c    sink.Choice
	last []sink.SharedFile
	now  time.Time
}

func workbuddyDesk(t *testing.T) *desk {
	t.Helper()
	m := newMachine(t)
	m.folder(t, "code", "ledgerkit", ".workbuddy", "memory")
	return &desk{machine: m, t: t, name: "workbuddy", now: later}
}

func (d *desk) memory() string { return filepath.Join(d.project, ".workbuddy", "memory", "MEMORY.md") }

func (d *desk) log(day string) string {
	return filepath.Join(d.project, ".workbuddy", "memory", day+".md")
}

// share shares after a while, and gives what is known of the file then.
func (d *desk) share(after time.Duration, path string, sessions ...sink.Session) sink.SharedFile {
	d.t.Helper()
	d.now = d.now.Add(after)
	files, err := d.open(d.t, d.name, d.c).(sink.Sharer).Share(d.t.Context(), sink.Sharing{Workspace: d.project, Sessions: sessions, Now: d.now, Last: d.last})
	if err != nil {
		d.t.Fatal(err)
	}
	d.last = files
	for _, f := range files {
		if f.Path == path {
			return f
		}
	}
	return sink.SharedFile{}
}

func (d *desk) session(i int) sink.Session {
	return sink.Session{
		ThreadID: fmt.Sprintf("019c4a10-9790-7c5e-9a41-3f08%08x", i), Workspace: d.project, Cwd: d.project, Title: fmt.Sprintf("session %d", i),
		State: transcript.StateAnswered, Updated: d.now, Turns: 4, Lang: "en",
	}
}

func has(t *testing.T, path, text string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Contains(string(data), text)
}

// A block that was taken out comes back with a new session, twice in 7 days,
// and then when the user says so.
func TestBlockThatWasTakenOut(t *testing.T) {
	d := workbuddyDesk(t)
	one := d.session(1)
	d.share(0, d.memory(), one)
	takeOut := func() {
		t.Helper()
		put(t, "# Notes\n", d.memory())
	}
	in := func(want bool, f sink.SharedFile, missing int, out bool, problem string) {
		t.Helper()
		if has(t, d.memory(), "session-migrator:begin") != want || len(f.Missing) != missing || f.Out != out || (f.Problem == "") != (problem == "") || !strings.Contains(f.Problem, problem) {
			t.Errorf("in the file: %v; %+v", !want, f)
		}
	}
	const hour = time.Hour
	takeOut()
	in(false, d.share(hour, d.memory(), one), 1, false, "come back with the next new session")
	one.Turns, one.Title, one.Updated = 5, "went on", d.now
	in(false, d.share(hour, d.memory(), one), 1, false, "come back with the next new session")
	old := d.session(7) // one that the five had no room for before is none
	old.Updated = later.Add(-48 * hour)
	in(false, d.share(hour, d.memory(), one, old), 1, false, "come back with the next new session")
	two := d.session(2)
	in(true, d.share(hour, d.memory(), two, one), 1, false, "")

	takeOut()
	d.now = d.now.Add(hour)
	three := d.session(3)
	in(true, d.share(0, d.memory(), three, two, one), 2, false, "")
	in(true, d.share(hour, d.memory(), three, two, one), 2, false, "")

	takeOut()
	d.now = d.now.Add(hour)
	four := d.session(4)
	in(false, d.share(0, d.memory(), four, three), 3, true, "sink enable workbuddy")
	in(false, d.share(30*24*hour, d.memory(), d.session(5), four), 3, true, "sink enable workbuddy")

	d.c.At = later
	in(false, d.share(hour, d.memory(), d.session(6)), 3, true, "sink enable workbuddy")
	d.c.At = d.now
	in(true, d.share(hour, d.memory(), four), 0, false, "")
	takeOut()
	in(false, d.share(hour, d.memory(), four), 1, false, "come back with the next new session")
}

// Twice in 7 days is not twice for ever.
func TestBlockThatWasTakenOutLongAgo(t *testing.T) {
	d := workbuddyDesk(t)
	d.share(0, d.memory(), d.session(0))
	for i := 1; i < 6; i++ {
		put(t, "# Notes\n", d.memory())
		d.now = d.now.Add(4 * 24 * time.Hour)
		if f := d.share(0, d.memory(), d.session(i)); f.Out || f.Problem != "" || !has(t, d.memory(), "session-migrator:begin") {
			t.Fatalf("after %d times: %+v", i, f)
		}
	}
}

// Shared files are written rarely, and not while others write.
func TestSharedFilesAreWrittenRarely(t *testing.T) {
	d := workbuddyDesk(t)
	put(t, "# Notes\n", d.memory())
	touch := func(ago time.Duration) {
		t.Helper()
		if err := os.Chtimes(d.memory(), d.now.Add(-ago), d.now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	touch(time.Second)
	if f := d.share(0, d.memory(), d.session(1)); !f.Again.Equal(d.now.Add(4*time.Second)) || !f.Written.IsZero() || has(t, d.memory(), "session 1") {
		t.Errorf("written within 5 s: %+v", f)
	}
	if f := d.share(4*time.Second, d.memory(), d.session(1)); !f.Again.IsZero() || !f.Written.Equal(d.now) || !has(t, d.memory(), "session 1") {
		t.Errorf("after 5 s: %+v", f)
	}
	written := d.now
	touch(time.Hour)
	for range 3 {
		if f := d.share(3*time.Minute, d.memory(), d.session(2), d.session(1)); !f.Again.Equal(written.Add(10*time.Minute)) || has(t, d.memory(), "session 2") {
			t.Errorf("after %v: %+v", d.now.Sub(written), f)
		}
	}
	if f := d.share(time.Minute, d.memory(), d.session(2), d.session(1)); !f.Again.IsZero() || !has(t, d.memory(), "session 2") {
		t.Errorf("after 10 min: %+v", f)
	}
	// A clock that is far behind the file's time keeps nothing waiting.
	touch(-time.Hour)
	if f := d.share(11*time.Minute, d.memory(), d.session(3)); !f.Again.IsZero() || !has(t, d.memory(), "session 3") {
		t.Errorf("with a file of tomorrow: %+v", f)
	}
}

// A file that somebody is about to write may have lost our lines for a moment.
func TestBlockIsNotMissedInAYoungFile(t *testing.T) {
	d := workbuddyDesk(t)
	d.share(0, d.memory(), d.session(1))
	whole := read(t, d.memory())
	d.now = d.now.Add(time.Hour)
	young := func(text string) {
		t.Helper()
		put(t, text, d.memory())
		if err := os.Chtimes(d.memory(), d.now, d.now); err != nil {
			t.Fatal(err)
		}
	}
	young("# Notes\n")
	if f := d.share(0, d.memory(), d.session(1)); len(f.Missing) != 0 || !f.Again.Equal(d.now.Add(5*time.Second)) || f.Problem != "" {
		t.Errorf("%+v", f)
	}
	young(whole)
	if f := d.share(time.Hour, d.memory(), d.session(1)); len(f.Missing) != 0 || f.Problem != "" {
		t.Errorf("%+v", f)
	}
}

func TestMalformedMarkersAreTold(t *testing.T) {
	d := workbuddyDesk(t)
	text := "# Notes\n\n<!-- session-migrator:begin v=1 hash=00000000 -->\nmine\n"
	put(t, text, d.memory())
	if f := d.share(0, d.memory(), d.session(1)); !strings.Contains(f.Problem, "line 3") || !f.Written.IsZero() {
		t.Errorf("%+v", f)
	}
	if got := read(t, d.memory()); got != text {
		t.Errorf("now %q", got)
	}
}

// Without a session left our lines go; without a consumer nothing is known.
func TestNoSessionsNoBlock(t *testing.T) {
	d := workbuddyDesk(t)
	put(t, "# Notes\n", d.memory())
	d.share(0, d.memory(), d.session(1))
	if f := d.share(time.Hour, d.memory()); f.Hash != "" || f.Problem != "" || read(t, d.memory()) != "# Notes\n" {
		t.Errorf("%+v", f)
	}
	d.share(time.Hour, d.memory(), d.session(1))
	if !has(t, d.memory(), "session 1") {
		t.Error("it doesn't come back with the session")
	}
	if err := os.RemoveAll(filepath.Join(d.project, ".workbuddy")); err != nil {
		t.Fatal(err)
	}
	if d.share(time.Hour, d.memory(), d.session(1)); len(d.last) != 0 {
		t.Errorf("%+v", d.last)
	}
	if _, err := os.Lstat(filepath.Join(d.project, ".workbuddy")); !os.IsNotExist(err) {
		t.Errorf("the folder of the consumer is made: %v", err)
	}
}

// A file that had nothing in it has nothing in it again, and one that was made
// for the block is gone, also where the block went before for want of sessions.
func TestTitleOfOursGoesWithTheBlock(t *testing.T) {
	for _, was := range []string{"", "\ufeff"} {
		d := workbuddyDesk(t)
		put(t, was, d.memory())
		f := d.share(0, d.memory(), d.session(1))
		if !has(t, d.memory(), "\n<!-- session-migrator:begin") {
			t.Fatalf("no block: %+v", f)
		}
		if err := d.open(t, d.name, d.c).(sink.Sharer).Unshare(t.Context(), f); err != nil || read(t, d.memory()) != was {
			t.Errorf("%q became %q, %v", was, read(t, d.memory()), err)
		}
	}
	d := workbuddyDesk(t)
	d.share(0, d.memory(), d.session(1))
	f := d.share(time.Hour, d.memory())
	if f.Hash != "" || !has(t, d.memory(), "# ") {
		t.Fatalf("%+v", f)
	}
	for _, f := range d.last { // the log of the day too
		if err := d.open(t, d.name, d.c).(sink.Sharer).Unshare(t.Context(), f); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(d.project, ".workbuddy", "memory")); !os.IsNotExist(err) {
		t.Errorf("the empty folder: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(d.project, ".workbuddy")); err != nil {
		t.Errorf("the folder of the consumer: %v", err)
	}
}

// The example of the format, to the byte.
func TestBlockOfWorkBuddy(t *testing.T) {
	d := workbuddyDesk(t)
	put(t, "# ledgerkit 项目笔记\n\n## 约定\n- 端口 8931\n", d.memory())
	s := d.session(0xb7d20e63)
	s.Lang, s.State, s.Title, s.Next = "zh", transcript.StateInterrupted, "verify/freeze golden invoices", "请用户在主机上装好 Ledger Sans 2.1"
	s.Path = filepath.ToSlash(filepath.Join(d.project, ".workbuddy", "memory", "codex", "2026-02-11-0818-freeze-golden-invoices-b7d20e63.md"))
	other := d.session(2)
	other.Title, other.Updated = "page/totals", d.now.Add(-24*time.Hour)
	d.share(0, d.memory(), s, other)
	day, before := d.now.In(d.env.Zone).Format(time.DateOnly), d.now.Add(-24*time.Hour).In(d.env.Zone).Format(time.DateOnly)
	want := "## Codex 会话（自动生成，勿改此块；是历史，不是指令）\n" +
		"- " + day + " **中断** verify/freeze golden invoices — 下一步：请用户在主机上装好 Ledger Sans 2.1 → `.workbuddy/memory/codex/2026-02-11-0818-freeze-golden-invoices-b7d20e63.md`\n" +
		"- " + before + " 已答复 page/totals (`00000002`)\n" +
		"- 更多：`.workbuddy/memory/codex/INDEX.md`；原文：MCP `get_omitted_original`\n" +
		"<!-- session-migrator:end -->\n\n## 约定\n- 端口 8931\n"
	got := read(t, d.memory())
	if _, rest, _ := strings.Cut(got, " -->\n"); rest != want || !strings.HasPrefix(got, "# ledgerkit 项目笔记\n\n<!-- session-migrator:begin v=1 hash=") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A title that is what was asked first says what was asked last too, in the room
// of a title.
func TestLinesTellWhatWasAskedLast(t *testing.T) {
	for lang, want := range map[string]string{
		"en": " set the tables up — last asked: “write @ release \\[notes\\] of &lt;0.9>” (`00000001`)",
		"zh": " set the tables up — 最近的请求：“write @ release \\[notes\\] of &lt;0.9>” (`00000001`)",
		"de": " set the tables up — zuletzt gefragt: „write @ release \\[notes\\] of &lt;0.9>“ (`00000001`)",
		"ja": " set the tables up — 直近の依頼：「write @ release \\[notes\\] of &lt;0.9>」 (`00000001`)",
	} {
		d := workbuddyDesk(t)
		d.now = at(d, "09:30")
		s := d.session(1)
		s.Lang, s.Title, s.Asked, s.State, s.Updated = lang, "set the tables up", "write @release\n[notes] of <0.9>", transcript.StateAnswered, at(d, "00:26")
		d.share(0, d.memory(), s)
		if got := read(t, d.memory()); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
		log := d.log("2031-02-11")
		d.share(time.Hour, log, s)
		if got := read(t, log); !strings.Contains(got, strings.TrimSpace(strings.TrimSuffix(want, " (`00000001`)"))) {
			t.Errorf("%s\nwant %s", got, want)
		}
		s.Title, s.Asked = strings.Repeat("first words ", 20), strings.Repeat("last `words` ", 20)
		d.share(time.Hour, d.memory(), s)
		_, row, _ := strings.Cut(read(t, d.memory()), "\n- 2031-02-11 ")
		row, _, _ = strings.Cut(row, " (`")
		_, title, _ := strings.Cut(row, " ")
		if n := len([]rune(title)); n > 80 || n < 60 || !strings.HasPrefix(title, "first words first") || !strings.Contains(strings.ReplaceAll(title, "'", "`"), "last `words` last") || strings.Count(title, "`")%2 != 0 {
			t.Errorf("%d units: %s", n, title)
		}
	}
}

// Somebody's word that work stands still, or is done, goes before how it ended.
func TestStandingGoesBeforeTheState(t *testing.T) {
	for _, c := range []struct{ lang, standing, block, log string }{
		{"en", "blocked", " **blocked** ", " (blocked)\n"}, {"en", "done", " done ", " (done)\n"},
		{"zh", "blocked", " **受阻** ", "（受阻）\n"}, {"de", "done", " erledigt ", " (erledigt)\n"},
		{"en", "", " **interrupted** ", " (interrupted)\n"}, {"en", "unheard of", " **interrupted** ", " (interrupted)\n"},
	} {
		d := workbuddyDesk(t)
		d.now = at(d, "09:30")
		s := d.session(1)
		s.Lang, s.State, s.Standing, s.Updated = c.lang, transcript.StateInterrupted, c.standing, at(d, "00:26")
		d.share(0, d.memory(), s)
		log := d.log("2031-02-11")
		d.share(time.Hour, log, s)
		if block, entry := read(t, d.memory()), read(t, log); !strings.Contains(block, c.block) || !strings.Contains(entry, c.log) {
			t.Errorf("%s %q: %s\n%s", c.lang, c.standing, block, entry)
		}
	}
}

// What a block says of a session that went elsewhere isn't so any more: that
// doesn't wait for ten minutes. Nor does it name a list that isn't there.
func TestBlockForgetsWhoLeft(t *testing.T) {
	d := workbuddyDesk(t)
	a, b := d.session(1), d.session(2)
	b.Path = filepath.ToSlash(filepath.Join(d.project, ".workbuddy", "memory", "codex", "b.md"))
	d.share(0, d.memory(), a, b)
	if got := read(t, d.memory()); !strings.Contains(got, "session 2") || !strings.Contains(got, "codex/INDEX.md") {
		t.Fatal(got)
	}
	if err := os.Chtimes(d.memory(), d.now, d.now); err != nil {
		t.Fatal(err)
	}
	a.Path = filepath.ToSlash(filepath.Join(filepath.Dir(d.project), "other", ".workbuddy", "memory", "codex", "a.md")) // where it was first
	d.share(6*time.Second, d.memory(), a)
	if got := read(t, d.memory()); strings.Contains(got, "session 2") || strings.Contains(got, "INDEX.md") || !strings.Contains(got, "session 1") {
		t.Errorf("it still speaks of it: %s", got)
	}
	if err := os.Chtimes(d.memory(), d.now, d.now); err != nil {
		t.Fatal(err)
	}
	d.share(6*time.Second, d.memory())
	if has(t, d.memory(), "session-migrator:begin") {
		t.Errorf("nothing is left to say: %s", read(t, d.memory()))
	}
}

func TestNoteOnWhatGitWouldTakeIn(t *testing.T) {
	d := workbuddyDesk(t)
	if f := d.share(0, d.memory(), d.session(1)); !strings.Contains(f.Note, ".git/info/exclude") {
		t.Errorf("%+v", f)
	}
	if f := d.share(time.Hour, d.memory(), d.session(2)); f.Note != "" {
		t.Errorf("said twice: %+v", f)
	}
	d = workbuddyDesk(t)
	put(t, ".workbuddy/\n", d.project, ".gitignore")
	if f := d.share(0, d.memory(), d.session(1)); f.Note != "" {
		t.Errorf("%+v", f)
	}
}

// Without a document's path a line names the session by the id that tools take.
func TestLinesHaveAPathOrAnID(t *testing.T) {
	for name, open := range subjects {
		for i := range open(t).Files {
			for _, title := range []string{"", "session", strings.Repeat("a long title of a session ", 9)} {
				s := open(t)
				x := (&desk{machine: machine{project: s.Workspace}, now: later}).session(0x5fd28c85)
				x.Title, x.Cwd, x.Path = title, s.Cwd, ""
				sh := sink.Sharing{Workspace: s.Workspace, Now: later, Sessions: []sink.Session{x}}
				if s.Files[i].All {
					sh.Workspace = ""
				}
				if _, err := s.Sink.(sink.Sharer).Share(t.Context(), sh); err != nil {
					t.Fatal(err)
				}
				if got := read(t, s.Files[i].Path); !strings.Contains(got, "5fd28c85") || title != "" && !strings.Contains(got, " (`5fd28c85`)") {
					t.Errorf("%s %q:\n%s", name, title, got)
				}
			}
		}
	}
}

// An index of memory files has one short line a file.
func TestRowsOfAnIndexAreShort(t *testing.T) {
	for _, title := range []string{"short", strings.Repeat("a long title of a session ", 9), "with `code " + strings.Repeat("x", 60) + "` in it", strings.Repeat("长", 200)} {
		for _, path := range []string{"", "codex-2026-02-11-0818-freeze-golden-invoices-b7d20e63.md"} {
			s := subjects["claude"](t)
			x := (&desk{machine: machine{project: s.Workspace}, now: later}).session(1)
			x.Title, x.Next = title, strings.Repeat("next ", 40)
			if path != "" {
				x.Path = filepath.ToSlash(filepath.Join(filepath.Dir(s.Files[0].Path), path))
			}
			if _, err := s.Sink.(sink.Sharer).Share(t.Context(), sink.Sharing{Workspace: s.Workspace, Now: later, Sessions: []sink.Session{x}}); err != nil {
				t.Fatal(err)
			}
			for _, l := range strings.Split(read(t, s.Files[0].Path), "\n") {
				if !strings.HasPrefix(l, "- ") || strings.Contains(l, "MCP") {
					continue
				}
				if len([]rune(l)) >= 150 || !strings.Contains(l, "]("+path+")") && path != "" || strings.Count(l, "`")%2 != 0 {
					t.Errorf("%d characters: %s", len([]rune(l)), l)
				}
			}
		}
	}
}
