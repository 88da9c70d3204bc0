package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

// bench is a cache with a pipeline on it.
type bench struct {
	t    *testing.T
	db   *store.DB
	pipe *pipeline.Pipeline
	path string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "cache.db")}
	b.reopen()
	return b
}

// reopen does what a restart does.
func (b *bench) reopen() {
	b.t.Helper()
	if b.db != nil {
		if err := b.db.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	var err error
	if b.db, err = store.Open(b.t.Context(), b.path); err != nil {
		b.t.Fatal(err)
	}
	db := b.db
	b.t.Cleanup(func() { _ = db.Close() })
	if b.pipe, err = pipeline.New(b.t.Context(), b.db, pipeline.Options{}); err != nil {
		b.t.Fatal(err)
	}
}

// ingest takes in all that lies under a home, in the order given by less.
func (b *bench) ingest(home string, reverse bool) {
	b.t.Helper()
	files, problems, err := watch.List(b.t.Context(), home)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.Contains(p.Path, "sessions") { // one of the two roots may be missing
			b.t.Errorf("problem: %v", p)
		}
	}
	files, _ = watch.Resolve(files)
	var todo []store.File
	for _, f := range files {
		sf := store.File{
			RolloutID: f.Name.RolloutID, ThreadID: f.Name.ThreadID, Stamp: f.Name.Stamp, Home: home, Path: f.Path, Form: store.Form(f.Name.Form),
			Archived: f.Archived, Size: f.Size, ModTimeNs: f.ModTime.UnixNano(), ChangeTimeNs: f.CTimeNs, Dev: f.Dev, Ino: f.Ino,
		}
		if reverse {
			todo = append([]store.File{sf}, todo...)
		} else {
			todo = append(todo, sf)
		}
	}
	for len(todo) > 0 {
		r, err := b.pipe.Ingest(b.t.Context(), todo[0])
		if err != nil {
			b.t.Fatal(err)
		}
		todo = append(todo[1:], r.Waiting...)
	}
}

// said is the dialogue of the current branch: inherited items marked with ^.
func (b *bench) said(thread string) string {
	b.t.Helper()
	v, err := b.pipe.View(b.t.Context(), thread)
	if err != nil {
		b.t.Fatal(err)
	}
	return dialogue(v.Messages)
}

func dialogue(ms []transcript.Message) string {
	var parts []string
	for _, m := range ms {
		if m.Role != transcript.RoleUser && m.Role != transcript.RoleAssistant {
			continue
		}
		mark := ""
		if m.Inherited {
			mark = "^"
		}
		parts = append(parts, mark+m.Text)
	}
	return strings.Join(parts, " | ")
}

func (b *bench) thread(id string) transcript.Thread {
	b.t.Helper()
	t, err := b.db.Thread(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

// inHome writes lines as a rollout of a new home and gives both paths.
func inHome(t *testing.T, thread string, text []byte) (home, path string) {
	t.Helper()
	home = t.TempDir()
	path = filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+thread+".jsonl")
	write(t, path, text)
	return home, path
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "lines", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func id(last string) string { return "019a0000-0000-7000-8000-000000000" + last }

func TestHomesGiveTheirThreads(t *testing.T) {
	for _, c := range []struct{ home, thread, want string }{
		{"fork-replayed", id("040"), "parent task | parent done"},
		{"fork-replayed", id("041"), "^parent task | ^parent done | child task | child done"},
		{"fork-empty", id("049"), "^parent task | ^parent done"},
		{"reverted", id("022"), "Q1 | A1 日本語 | Q2 better | A2 better"},
		{"plain-and-zst", id("032"), "old question | old answer | resumed a week later | welcome back"},
		{"third-party", id("150"), "no turn_context here | so no model"},
	} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s/reverse=%v", c.home, c.thread[33:], reverse), func(t *testing.T) {
				b := newBench(t)
				b.ingest(filepath.Join("testdata", "homes", c.home), reverse)
				if got := b.said(c.thread); got != c.want {
					t.Errorf("said %q\nwant %q", got, c.want)
				}
			})
		}
	}
}

func TestCompressedAloneIsReadToo(t *testing.T) {
	const name = "rollout-2026-08-20T09-00-00-019a0000-0000-7000-8000-000000000032.jsonl.zst"
	text, err := os.ReadFile(filepath.Join("testdata", "homes", "plain-and-zst", "sessions", "2026", "08", "20", name))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	write(t, filepath.Join(home, "sessions", "2026", "08", "20", name), text)
	b := newBench(t)
	b.ingest(home, false)
	if got := b.said(id("032")); got != "old question | old answer" {
		t.Errorf("said %q", got)
	}
}

func TestForkSpendsOnlyItsOwn(t *testing.T) {
	b := newBench(t)
	b.ingest(filepath.Join("testdata", "homes", "fork-replayed"), false)
	parent, child := b.thread(id("040")), b.thread(id("041"))
	want := transcript.Usage{Input: 1500, CachedInput: 1200, Output: 150, Reasoning: 20, Total: 1650}
	if child.OwnUsage != want {
		t.Errorf("fork spent %+v, want %+v", child.OwnUsage, want)
	}
	if parent.OwnUsage.Total != 2750 || parent.OwnUsage.Total+child.OwnUsage.Total != 4400 || child.Usage.Total != 4400 {
		t.Errorf("parent %d, fork %d of %d", parent.OwnUsage.Total, child.OwnUsage.Total, child.Usage.Total)
	}
	if child.ForkedFrom != id("040") || child.Title != "child task" {
		t.Errorf("fork %+v", child)
	}
	b.ingest(filepath.Join("testdata", "homes", "fork-empty"), false)
	if empty := b.thread(id("049")); empty.OwnUsage.Total != 0 || !empty.Untouched {
		t.Errorf("an untouched fork: %v, spent %+v", empty.Untouched, empty.OwnUsage)
	}
	if child.Untouched || parent.Untouched {
		t.Error("a thread with words of its own is no untouched fork")
	}
}

func TestSubagentsBelongToTheirParent(t *testing.T) {
	b := newBench(t)
	b.ingest(filepath.Join("testdata", "homes", "subagent"), false)
	list, total, err := b.db.Threads(t.Context(), store.Filter{})
	if err != nil || total != 1 || list[0].ID != id("040") || list[0].Subagents != 1 {
		t.Fatalf("%d threads: %+v, %v", total, list, err)
	}
	if p := b.thread(id("040")); p.SubagentUsage.Total != 1280 || p.OwnUsage.Total != 2750 {
		t.Errorf("own %d, sub-agents %d", p.OwnUsage.Total, p.SubagentUsage.Total)
	}
	subs, _, err := b.db.Threads(t.Context(), store.Filter{Parent: id("040")})
	if err != nil || len(subs) != 1 || subs[0].Nickname != "Noether" {
		t.Errorf("sub-agents %+v, %v", subs, err)
	}
}

func TestOtherWritersKeepTheirThreads(t *testing.T) {
	b := newBench(t)
	b.ingest(filepath.Join("testdata", "homes", "third-party"), false)
	_, total, err := b.db.Threads(t.Context(), store.Filter{})
	if err != nil || total != 3 {
		t.Errorf("%d threads, %v", total, err)
	}
	if th := b.thread(id("150")); th.Model != "unknown" || th.Originator != "opencode" {
		t.Errorf("model %q of %q", th.Model, th.Originator)
	}
	if th := b.thread(id("152")); th.Session == "" || th.Session == th.ID {
		t.Errorf("umbrella %q", th.Session)
	}
}

func TestOneFolderManySpellings(t *testing.T) {
	b := newBench(t)
	b.ingest(filepath.Join("testdata", "homes", "windows-paths"), false)
	th := b.thread(id("070"))
	if th.Cwd != `C:\Work\Shop (2026)\app` {
		t.Errorf("shown as %q", th.Cwd)
	}
	for _, spelling := range []string{`C:\Work\Shop (2026)\app`, "c:/work/shop (2026)/app", `\\?\C:\Work\Shop (2026)\app`} {
		list, _, err := b.db.Threads(t.Context(), store.Filter{Workspace: transcript.WorkspaceKey(spelling)})
		if err != nil || len(list) != 1 {
			t.Errorf("%s finds %d threads, %v", spelling, len(list), err)
		}
	}
	if got := transcript.ShownPath(`\\?\UNC\server\share\x`); got != `\\server\share\x` {
		t.Errorf("server path %q", got)
	}
}

func TestTornTailWaits(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			b := newBench(t)
			first := lines(t, "torn-1.jsonl")
			thread := threadOf(t, first)
			home, path := inHome(t, thread, first)
			b.ingest(home, false)
			if got := strings.Count(b.said(thread), "|"); got != 1 {
				t.Errorf("%d messages before the tail is whole", got+1)
			}
			cp, err := b.db.Rollout(t.Context(), thread)
			if err != nil || cp.Cursor.Offset != int64(bytes.LastIndexByte(first, '\n')+1) {
				t.Errorf("cursor %d, %v", cp.Cursor.Offset, err)
			}
			if restart {
				b.reopen()
			}
			appendTo(t, path, lines(t, "torn-2.bin"))
			b.ingest(home, false)
			if got := strings.Count(b.said(thread), "|"); got != 3 {
				t.Errorf("%d messages: %s", got+1, b.said(thread))
			}
			if th := b.thread(thread); th.Counts.DamagedLines != 0 {
				t.Errorf("%d damaged lines", th.Counts.DamagedLines)
			}
		})
	}
}

// threadOf is the thread id in the header.
func threadOf(t *testing.T, text []byte) string {
	t.Helper()
	const key = `"id":"`
	i := bytes.Index(text, []byte(key))
	if i < 0 {
		t.Fatal("no header")
	}
	return string(text[i+len(key) : i+len(key)+36])
}

func TestArchivedMidWriteStaysOneThread(t *testing.T) {
	b := newBench(t)
	before := lines(t, "archive-1.jsonl")
	thread := threadOf(t, before)
	home, path := inHome(t, thread, before)
	b.ingest(home, false)
	archived := filepath.Join(home, "archived_sessions", filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(archived), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, archived); err != nil {
		t.Fatal(err)
	}
	write(t, archived, lines(t, "archive-2.jsonl"))
	b.ingest(home, false)
	if got := strings.Count(b.said(thread), "|"); got != 5 {
		t.Errorf("%d messages: %s", got+1, b.said(thread))
	}
	if th := b.thread(thread); !th.Archived {
		t.Error("not marked as archived")
	}
	if old, err := b.db.Rewritten(t.Context(), thread); err != nil || len(old) != 0 {
		t.Errorf("a move was taken for a rewrite: %d items, %v", len(old), err)
	}
	if err := os.Rename(archived, path); err != nil {
		t.Fatal(err)
	}
	b.ingest(home, false)
	if th := b.thread(thread); th.Archived {
		t.Error("still marked as archived")
	}
}

func TestRewrittenShorterKeepsWhatWasThere(t *testing.T) {
	b := newBench(t)
	first := lines(t, "shorter-1.jsonl")
	thread := threadOf(t, first)
	home, path := inHome(t, thread, first)
	b.ingest(home, false)
	before := strings.Count(b.said(thread), "|") + 1
	write(t, path, lines(t, "shorter-2.jsonl"))
	b.ingest(home, false)
	if got := b.said(thread); got != "question 19 | after rewrite | ok" {
		t.Errorf("said %q", got)
	}
	old, err := b.db.Rewritten(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	// One of the 40 was written anew word for word.
	if got := strings.Count(dialogue(old), "|") + 1; got != 39 || before != 40 || strings.Contains(dialogue(old), "question 19 |") {
		t.Errorf("%d of %d messages are still to be had: %s", got, before, dialogue(old))
	}
	for seq := range int64(before) {
		ms, err := b.db.Original(t.Context(), thread[28:], seq+1, "")
		if err != nil || ms[0].Gone != (ms[0].Text != "question 19") {
			t.Errorf("message %d: %+v, %v", seq+1, ms, err)
		}
	}
}

func TestCompactionAddsNoMessages(t *testing.T) {
	b := newBench(t)
	text := lines(t, "compacted.jsonl")
	home, _ := inHome(t, threadOf(t, text), text)
	b.ingest(home, false)
	if got := b.said(threadOf(t, text)); got != "u1 | a1 | u2 | a2 | u3 | a3" {
		t.Errorf("said %q", got)
	}
}

func TestSpecialTokenSpellingsAreText(t *testing.T) {
	b := newBench(t)
	text := lines(t, "special-tokens.jsonl")
	home, _ := inHome(t, threadOf(t, text), text)
	b.ingest(home, false)
	th := b.thread(threadOf(t, text))
	if th.Tokens["o200k_base"] != 17+15 || th.Tokens["cl100k_base"] != 16+15 {
		t.Errorf("tokens %v", th.Tokens)
	}
}

func TestRealRepeatsStayEchoesGo(t *testing.T) {
	b := newBench(t)
	text := lines(t, "repeats.jsonl")
	home, _ := inHome(t, threadOf(t, text), text)
	b.ingest(home, false)
	want := "fix the build | Working on it. | Fixed. | continue | Fixed. | continue | Nothing left to do."
	if got := b.said(threadOf(t, text)); got != want {
		t.Errorf("said %q\nwant %q", got, want)
	}
}

func TestWindowIsTheSessionsOwn(t *testing.T) {
	b := newBench(t)
	text := lines(t, "window.jsonl")
	home, _ := inHome(t, threadOf(t, text), text)
	b.ingest(home, false)
	if th := b.thread(threadOf(t, text)); th.Window != 258_400 || th.ContextTokens != 207_533 {
		t.Errorf("window %d, context %d", th.Window, th.ContextTokens)
	}
}

func TestReportedWindowIsTheTargets(t *testing.T) {
	b := newBench(t)
	// A report counts while it is young.
	text := bytes.ReplaceAll(lines(t, "window.jsonl"), []byte("2026-09-01"), []byte(time.Now().UTC().Format(time.DateOnly)))
	text = bytes.ReplaceAll(text, []byte("258400"), []byte("111000"))
	thread := threadOf(t, text)
	home, _ := inHome(t, thread, text)
	b.ingest(home, false)
	for range 2 {
		if err := errors.Join(b.pipe.Retarget(t.Context()), b.pipe.DecideAnew(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.pipe.Table().Lookup("codex/gpt-5.6-sol")
	if err != nil || m.Source.String() != "observed" || m.Window != 111_000 {
		t.Errorf("%+v, %v", m, err)
	}
	ds, err := b.db.Decisions(t.Context(), thread, "codex/gpt-5.6-sol")
	if err != nil || len(ds) != 1 || ds[0].Window != 111_000 {
		t.Errorf("the stored decision is of another window: %+v, %v", ds, err)
	}
}

func TestEveryChunkingIsOneRead(t *testing.T) {
	for _, name := range []string{"archive-2.jsonl", "compacted.jsonl", "repeats.jsonl", "shorter-1.jsonl"} {
		text := lines(t, name)
		thread := threadOf(t, text)
		whole := newBench(t)
		home, _ := inHome(t, thread, text)
		whole.ingest(home, false)
		for step := 97; step < len(text); step = step*3 + 1 {
			t.Run(fmt.Sprintf("%s/%d", name, step), func(t *testing.T) {
				b := newBench(t)
				home, path := inHome(t, thread, nil)
				for at := 0; at < len(text); at += step {
					appendTo(t, path, text[at:min(at+step, len(text))])
					b.ingest(home, false)
				}
				if got, want := b.said(thread), whole.said(thread); got != want {
					t.Errorf("said %q\nwant %q", got, want)
				}
				got, want := b.thread(thread), whole.thread(thread)
				got.Path, want.Path = "", ""
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
					t.Errorf("thread\n%+v\nwant\n%+v", got, want)
				}
			})
		}
	}
}

func TestUncommittedLinesAreReadThrough(t *testing.T) {
	text := lines(t, "archive-2.jsonl")
	thread := threadOf(t, text)
	half := bytes.IndexByte(text[len(text)/2:], '\n') + len(text)/2 + 1
	b := newBench(t)
	home, path := inHome(t, thread, text[:half])
	b.ingest(home, false)
	appendTo(t, path, text[half:])
	through, err := b.pipe.View(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	b.ingest(home, false)
	committed, err := b.pipe.View(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	for i := range committed.Messages {
		committed.Messages[i].ID, through.Messages[i].ID = 0, 0
	}
	if got, want := fmt.Sprintf("%+v", through.Messages), fmt.Sprintf("%+v", committed.Messages); got != want {
		t.Errorf("messages\n%s\nwant\n%s", got, want)
	}
	if got, want := fmt.Sprintf("%+v", through.Thread), fmt.Sprintf("%+v", committed.Thread); got != want {
		t.Errorf("thread\n%s\nwant\n%s", got, want)
	}
	if through.Fresh.Behind != 0 || through.Fresh.Read != int64(len(text)) {
		t.Errorf("freshness %+v", through.Fresh)
	}
}

func TestDecisionsAreKeptForEveryTarget(t *testing.T) {
	b := newBench(t)
	text := lines(t, "shorter-1.jsonl")
	thread := threadOf(t, text)
	home, _ := inHome(t, thread, text)
	b.ingest(home, false)
	ds, err := b.db.Decisions(t.Context(), thread, "")
	if err != nil || len(ds) < 40 {
		t.Fatalf("%d decisions, %v", len(ds), err)
	}
	th := b.thread(thread)
	for _, d := range ds {
		want := b.pipe.Decide(th, d.TargetModel, decide.Options{})
		want.ComputedAt = d.ComputedAt
		if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", want) {
			t.Errorf("stored\n%+v\nwant\n%+v", d, want)
		}
	}
}

func TestHugeLineIsPassedOver(t *testing.T) {
	const header = `{"timestamp":"2026-09-01T09:00:00.000Z","type":"session_meta","payload":{"id":"019a0000-0000-7000-8000-0000000000a1","timestamp":"2026-09-01T09:00:00.000Z","cwd":"/w"}}` + "\n"
	message := func(role, kind, text string) string {
		return fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}}`+"\n", role, kind, text)
	}
	reliability.Fault(t, 21, "20 lines, one of 100 MB (a compaction with pictures; an answer; a torn record with the next glued to it), 20 lines")
	huge := strings.Repeat("A", 100<<20)
	for _, c := range []struct {
		name, before, after string
		damaged, salvaged   int
	}{
		{"compaction with pictures", `{"timestamp":"2026-09-01T09:00:02.000Z","type":"compacted","payload":{"message":"sum","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,`, `"}]}]}}` + "\n", 0, 0},
		{"answer above the limit", `{"timestamp":"2026-09-01T09:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`, `"}]}}` + "\n", 1, 0},
		{"torn above the limit, the next glued to it", `{"timestamp":"2026-09-01T09:00:02.000Z","type":"event_msg","payload":{"type":"exec_command_end","stdout":"`, message("user", "input_text", "glued"), 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			twenty := func(when string) (text string) {
				for i := range 10 {
					want = append(want, fmt.Sprint(when, i), fmt.Sprint("yes ", when, i))
					text += message("user", "input_text", want[len(want)-2]) + message("assistant", "output_text", want[len(want)-1])
				}
				return text
			}
			home, path := inHome(t, id("0a1"), []byte(header+twenty("before ")))
			if c.salvaged > 0 {
				want = append(want, "glued")
			}
			for _, part := range []string{c.before, huge, c.after, twenty("after ")} {
				appendTo(t, path, []byte(part))
			}
			b := newBench(t)
			b.ingest(home, false)
			if got := b.said(id("0a1")); got != strings.Join(want, " | ") {
				t.Errorf("said %q", got)
			}
			if th := b.thread(id("0a1")); th.Counts.DamagedLines != c.damaged {
				t.Errorf("%d damaged lines", th.Counts.DamagedLines)
			}
			odd, err := b.db.Oddities(t.Context(), id("0a1"))
			if err != nil {
				t.Fatal(err)
			}
			if c.damaged == 1 && (odd.Damage[0].Size < 100<<20 || odd.Damage[0].Line != 22 || odd.Damage[0].Salvaged != c.salvaged || odd.Damage[0].Detail == "") {
				t.Errorf("not named: %+v", odd.Damage)
			}
		})
	}
}

func TestCopiedHomeIsReadOnce(t *testing.T) {
	text := lines(t, "archive-2.jsonl")
	thread := threadOf(t, text)
	short := text[:bytes.IndexByte(text[len(text)/2:], '\n')+len(text)/2+1]
	for _, longFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("longer first=%v", longFirst), func(t *testing.T) {
			homes := [2]string{}
			for i, part := range [][]byte{text, short} {
				homes[i], _ = inHome(t, thread, part)
			}
			if !longFirst {
				homes[0], homes[1] = homes[1], homes[0]
			}
			b := newBench(t)
			for range 3 {
				b.ingest(homes[0], false)
				b.ingest(homes[1], false)
			}
			if got := strings.Count(b.said(thread), "|"); got != 5 {
				t.Errorf("%d messages: %s", got+1, b.said(thread))
			}
			if old, err := b.db.Rewritten(t.Context(), thread); err != nil || len(old) != 0 {
				t.Errorf("the copies were taken for rewrites: %d items, %v", len(old), err)
			}
		})
	}
}

func TestThreadKnowsItsRollbacks(t *testing.T) {
	r := rollouttest.New(rollouttest.Marked, rollouttest.Options{}).User("one").Assistant("1").End().User("two").Assistant("2").End().Rollback(1).User("three").Assistant("3").End()
	b := newBench(t)
	home, _ := inHome(t, r.ThreadID(), r.Bytes())
	b.ingest(home, false)
	if n := b.thread(r.ThreadID()).Rollbacks; n != 1 {
		t.Errorf("%d rollbacks, want 1", n)
	}
}
