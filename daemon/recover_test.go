package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

const (
	keptID = "019a0000-0000-7000-8000-000000000201"
	goneID = "019a0000-0000-7000-8000-000000000202"
)

// withGone is a place with a thread of some size, and one whose file is gone,
// that the user gave a name.
func withGone(t *testing.T) (*place, *rollouttest.Rollout) {
	t.Helper()
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: keptID})
	for i := range 200 {
		b.User(fmt.Sprint("question ", i)).Assistant(strings.Repeat("answer ", 40)).End()
	}
	p.write(b, -1)
	g := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: goneID})
	g.User("what is gone").Call("shell", `{"cmd":"ls"}`, "a file").Assistant("is kept").End()
	path := p.write(g, -1)
	names := fmt.Sprintf("{\"id\":%q,\"thread_name\":\"my name\",\"updated_at\":\"2026-09-01T09:00:00Z\"}\n", goneID)
	if err := os.WriteFile(filepath.Join(p.codex(), "session_index.jsonl"), []byte(names), 0o600); err != nil {
		t.Fatal(err)
	}
	p.once()
	for _, path := range []string{path, filepath.Join(p.codex(), "session_index.jsonl")} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	p.once()
	return p, b
}

// over writes bytes over a part of the cache.
func (p *place) over(at int64, text []byte) {
	p.t.Helper()
	f, err := os.OpenFile(p.opt.Config.DB(), os.O_WRONLY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := f.WriteAt(text, at); err != nil {
		p.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) size() int64 {
	p.t.Helper()
	st, err := os.Stat(p.opt.Config.DB())
	if err != nil {
		p.t.Fatal(err)
	}
	return st.Size()
}

// whole looks whether the cache has the gone thread, with its name, text and
// refs, and the other.
func (p *place) whole(b *rollouttest.Rollout) {
	p.t.Helper()
	db := p.reader()
	th, err := db.Thread(p.t.Context(), goneID)
	if err != nil {
		p.t.Fatalf("the thread that is in no file: %v", err)
	}
	if !th.Gone || th.Title != "my name" || th.Turns != 1 || th.Migrated != 4 || th.Tokens["o200k_base"] == 0 {
		p.t.Errorf("the thread that is in no file: %+v", th)
	}
	if got := p.said(db, goneID); !strings.HasPrefix(got, "what is gone||") || !strings.HasSuffix(got, "|is kept") {
		p.t.Errorf("it said %q", got)
	}
	if ds, err := db.Decisions(p.t.Context(), goneID, ""); err != nil || len(ds) == 0 {
		p.t.Errorf("%d decisions, %v", len(ds), err)
	}
	if got := p.said(db, b.ThreadID()); strings.Count(got, "question") != strings.Count(string(b.Bytes()), `"user_message"`) {
		p.t.Errorf("the other thread has %d questions", strings.Count(got, "question"))
	}
	if err := db.Verify(p.t.Context(), goneID); err != nil {
		p.t.Error(err)
	}
}

func TestWhatIsInNoFileSurvivesDamage(t *testing.T) {
	reliability.Fault(t, 44, "pages overwritten in the middle of the file, with a thread in it whose rollout is gone")
	p, b := withGone(t)
	if err := os.RemoveAll(filepath.Join(p.opt.Config.Home, "backups")); err != nil {
		t.Fatal(err)
	}
	// Pages of the long thread: the other's rows can be read.
	text, err := os.ReadFile(p.opt.Config.DB())
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"question 50", "question 100", "question 150"} {
		p.over(int64(bytes.LastIndex(text, []byte(words)))&^4095, bytes.Repeat([]byte("damage! "), 512))
	}
	s, err := daemon.Rebuild(t.Context(), p.opt, nil)
	if err != nil || s.SetAside == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	p.whole(b)
	db := p.reader()
	c, err := daemon.CareOf(t.Context(), db)
	if err != nil || c.Recovered == nil || c.Recovered.Aside != s.SetAside || c.Recovered.Reason == "" || c.Recovered.Kept != 1 {
		t.Errorf("%+v, %v", c.Recovered, err)
	}
	if r, err := pipeline.Rebuilding(t.Context(), db); err != nil || r != nil {
		t.Errorf("still %v, %v", r, err)
	}
	// A second damage: one damaged cache is kept, not more.
	p.over(0, make([]byte, 4096))
	p.once()
	aside, _ := filepath.Glob(filepath.Join(p.opt.Config.Home, "damaged-*"))
	if len(aside) != 1 || aside[0] == s.SetAside {
		t.Errorf("set aside: %q", aside)
	}
}

func TestBackupReplacesWhatCanNotBeRead(t *testing.T) {
	for name, damage := range map[string]func(p *place){
		"header zeroed":     func(p *place) { p.over(0, make([]byte, 4096)) },
		"emptied":           func(p *place) { p.cut(0) },
		"cut short":         func(p *place) { p.cut(6000) },
		"another program's": func(p *place) { p.over(68, []byte{1, 2, 3, 4}) },
		"deleted":           func(p *place) { p.remove("", "-wal", "-shm") },
		"a folder":          func(p *place) { p.remove(""); p.folder() },
	} {
		t.Run(name, func(t *testing.T) {
			p, b := withGone(t)
			stop := p.start() // a daemon backs up at once if that was never done
			p.until("a backup is made", func() bool { return len(p.backups()) == 1 })
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			damage(p)
			p.once()
			if name != "another program's" { // its rows could be read
				c, err := daemon.CareOf(t.Context(), p.reader())
				if err != nil || c.Recovered == nil || c.Recovered.Backup != p.backups()[0] {
					t.Errorf("%+v, %v", c.Recovered, err)
				}
			}
			p.whole(b)
		})
	}
}

func (p *place) backups() []string {
	names, _ := filepath.Glob(filepath.Join(p.opt.Config.Home, "backups", "kept-*.db"))
	return names
}

func (p *place) cut(n int64) {
	p.t.Helper()
	if err := os.Truncate(p.opt.Config.DB(), n); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) remove(suffixes ...string) {
	p.t.Helper()
	for _, s := range suffixes {
		if err := os.Remove(p.opt.Config.DB() + s); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.t.Fatal(err)
		}
	}
}

func (p *place) folder() {
	p.t.Helper()
	if err := os.Mkdir(p.opt.Config.DB(), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

// Damage while a daemon runs: it goes on with a new cache, and what no file
// holds any more is in it.
func TestDamageBelowARunningDaemon(t *testing.T) {
	reliability.Fault(t, 44, "emptied, cut, or zeroed at the front while the daemon runs")
	reliability.Fault(t, 45, "the cache, or only its WAL, is deleted, or another file put in its place")
	for name, damage := range map[string]func(p *place){
		"emptied":     func(p *place) { p.cut(0) },
		"cut in half": func(p *place) { p.cut(p.size() / 2) },
		"header zeroed": func(p *place) {
			p.over(0, make([]byte, 4096))
			// Who asks meets it, and says so.
			db, err := store.OpenReader(p.t.Context(), p.opt.Config.DB())
			if err == nil {
				_ = db.Close()
				p.t.Skip("the newest first page is in the WAL: nothing is damaged")
			}
			if err := daemon.Suspect(p.opt.Config, err); !errors.Is(err, store.ErrDamaged) {
				p.t.Fatal(err)
			}
		},
		"deleted":     func(p *place) { p.remove("", "-wal", "-shm") },
		"WAL deleted": func(p *place) { p.remove("-wal") },
		"replaced": func(p *place) {
			other := p.opt.Config.DB() + ".other"
			if err := os.WriteFile(other, []byte(strings.Repeat("not ours\n", 999)), 0o600); err != nil {
				p.t.Fatal(err)
			}
			if err := os.Rename(other, p.opt.Config.DB()); err != nil {
				p.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, b := withGone(t)
			stop := p.start()
			p.until("a backup is made", func() bool { return len(p.backups()) == 1 })
			damage(p)
			b.User("question, the last").Assistant("the last answer").End()
			p.write(b, -1)
			if name == "replaced" {
				// Another process may look at once. In this one SQLite would take the
				// shared memory of the daemon's cache for that of the other file.
				p.until("it is set aside", func() bool {
					aside, err := filepath.Glob(filepath.Join(p.opt.Config.Home, "damaged-*"))
					return err == nil && len(aside) > 0
				})
			}
			begun := time.Now()
			for {
				if db, err := store.OpenReader(t.Context(), p.opt.Config.DB()); err == nil {
					ms, err := db.Messages(t.Context(), keptID, 0, 0)
					_, gone := db.Thread(t.Context(), goneID)
					_ = db.Close()
					if err == nil && gone == nil && len(ms) == 402 {
						break
					}
				}
				if time.Since(begun) > 40*time.Second {
					t.Fatal("it never comes back whole")
				}
				time.Sleep(20 * time.Millisecond)
			}
			reliability.Figure(t, 9, "%s below a running daemon: whole again after %s", name, time.Since(begun).Round(10*time.Millisecond))
			if err := stop(); err != nil {
				t.Error(err)
			}
			p.whole(b)
		})
	}
}

// While a new cache is filled, it says so.
func TestFillingSaysHowFarItIs(t *testing.T) {
	p := newPlace(t)
	for i := range 40 {
		b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", 300+i)})
		for n := range 40 {
			b.User(fmt.Sprint("question ", n)).Assistant(strings.Repeat("answer ", 20)).End()
		}
		p.write(b, -1)
	}
	var said []string
	p.opt.Progress = func(g daemon.Progress) {
		if g.Phase != daemon.PhaseIngest {
			return
		}
		db, err := store.OpenReader(t.Context(), p.opt.Config.DB())
		if err != nil {
			t.Error(err)
			return
		}
		defer db.Close()
		r, err := pipeline.Rebuilding(t.Context(), db)
		if err != nil || r == nil {
			t.Errorf("%d of %d files, and it says %v, %v", g.FilesDone, g.Files, r, err)
			return
		}
		said = append(said, r.String())
	}
	p.once()
	if len(said) == 0 {
		t.Error("never asked")
	}
	if r, err := pipeline.Rebuilding(t.Context(), p.reader()); err != nil || r != nil {
		t.Errorf("afterwards: %v, %v", r, err)
	}
	said = nil
	p.over(0, make([]byte, 4096))
	p.once()
	if len(said) == 0 {
		t.Error("never asked after damage")
	}
}
