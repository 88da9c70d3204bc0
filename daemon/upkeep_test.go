package daemon

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

func TestDue(t *testing.T) {
	now := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		last time.Time
		want bool
	}{
		{time.Time{}, true},
		{now, false},
		{now.Add(-23 * time.Hour), false},
		{now.Add(-24 * time.Hour), true},
		{now.AddDate(-10, 0, 0), true},
		{now.Add(30 * time.Minute), false}, // summer time doesn't move the clock, but a correction may
		{now.AddDate(10, 0, 0), true},      // set back
	} {
		if got := due(c.last, now); got != c.want {
			t.Errorf("last at %v: %v", c.last, got)
		}
	}
	for n := range 10_000 {
		if s := share(n); s*50 < n {
			t.Fatalf("%d of %d a day: more than 50 days", s, n)
		}
	}
}

// keeper is an engine with some rollouts, whose clock a test sets.
type keeper struct {
	*engine
	t     *testing.T
	clock time.Time
	log   bytes.Buffer
}

func newKeeper(t *testing.T, home, data string) *keeper {
	t.Helper()
	k := &keeper{t: t, clock: time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)}
	e, err := start(t.Context(), Options{Log: slog.New(slog.NewTextHandler(&k.log, nil)), Config: config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}}, roleCommand)
	if err != nil {
		t.Fatal(err)
	}
	k.engine = e
	e.now, e.quiet = func() time.Time { return k.clock }, time.Millisecond
	l, err := e.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.catchUp(t.Context(), l, newTally(nil)); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *keeper) end() {
	k.t.Helper()
	if err := k.close(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

// day lets the daemon look after the cache a day later.
func (k *keeper) day() Care {
	k.t.Helper()
	k.clock = k.clock.Add(25 * time.Hour)
	return k.look()
}

func (k *keeper) look() Care {
	k.t.Helper()
	if err := errors.Join(k.lookAfter(k.t.Context()), k.checkDaily(k.t.Context())); err != nil {
		k.t.Fatal(err)
	}
	c, err := CareOf(k.t.Context(), k.db)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// rollouts writes so many threads to a new home.
func rollouts(t *testing.T, n int) (home string, paths []string) {
	t.Helper()
	home = t.TempDir()
	for i := range n {
		b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", 400+i)})
		b.User(fmt.Sprint("question ", i)).Assistant(fmt.Sprint("answer ", i)).End()
		path := filepath.Join(home, filepath.FromSlash(b.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return home, paths
}

// change edits the cache behind the back of the program.
func (k *keeper) change(query string) {
	k.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+k.db.Path())
	if err != nil {
		k.t.Fatal(err)
	}
	defer db.Close()
	r, err := db.ExecContext(k.t.Context(), query)
	if err != nil {
		k.t.Fatal(err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		k.t.Fatalf("%s changed %d rows, %v", query, n, err)
	}
}

func TestEachDayAShareIsChecked(t *testing.T) {
	home, _ := rollouts(t, 12)
	data := filepath.Join(t.TempDir(), "data")
	k := newKeeper(t, home, data)
	k.change("UPDATE item SET tok_o200k=tok_o200k+1 WHERE text LIKE 'answer %'")
	var checked int
	for range 3 {
		c := k.day()
		if c.Check.Checked != share(12) || c.Check.Of != 12 {
			t.Errorf("checked %+v", c.Check)
		}
		checked += c.Check.Checked
	}
	reliability.Figure(t, 10, "12 rollouts with a changed value: all found and repaired in 3 days of %d; of 10,000 rollouts %d are checked a day, all within 50", share(12), share(10_000))
	if c := k.look(); c.Check.Repairs != 12 || len(c.Check.Found) != maxFound || c.Check.Found[0].Path == "" {
		t.Errorf("after %d checks: %d repairs, %d of them named", checked, c.Check.Repairs, len(c.Check.Found))
	}
	k.end()
	// A restart doesn't begin the day anew, a clock that was set back does, once.
	at := k.clock
	k = newKeeper(t, home, data)
	k.clock = at.Add(time.Hour)
	if c := k.look(); !c.Check.At.Equal(at) {
		t.Errorf("checked again at %v, not only at %v", c.Check.At, at)
	}
	k.clock = at.AddDate(-10, 0, 0)
	if c := k.look(); !c.Check.At.Equal(k.clock) {
		t.Errorf("clock set back to %v, checked at %v", k.clock, c.Check.At)
	}
	k.clock = k.clock.Add(time.Minute)
	if c := k.look(); c.Check.At.Equal(k.clock) {
		t.Error("checked again a minute later")
	}
	k.end()
}

func TestBackupsAreMadeWhenSomethingChanged(t *testing.T) {
	home, paths := rollouts(t, 9)
	data := filepath.Join(t.TempDir(), "data")
	k := newKeeper(t, home, data)
	defer func() { k.end() }()
	if c := k.look(); c.Backup == nil || c.Backup.Path != "" {
		t.Errorf("nothing is irreplaceable, but %+v", c.Backup)
	}
	all := func() []string {
		names, _ := filepath.Glob(filepath.Join(data, "backups", "*"))
		return names
	}
	for i, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		cp, err := k.db.Rollout(t.Context(), fmt.Sprintf("019a0000-0000-7000-8000-%012d", 400+i))
		if err != nil {
			t.Fatal(err)
		}
		if err := k.pipe.Gone(t.Context(), cp.File); err != nil {
			t.Fatal(err)
		}
		before := len(all())
		first := k.day()
		if n := len(all()); first.Backup.Path == "" || n != min(before+1, 7) {
			t.Fatalf("day %d: %q after %d, %+v", i, all(), before, first.Backup)
		}
		if second := k.day(); second.Backup.Path != first.Backup.Path || second.Backup.At.Equal(first.Backup.At) {
			t.Errorf("a day without changes: %+v after %+v", second.Backup, first.Backup)
		}
		// The copies are all of today: here they get the day they would have.
		names := all()
		newest := names[len(names)-1]
		if err := os.Rename(newest, newest[:strings.LastIndex(newest, "-")]+k.clock.Format("-20060102T150405.db")); err != nil {
			t.Fatal(err)
		}
	}
	names := all()
	st, err := os.Stat(names[len(names)-1])
	if err != nil || st.Mode().Perm() != 0o600 || !strings.Contains(names[0], "kept-000003-") {
		t.Errorf("%q, mode %v, %v", names, st.Mode(), err)
	}
	// What is in no file any more is in the newest one.
	db, err := store.OpenReader(t.Context(), names[len(names)-1])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if ids, err := db.ThreadIDs(t.Context()); err != nil || len(ids) != len(paths) {
		t.Errorf("%d threads, %v", len(ids), err)
	}
}

func TestThreadThatSomeoneMetIsRepairedSoon(t *testing.T) {
	home, _ := rollouts(t, 9)
	k := newKeeper(t, home, filepath.Join(t.TempDir(), "data"))
	defer k.end()
	k.day()
	k.change("UPDATE item SET text='other' WHERE text='answer 8'")
	const id = "019a0000-0000-7000-8000-000000000408"
	v, err := k.pipe.View(t.Context(), id)
	if err != nil || !v.Fresh.Rederived {
		t.Fatalf("%+v, %v", v.Fresh, err)
	}
	askScrub(k.opt.Config, "../../elsewhere")
	if c := k.look(); c.Check.Repairs != 1 || !strings.Contains(c.Check.Found[0].Path, id) {
		t.Errorf("%+v", c.Check)
	}
	if v, err = k.pipe.View(t.Context(), id); err != nil || v.Fresh.Rederived {
		t.Errorf("afterwards: %+v, %v", v.Fresh, err)
	}
	if names, err := os.ReadDir(scrubDir(k.opt.Config)); err != nil || len(names) != 0 {
		t.Errorf("%d left to be checked, %v", len(names), err)
	}
}

func TestHeldViewIsTold(t *testing.T) {
	reliability.Fault(t, 47, "a reader holds a transaction open until the WAL is over 64 MiB")
	home, _ := rollouts(t, 1)
	k := newKeeper(t, home, filepath.Join(t.TempDir(), "data"))
	defer k.end()
	other, err := sql.Open("sqlite3", "file:"+k.db.Path()+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM item").Scan(&n); err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		if err := k.db.SetMeta(t.Context(), "filler", strings.Repeat(string(rune('a'+i%26)), 1<<20)); err != nil {
			t.Fatalf("writing stops at %d MiB: %v", i, err)
		}
		k.watchWAL()
	}
	if l := k.troubles.list(); len(l) != 1 || !strings.Contains(l[0], "old view") {
		t.Errorf("told: %q of a WAL of %d bytes", l, k.db.WALSize())
	}
	if n := strings.Count(k.log.String(), "old view"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := k.db.Checkpoint(t.Context()); err != nil {
		t.Error(err)
	}
	k.watchWAL()
	if l := k.troubles.list(); len(l) != 0 || k.db.WALSize() != 0 {
		t.Errorf("afterwards: %q, a WAL of %d bytes", l, k.db.WALSize())
	}
}

// A cache that is lost again and again doesn't push the daily backups out.
func TestHealingMakesNoBackupOfWhatIsBackedUp(t *testing.T) {
	home, paths := rollouts(t, 3)
	data := filepath.Join(t.TempDir(), "data")
	k := newKeeper(t, home, data)
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	cp, err := k.db.Rollout(t.Context(), "019a0000-0000-7000-8000-000000000400")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.pipe.Gone(t.Context(), cp.File); err != nil {
		t.Fatal(err)
	}
	if err := k.db.SaveReceipt(t.Context(), store.Receipt{Sink: dropName, ThreadID: cp.ThreadID, Name: "projects/a/b.md", Hash: "h", Managed: true}); err != nil {
		t.Fatal(err)
	}
	first := k.look().Backup
	if first.Path == "" {
		t.Fatal("no backup")
	}
	for _, lose := range []func(db string) error{
		os.Remove,
		func(db string) error { return os.WriteFile(db, []byte(strings.Repeat("no database ", 1000)), 0o600) },
		func(db string) error { return os.Truncate(db, 5000) },
	} {
		k.end()
		for _, suffix := range []string{"-wal", "-shm"} {
			if err := os.Remove(k.db.Path() + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := lose(k.db.Path()); err != nil {
			t.Fatal(err)
		}
		k = newKeeper(t, home, data)
		if now := k.look().Backup; now == nil || now.Path != first.Path {
			t.Errorf("backups after a heal: %+v, before %+v", now, first)
		}
		if left, _ := filepath.Glob(filepath.Join(data, "backups", "*")); len(left) != 1 || left[0] != first.Path {
			t.Errorf("in backups: %q", left)
		}
	}
	k.end()
}
