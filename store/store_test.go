package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

const (
	parentID = "019a0000-0000-7000-8000-000000000040"
	childID  = "019a0000-0000-7000-8000-000000000041"
	headID   = "019a0000-0000-7000-8000-000000000049"
)

func open(t *testing.T) (*store.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data", "session-migrator.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, path
}

// script builds a batch: "u:text" is a request, "a:" an answer, "c:" a call,
// "r:" a result. Lines are 100 bytes each, starting behind what came before.
func script(rolloutID, threadID string, firstSeq int64, lines ...string) *store.Batch {
	b := &store.Batch{
		File:  store.File{RolloutID: rolloutID, ThreadID: threadID, Stamp: "2026-09-01T09-00-00", Home: "/h", Path: "/h/sessions/" + rolloutID, Form: store.FormPlain},
		State: store.FileOK, Delta: &transcript.Delta{},
		Facts: transcript.Facts{ThreadID: threadID, Cwd: "/w", Model: "m", Updated: time.Unix(1_700_000_000+firstSeq, 0).UTC()},
	}
	turn := 0
	for i, l := range lines {
		seq := firstSeq + int64(i)
		it := transcript.Item{Seq: seq, Ordinal: seq, Offset: seq * 100, Size: 100, Text: l[2:], Key: uint64(seq)}
		switch l[0] {
		case 'u':
			it.Role = transcript.RoleUser
			turn++
		case 'a':
			it.Role = transcript.RoleAssistant
		case 'c':
			it.Role, it.Text, it.Args, it.Name = transcript.RoleToolCall, "", l[2:], "exec"
		case 'r':
			it.Role, it.HasExit = transcript.RoleToolResult, true
		}
		it.Turn = turn
		b.Delta.Items = append(b.Delta.Items, it)
		b.Counts = append(b.Counts, store.ItemCount{O200k: len(it.Body()), Cl100k: 2 * len(it.Body()), Shrunk: len(it.Body()), Hash: it.BodyHash()})
		if turn > 0 {
			b.Delta.Turns = append(b.Delta.Turns, transcript.Turn{Number: turn, State: transcript.StateAnswered})
		}
	}
	b.Cursor = store.Cursor{Offset: (firstSeq + int64(len(lines))) * 100, Line: int64(len(lines))}
	return b
}

func commit(t *testing.T, db *store.DB, b *store.Batch) {
	t.Helper()
	if err := db.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// said is the current branch as one text.
func said(t *testing.T, db *store.DB, thread string) string {
	t.Helper()
	ms, err := db.Messages(t.Context(), thread, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for i, m := range ms {
		if i > 0 && m.Position <= ms[i-1].Position {
			t.Errorf("positions don't rise: %d after %d", m.Position, ms[i-1].Position)
		}
		mark := ""
		if m.Inherited {
			mark = "^"
		}
		parts = append(parts, mark+m.Body())
	}
	return strings.Join(parts, " ")
}

func thread(t *testing.T, db *store.DB, id string) transcript.Thread {
	t.Helper()
	th, err := db.Thread(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func TestAppendAddsUp(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
	commit(t, db, script(parentID, parentID, 3, "u:three", "c:{}", "r:out", "a:four"))
	if got := said(t, db, parentID); got != "one two three {} out four" {
		t.Errorf("said %q", got)
	}
	th := thread(t, db, parentID)
	if got, want := th.Tokens["o200k_base"], int64(3+3+5+2+3+4); got != want {
		t.Errorf("tokens %d, want %d", got, want)
	}
	if th.Counts.User != 2 || th.Counts.ToolCalls != 1 || th.LastSeq != 6 || th.Migrated != 6 {
		t.Errorf("thread %+v", th)
	}
}

func TestRollbackTakesBackWhatItCounted(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:u1", "a:a1", "u:u2bad", "a:a2bad"))
	b := script(parentID, parentID, 5, "u:u2good", "a:a2good")
	b.Delta.Dead = []transcript.Dead{{Range: transcript.Range{From: 3, To: 4}, Offset: 450, Ordinal: 4}}
	commit(t, db, b)
	if got := said(t, db, parentID); got != "u1 a1 u2good a2good" {
		t.Errorf("said %q", got)
	}
	if got := thread(t, db, parentID).Tokens["o200k_base"]; got != int64(len("u1a1u2gooda2good")) {
		t.Errorf("tokens %d", got)
	}
	ms, err := db.Original(t.Context(), parentID[28:], 3, "")
	if err != nil || ms[0].Text != "u2bad" {
		t.Errorf("the rolled-back text is not to be had: %v %v", ms, err)
	}
}

func TestRewriteKeepsWhatWentAway(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:old", "a:answer"))
	b := script(parentID, parentID, 1, "u:new")
	b.NewGeneration = true
	commit(t, db, b)
	if got := said(t, db, parentID); got != "new" {
		t.Errorf("said %q", got)
	}
	gone, err := db.Rewritten(t.Context(), parentID)
	if err != nil || len(gone) != 2 || !gone[0].Gone || gone[0].Text != "old" {
		t.Errorf("rewritten %v %v", gone, err)
	}
	ms, err := db.Original(t.Context(), parentID[28:], 2, "")
	if err != nil || ms[0].Text != "answer" || !ms[0].Gone {
		t.Errorf("original of a rewritten item: %v %v", ms, err)
	}
	if ms, err = db.Original(t.Context(), parentID[28:], 3, ""); err != nil || ms[0].Text != "new" || ms[0].Gone || ms[0].Position != 1 || ms[0].ThreadTurn != 1 {
		t.Errorf("original of the new item: %v %v", ms, err)
	}
}

func TestRederivingKeepsRefs(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
	before := thread(t, db, parentID)
	b := script(parentID, parentID, 1, "u:one", "a:two")
	b.Rederive = true
	commit(t, db, b)
	if got := said(t, db, parentID); got != "one two" {
		t.Errorf("said %q", got)
	}
	after := thread(t, db, parentID)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the thread changed:\n%+v\n%+v", before, after)
	}
}

func TestForkJoinsItsBaseInEitherOrder(t *testing.T) {
	for _, parentFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("parent first ", parentFirst), func(t *testing.T) {
			db, _ := open(t)
			parent := script(parentID, parentID, 1, "u:p1", "a:p2", "u:p3", "a:p4")
			child := script(childID, childID, 1, "u:c1", "a:c2")
			child.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: 3, Offset: 300}
			if parentFirst {
				commit(t, db, parent)
				commit(t, db, child)
			} else {
				commit(t, db, child)
				if got := thread(t, db, childID).BaseMissing; got != parentID {
					t.Errorf("missing base %q", got)
				}
				commit(t, db, parent)
			}
			if got := said(t, db, childID); got != "^p1 ^p2 c1 c2" {
				t.Errorf("said %q", got)
			}
			th := thread(t, db, childID)
			if th.Tokens["o200k_base"] != 8 || th.Turns != 2 || th.LastSeq != 4 || th.BaseMissing != "" {
				t.Errorf("thread %+v", th)
			}
		})
	}
}

// What another thread was asked after it was forked names the fork in no order
// of reading; what it was asked before does.
func TestForkHasNoTitleFromAfterItsCut(t *testing.T) {
	for _, c := range []struct {
		cut  int64
		want string
	}{{100, ""}, {300, "p1"}} {
		for _, parentFirst := range []bool{true, false} {
			t.Run(fmt.Sprint("cut at ", c.cut, ", parent first ", parentFirst), func(t *testing.T) {
				db, _ := open(t)
				parent := script(parentID, parentID, 1, "u:p1", "a:p2", "u:p3", "a:p4")
				parent.Facts.FirstUser = "p1"
				child := script(childID, childID, 1)
				child.Facts.FirstUser = ""
				child.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: c.cut / 100, Offset: c.cut}
				for _, b := range map[bool][]*store.Batch{true: {parent, child}, false: {child, parent}}[parentFirst] {
					commit(t, db, b)
				}
				if got := thread(t, db, childID).Title; got != c.want {
					t.Errorf("title %q, want %q", got, c.want)
				}
			})
		}
	}
}

// A fork that begins within a turn of another thread, and says nothing, stands
// as that turn stands.
func TestForkFollowsTheTurnItBeginsIn(t *testing.T) {
	db, _ := open(t)
	parent := script(parentID, parentID, 1, "u:p1", "c:p2")
	for i := range parent.Delta.Turns {
		parent.Delta.Turns[i].State = transcript.StateRunning
	}
	commit(t, db, parent)
	child := script(childID, childID, 1)
	child.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: 3, Offset: 300}
	commit(t, db, child)
	if got := thread(t, db, childID).State; got != transcript.StateRunning {
		t.Errorf("state %v", got)
	}
	end := script(parentID, parentID, 3)
	end.Delta.Turns = []transcript.Turn{{Number: 1, State: transcript.StateAnswered}}
	commit(t, db, end)
	if got := thread(t, db, childID).State; got != transcript.StateAnswered {
		t.Errorf("state %v when the turn has its end", got)
	}
}

func TestBaseThatIsRewrittenIsCountedAgain(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:p1", "a:p2", "u:p3", "a:p4"))
	child := script(childID, childID, 1, "u:c1", "a:c2")
	child.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: 3, Offset: 300}
	commit(t, db, child)
	grandchild := script(headID, headID, 1, "u:g1")
	grandchild.Facts.Base = &transcript.Base{RolloutID: childID, Ordinal: 3, Offset: 300}
	commit(t, db, grandchild)

	again := script(parentID, parentID, 1, "u:longer", "a:still")
	again.NewGeneration = true
	commit(t, db, again)
	for id, want := range map[string]string{childID: "^longer ^still c1 c2", headID: "^longer ^still ^c1 ^c2 g1"} {
		if got := said(t, db, id); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
		if got, n := thread(t, db, id).Tokens["o200k_base"], len(strings.NewReplacer("^", "", " ", "").Replace(want)); got != int64(n) {
			t.Errorf("%s: %d tokens for %q", id, got, want)
		}
	}
}

func TestRevertedThreadIsOneThread(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:q1", "a:a1", "u:wrong", "a:bad"))
	b := script(headID, parentID, 1, "u:better", "a:good")
	b.File.Stamp = "2026-09-01T09-00-20"
	b.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: 3, Offset: 300}
	commit(t, db, b)
	if got := said(t, db, parentID); got != "q1 a1 better good" {
		t.Errorf("said %q", got)
	}
	if list, total, err := db.Threads(t.Context(), store.Filter{}); err != nil || total != 1 || len(list) != 1 {
		t.Errorf("%d threads, %v", total, err)
	}
}

func TestResolve(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	b := script(childID, childID, 1, "u:two")
	b.Facts.Updated = b.Facts.Updated.Add(time.Hour)
	commit(t, db, b)
	for arg, want := range map[string]string{
		parentID: parentID, "00000041": childID, "8000-000000000041": childID, "latest": childID, strings.ToUpper(childID): childID, "/h/sessions/" + parentID: parentID,
	} {
		if got, err := db.Resolve(t.Context(), arg, "", ""); err != nil || got != want {
			t.Errorf("%s: %q, %v", arg, got, err)
		}
	}
	if got, err := db.Resolve(t.Context(), "latest", "", childID); err != nil || got != parentID {
		t.Errorf("latest but one: %q %v", got, err)
	}
	_, err := db.Resolve(t.Context(), "019a0000", "", "")
	if am, ok := errors.AsType[*store.AmbiguousError](err); !ok || len(am.IDs) != 2 {
		t.Errorf("ambiguous prefix: %v", err)
	}
	for _, arg := range []string{"short", "ffffffff", "", "%", "/h/nothing.jsonl"} {
		if _, err := db.Resolve(t.Context(), arg, "", ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v", arg, err)
		}
	}
	if _, err := db.Resolve(t.Context(), childID, "/elsewhere", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another workspace: %v", err)
	}
}

func TestDecisionsFollowTheThread(t *testing.T) {
	db, _ := open(t)
	w := decide.Window{Model: "m", Surface: "api", WindowTokens: 40_000, Encoding: "o200k_base", Factor: 1, Exact: true}
	b := script(parentID, parentID, 1, "u:one", "a:two")
	b.Decide = func(t transcript.Thread) []decide.Decision {
		return []decide.Decision{decide.For(w, int(t.Tokens["o200k_base"]), 0, true, decide.Options{})}
	}
	commit(t, db, b)
	ds, err := db.Decisions(t.Context(), parentID, "m")
	if err != nil || len(ds) != 1 {
		t.Fatalf("%v %v", ds, err)
	}
	want := b.Decide(thread(t, db, parentID))[0]
	want.ComputedAt, want.ThroughSeq, want.KeptTokens, want.KeptMessages = ds[0].ComputedAt, 2, 6, 2
	if fmt.Sprint(ds[0]) != fmt.Sprint(want) {
		t.Errorf("stored\n%+v\nwant\n%+v", ds[0], want)
	}
}

func TestFailedCommitMovesNothing(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	b := script(parentID, parentID, 1, "u:again") // the same number twice: refused by the table
	if err := db.Commit(t.Context(), b); err == nil {
		t.Fatal("no error")
	}
	if got := said(t, db, parentID); got != "one" {
		t.Errorf("said %q", got)
	}
	cp, err := db.Rollout(t.Context(), parentID)
	if err != nil || cp.Cursor.Offset != 200 {
		t.Errorf("cursor %+v %v", cp.Cursor, err)
	}
}

func TestChangedTextIsRefused(t *testing.T) {
	db, _ := open(t)
	b := script(parentID, parentID, 1, "u:one")
	b.Counts[0].Hash = (&transcript.Item{Text: "two"}).BodyHash()
	commit(t, db, b)
	_, err := db.Original(t.Context(), parentID[28:], 1, "")
	if _, ok := errors.AsType[*store.ChangedError](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestDamageIsCountedButNotAllNamed(t *testing.T) {
	db, _ := open(t)
	b := script(parentID, parentID, 1, "u:one")
	for i := range 1000 {
		b.Delta.Damage = append(b.Delta.Damage, transcript.Damage{Line: int64(i + 10), Offset: int64(i), Cause: "not-json"})
	}
	commit(t, db, b)
	if got := thread(t, db, parentID).Counts.DamagedLines; got != 1000 {
		t.Errorf("%d damaged lines", got)
	}
	ps, err := db.Problems(t.Context())
	if err != nil || len(ps) != 1 || ps[0].Damaged != 1000 || len(ps[0].Damage) >= 1000 || len(ps[0].Damage) == 0 {
		t.Errorf("%d files, %v", len(ps), err)
	}
}

// What lies in the place of an open cache is not opened beside it.
func TestReplacedCacheIsNotChecked(t *testing.T) {
	db, path := open(t)
	if err := db.Checkpoint(t.Context()); err != nil { // else the other file's pages would be hidden by the WAL's
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".other", []byte(strings.Repeat("not ours\n", 999)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".other", path); err != nil {
		t.Skipf("an open file can't be replaced here: %v", err)
	}
	if err := db.CheckAll(t.Context()); err != nil {
		t.Errorf("looked at: %v", err)
	}
	if !db.Replaced() {
		t.Error("not noticed")
	}
}
