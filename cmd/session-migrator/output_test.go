package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/store"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"}, {number(-1000), "-1,000"}, {number(-999), "-999"},
		{size(0), "0 B"}, {size(999), "999 B"}, {size(1000), "1.0 kB"}, {size(1_500_000), "1.5 MB"}, {size(2_340_000_000), "2.34 GB"},
		{plural(1, "file"), "1 file"}, {plural(0, "file"), "0 files"}, {plural(int64(2000), "file"), "2,000 files"},
		{took(1500 * time.Microsecond), "2ms"}, {took(1234 * time.Millisecond), "1.2s"}, {took(90*time.Second + 400*time.Millisecond), "1m30s"},
		{joined(nil), "none"}, {joined([]string{"a"}), "a"}, {joined([]string{"a", "b", "c"}), "a, b and c"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for want, ago := range map[string]time.Duration{
		"now": 59 * time.Second, "1m": time.Minute, "59m": 59 * time.Minute, "47h": 47 * time.Hour, "2d": 48 * time.Hour, "364d": 364 * 24 * time.Hour, "1y": 400 * 24 * time.Hour,
	} {
		if got := age(now, now.Add(-ago)); got != want {
			t.Errorf("age of %s = %q, want %q", ago, got, want)
		}
	}
	if got := age(now, time.Time{}); got != "-" {
		t.Errorf("age of no time = %q", got)
	}
	if got := age(now, now.Add(time.Hour)); got != "now" {
		t.Errorf("age of a time to come = %q", got)
	}
}

func TestCleanLeavesNothingThatSteersATerminal(t *testing.T) {
	hostile := "a\x1b[2Jb\x07c\u202ed\re\x9bf\x00g"
	for _, lines := range []bool{false, true} {
		got := clean(hostile+"\n\tend", lines)
		if strings.ContainsAny(got, "\x1b\x07\x00\r\u202e") {
			t.Errorf("clean(%t) leaves %q", lines, got)
		}
		if strings.Contains(got, "\x9b") {
			t.Errorf("clean(%t) leaves a C1 control: %q", lines, got)
		}
		if strings.Contains(got, "\n") != lines {
			t.Errorf("clean(%t) = %q: wrong about lines", lines, got)
		}
	}
	if got := clean("äö 你好 🙂 plain", false); got != "äö 你好 🙂 plain" {
		t.Errorf("clean changes harmless text: %q", got)
	}
}

func TestFitCountsColumns(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"你好世界", 8, "你好世界"}, {"你好世界", 7, "你好世…"}, {"你好世界", 6, "你好…"}, {"👩‍💻👩‍💻👩‍💻", 5, "👩‍💻👩‍💻…"},
	} {
		if got := fit(c.text, c.columns); got != c.want {
			t.Errorf("fit(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestTableLinesUp(t *testing.T) {
	a := &app{env: func(string) string { return "" }}
	var b bytes.Buffer
	tb := table{head: []string{"NAME", "N", "TEXT"}, right: []bool{false, true}}
	tb.add("你好", "5", "x")
	tb.add("abcdef", "1,000", "y")
	if err := tb.print(a, &b); err != nil {
		t.Fatal(err)
	}
	want := "NAME        N  TEXT\n你好        5  x\nabcdef  1,000  y\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"": {}, "30m": now.Add(-30 * time.Minute), "12h": now.Add(-12 * time.Hour), "7d": now.AddDate(0, 0, -7), "2w": now.AddDate(0, 0, -14),
		"2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), "2026-11-01T10:00:00+02:00": time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := parseSince(in, now); err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"7", "d", "-3d", "7 d", "yesterday", "2026-13-01"} {
		if _, err := parseSince(in, now); err == nil {
			t.Errorf("parseSince(%q) gives no error", in)
		} else if code, _ := classify(err); code != exitUsage {
			t.Errorf("parseSince(%q): exit code %d", in, code)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int
		hint bool
	}{
		{"no cache", fmt.Errorf("open: %w", store.ErrNone), exitNoCache, true},
		{"no cache, in the words of a home", noHome([]string{"/h"}, store.ErrNone), exitNoCache, true},
		{"no home", noHome([]string{"/h"}, errors.New("nothing to read")), exitFailed, true},
		{"locked", fmt.Errorf("start: %w", &daemon.LockedError{PID: 7, Daemon: true}), exitLocked, true},
		{"busy", fmt.Errorf("read: %w", store.ErrBusy), exitLocked, true},
		{"not found", fmt.Errorf("find: %w", store.ErrNotFound), exitNotFound, true},
		{"ambiguous", fmt.Errorf("find: %w", &store.AmbiguousError{Arg: "a"}), exitNotFound, true},
		{"newer", &store.NewerError{Schema: 9, Known: 1}, exitFailed, true},
		{"damaged", store.ErrDamaged, exitFailed, true},
		{"foreign", store.ErrForeign, exitFailed, true},
		{"full", store.ErrFull, exitFailed, true},
		{"usage", hinted(usagef("--limit is %d", -1), "give more"), exitUsage, true},
		{"partly", partlyError{"1 file could not be read"}, exitPartly, false},
		{"other", fs.ErrPermission, exitFailed, false},
	} {
		var out bytes.Buffer
		a := &app{err: &out, env: func(string) string { return "" }}
		if got := a.report(t.Context(), c.err); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
		if !strings.HasPrefix(out.String(), "error: ") || strings.Contains(out.String(), "\nhint: ") != c.hint {
			t.Errorf("%s: printed %q (hint wanted: %t)", c.name, out.String(), c.hint)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out bytes.Buffer
	a := &app{err: &out, env: func(string) string { return "" }}
	if got := a.report(ctx, fmt.Errorf("read: %w", ctx.Err())); got != exitInterrupted {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
	if got := a.report(ctx, nil); got != exitDone {
		t.Errorf("a command that was done in time gives %d", got)
	}
}

func TestProgressInLines(t *testing.T) {
	var out bytes.Buffer
	p := &progress{err: &out, lineAt: lineEvery}
	p.tell(daemon.Progress{Phase: daemon.PhaseIngest, Files: 4, Bytes: 400_000_000, BytesDone: 1, Elapsed: time.Second})
	if out.Len() > 0 {
		t.Errorf("short work is not silent: %q", out.String())
	}
	p.tell(daemon.Progress{Phase: daemon.PhaseIngest, Files: 4, FilesDone: 1, Bytes: 400_000_000, BytesDone: 100_000_000, Elapsed: 10 * time.Second})
	p.tell(daemon.Progress{Phase: daemon.PhaseIngest, Files: 4, FilesDone: 1, Bytes: 400_000_000, BytesDone: 110_000_000, Elapsed: 11 * time.Second})
	p.done()
	p.tell(daemon.Progress{Phase: daemon.PhaseIngest, Files: 4, FilesDone: 4, Bytes: 400_000_000, BytesDone: 400_000_000, Elapsed: time.Minute})
	want := "read 100.0 MB of 400.0 MB in 1 of 4 files, 10.0 MB/s, about 30s left\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestSampleIsSmall(t *testing.T) {
	const most = 60 << 10
	var sum int64
	err := fs.WalkDir(sample, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			sum += i.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum == 0 || sum > most {
		t.Errorf("the sample has %d bytes, want at most %d", sum, most)
	}
}
