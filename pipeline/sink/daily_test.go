package sink_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// at is the time in the machine's zone, which is ahead of UTC.
func at(d *desk, clock string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", "2031-02-11 "+clock, d.env.Zone)
	if err != nil {
		panic(err)
	}
	return t
}

// An entry that has to wait tells what is so when it is written, not when its
// state began.
func TestEntryTellsTheNewestAnswer(t *testing.T) {
	d := workbuddyDesk(t)
	log := d.log("2031-02-11")
	d.now = at(d, "09:30")
	put(t, "# 2031-02-11\n", log)
	if err := os.Chtimes(log, d.now, d.now); err != nil {
		t.Fatal(err)
	}
	s := d.session(0xb7d20e63)
	s.State, s.Updated, s.Turns, s.Result, s.Next = transcript.StateAnswered, at(d, "09:00"), 1, "the first answer", "tag it"
	if f := d.share(0, log, s); f.Again.IsZero() || has(t, log, "b7d20e63") {
		t.Fatalf("%+v", f)
	}
	s.Turns, s.Updated, s.Result, s.Next = 2, at(d, "09:29"), "the second answer", ""
	d.share(time.Minute, log, s)
	got := read(t, log)
	if !strings.Contains(got, "b7d20e63@t2 ") || !strings.Contains(got, "- Result: the second answer\n") || strings.Contains(got, "first") || strings.Contains(got, "tag it") {
		t.Error(got)
	}
	// Later turns of the same state are told in the document and in MEMORY.md.
	s.Turns, s.Updated, s.Result = 3, at(d, "09:31"), "the third answer"
	d.share(time.Hour, log, s)
	if read(t, log) != got {
		t.Error(read(t, log))
	}
}

func TestDailyLog(t *testing.T) {
	d := workbuddyDesk(t)
	log := d.log("2031-02-11")
	d.now = at(d, "09:30")
	s := d.session(0xb7d20e63)
	s.Title, s.State, s.Updated = "freeze golden invoices", transcript.StateInterrupted, at(d, "00:26")
	s.Did, s.Result, s.Open = []string{"page.go (+50 −30)", "@evil <x>"}, "font is 1.9", "3 steps"
	f := d.share(0, log, s)
	first := "# 2031-02-11\n\n<!-- session-migrator:entry b7d20e63@t4 -->\n## 00:26 Codex: freeze golden invoices (interrupted)\n" +
		"- Did: page.go (+50 −30); @ evil &lt;x>\n- Result: font is 1.9\n- Open: 3 steps\n"
	if got := read(t, log); got != first || f.Entries[s.ThreadID] != "interrupted" || !f.Ours {
		t.Errorf("%+v\n%s", f, got)
	}
	// Further turns that change nothing are not told, nor a running one.
	s.Turns, s.Updated = 5, at(d, "10:00")
	d.share(time.Hour, log, s)
	s.Turns, s.State = 6, transcript.StateRunning
	d.share(time.Hour, log, s)
	if got := read(t, log); got != first {
		t.Errorf("a turn of the same state: %s", got)
	}
	// Another state is, and what others wrote meanwhile stays.
	put(t, first+"\n## 10:10 mine\n- x", log)
	s.State, s.Updated, s.Did, s.Open = transcript.StateAnswered, at(d, "12:00"), nil, ""
	f = d.share(time.Hour, log, s)
	second := first + "\n## 10:10 mine\n- x\n\n<!-- session-migrator:entry b7d20e63@t6 -->\n## 12:00 Codex: freeze golden invoices (answered)\n- Result: font is 1.9\n"
	if got := read(t, log); got != second || f.Ours {
		t.Errorf("%+v\n%s", f, got)
	}
	// A lost record tells nothing twice, nor what may have been told.
	d.last, s.Turns = nil, 7
	if f = d.share(time.Hour, log, s); f.Entries[s.ThreadID] != "answered" || read(t, log) != second {
		t.Errorf("%+v\n%s", f, read(t, log))
	}
	// Entries are a record: they stay when sharing ends.
	if err := d.open(t, "workbuddy", d.c).(sink.Sharer).Unshare(t.Context(), f); err != nil || read(t, log) != second {
		t.Errorf("%v\n%s", err, read(t, log))
	}
}

func TestDailyLogWritesRarely(t *testing.T) {
	d := workbuddyDesk(t)
	log := d.log("2031-02-11")
	d.now = at(d, "09:30")
	d.share(0, log, d.session(1))
	if f := d.share(9*time.Minute, log, d.session(2), d.session(1)); !f.Again.Equal(at(d, "09:40")) || has(t, log, "00000002") {
		t.Errorf("%+v", f)
	}
	if f := d.share(time.Minute, log, d.session(2), d.session(1)); !f.Again.IsZero() || !has(t, log, "00000002") {
		t.Errorf("%+v", f)
	}
	if err := os.Chtimes(log, d.now, d.now); err != nil {
		t.Fatal(err)
	}
	d.last = nil
	if f := d.share(time.Second, log, d.session(3)); f.Again.IsZero() || has(t, log, "00000003") {
		t.Errorf("within 5 s: %+v", f)
	}
}

// A log is begun for today alone; one that is gone stays gone.
func TestDailyLogOfOtherDays(t *testing.T) {
	d := workbuddyDesk(t)
	d.now = at(d, "09:30")
	yesterday, today := d.log("2031-02-10"), d.log("2031-02-11")
	s := d.session(1)
	s.Updated = d.now.Add(-24 * time.Hour)
	d.share(0, yesterday, s)
	if _, err := os.Stat(yesterday); !os.IsNotExist(err) {
		t.Errorf("a log was begun for yesterday: %v", err)
	}
	put(t, "# 2031-02-10\n", yesterday)
	if d.share(time.Minute, yesterday, s); !has(t, yesterday, "00000001") {
		t.Error("yesterday's log has no entry")
	}
	before := d.log("2031-02-09")
	put(t, "# 2031-02-09\n", before)
	s.Updated = d.now.Add(-48 * time.Hour)
	if d.share(time.Minute, before, s); has(t, before, "00000001") {
		t.Error("an entry for a day long over")
	}

	// Deleted within the day: what was told is not told again.
	d.share(time.Minute, today, d.session(2))
	if err := os.Remove(today); err != nil {
		t.Fatal(err)
	}
	d.share(time.Hour, today, d.session(2))
	if _, err := os.Stat(today); !os.IsNotExist(err) {
		t.Errorf("made again without anything new: %v", err)
	}
	if d.share(time.Hour, today, d.session(3), d.session(2)); !has(t, today, "00000003") || has(t, today, "00000002") {
		t.Errorf("now:\n%s", read(t, today))
	}
	// A file that we made and nobody wrote to goes with us.
	unshare := func() {
		t.Helper()
		for _, f := range d.last {
			if err := d.open(t, "workbuddy", d.c).(sink.Sharer).Unshare(t.Context(), f); err != nil {
				t.Error(err)
			}
		}
	}
	ours := read(t, today)
	put(t, ours+"\n## mine\n", today)
	if unshare(); read(t, today) != ours+"\n## mine\n" {
		t.Errorf("with somebody else's lines:\n%s", read(t, today))
	}
	put(t, ours, today)
	unshare()
	if _, err := os.Stat(today); !os.IsNotExist(err) || !strings.Contains(read(t, yesterday), "00000001") {
		t.Errorf("after that: %v", err)
	}
}
