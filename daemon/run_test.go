package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// place is a Codex home and a data folder.
type place struct {
	t   *testing.T
	opt daemon.Options
}

func newPlace(t *testing.T) *place {
	t.Helper()
	home, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	return &place{t: t, opt: daemon.Options{Version: "test", Config: config.Config{
		Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory"),
	}}}
}

func (p *place) codex() string { return p.opt.Config.CodexHomes[0] }

// rollout gives the path of a rollout that a builder names.
func (p *place) write(b *rollouttest.Rollout, n int) string {
	p.t.Helper()
	path := filepath.Join(p.codex(), filepath.FromSlash(b.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	text := b.Bytes()
	if n < 0 {
		n = len(text)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := f.Write(text[st.Size():n]); err != nil {
		p.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// start runs a daemon and gives what ends it.
func (p *place) start() (stop func() error) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	ready := make(chan struct{})
	var once sync.Once // a run that heals its cache gets ready twice
	opt := p.opt
	opt.Progress = func(g daemon.Progress) {
		if g.Phase == daemon.PhaseWatch {
			once.Do(func() { close(ready) })
		}
	}
	go func() { done <- daemon.Run(ctx, opt) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		p.t.Fatalf("the daemon ended: %v", err)
	case <-time.After(20 * time.Second):
		p.t.Fatal("the daemon doesn't get ready")
	}
	return func() error { cancel(); return <-done }
}

// until polls: what is waited for happens in another goroutine and tells
// nobody but the disk.
func (p *place) until(what string, f func() bool) time.Duration {
	p.t.Helper()
	begun := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if f() {
			return time.Since(begun)
		}
		if time.Since(begun) > 10*time.Second {
			p.t.Fatalf("never: %s", what)
		}
	}
	return 0
}

func (p *place) reader() *store.DB {
	p.t.Helper()
	db, err := store.OpenReader(p.t.Context(), p.opt.Config.DB())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (p *place) said(db *store.DB, thread string) string {
	p.t.Helper()
	ms, err := db.Messages(p.t.Context(), thread, 0, 0)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		p.t.Fatal(err)
	}
	var parts []string
	for _, m := range ms {
		parts = append(parts, m.Text)
	}
	return strings.Join(parts, "|")
}

func (p *place) memory() (files []string, text string) {
	files, _ = filepath.Glob(filepath.Join(p.opt.Config.MemoryDir, "projects", "*", "2*.md"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			p.t.Fatal(err)
		}
		text += string(b)
	}
	return files, text
}

func TestLiveAppendsAreCommittedAndPublished(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	b.User("first question").Assistant("first answer").End()
	p.write(b, -1)
	stop := p.start()
	db := p.reader()
	if got := p.said(db, b.ThreadID()); got != "first question|first answer" {
		t.Fatalf("after backfill: %q", got)
	}
	b.User("second question").Assistant("second answer").End()
	p.write(b, -1)
	took := p.until("the second answer is queryable", func() bool { return strings.HasSuffix(p.said(db, b.ThreadID()), "second answer") })
	t.Logf("queryable after %v", took)
	took = p.until("the memory file tells it", func() bool { _, text := p.memory(); return strings.Contains(text, "second answer") })
	t.Logf("published after %v", took)
	info, err := daemon.Inspect(p.opt.Config)
	if err != nil || !info.Running || info.PID != os.Getpid() {
		t.Errorf("info %+v, %v", info, err)
	}
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if info, err = daemon.Inspect(p.opt.Config); err != nil || info.Running {
		t.Errorf("after the stop: %+v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(p.opt.Config.MemoryDir, "INDEX.md")); err != nil {
		t.Error(err)
	}
}

func TestUnchangedContentIsNotRewritten(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	p.write(b, -1)
	s, err := daemon.Once(t.Context(), p.opt)
	if err != nil || s.Written != 1 || s.Threads != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	files, _ := p.memory()
	before, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if before.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", before.Mode())
	}
	if s, err = daemon.Rebuild(t.Context(), p.opt, nil); err != nil || s.Written != 0 || s.Items != 2 {
		t.Errorf("a rebuild wrote %d files of %d items, %v", s.Written, s.Items, err)
	}
	after, err := os.Stat(files[0])
	if err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("rewritten: %v, %v, %v", before.ModTime(), after.ModTime(), err)
	}
	if s, err = daemon.Once(t.Context(), p.opt); err != nil || s.Lines != 0 {
		t.Errorf("nothing new, but %d lines read, %v", s.Lines, err)
	}
}

func TestSecondDaemonGivesWay(t *testing.T) {
	reliability.Fault(t, 47, "a second daemon is started on the same data folder")
	p := newPlace(t)
	stop := p.start()
	if most := p.second(20); most > 2*time.Second {
		t.Errorf("took up to %v", most)
	}
	if err := daemon.CatchUp(t.Context(), p.opt); err != nil {
		t.Errorf("a command beside the daemon: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := daemon.CatchUp(t.Context(), p.opt); err != nil {
		t.Errorf("after the daemon: %v", err)
	}
}

// second starts daemons where one runs, and gives how long the slowest took to
// give way.
func (p *place) second(times int) (most time.Duration) {
	p.t.Helper()
	for range times {
		begun := time.Now()
		err := daemon.Run(p.t.Context(), p.opt)
		most = max(most, time.Since(begun))
		locked, ok := errors.AsType[*daemon.LockedError](err)
		if !ok || locked.PID != os.Getpid() || !locked.Daemon {
			p.t.Fatalf("got %v", err)
		}
	}
	return most
}

// Who deletes the lock file opens no way in, and finds it again soon.
func TestDeletedLockFileLetsNoSecondDaemonIn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file can't be deleted on windows")
	}
	reliability.Fault(t, 45, "the lock file, then its whole folder, deleted while the daemon runs; a second one started at once")
	p := newPlace(t)
	stop := p.start()
	lock := filepath.Join(p.opt.Config.Run(), "daemon.lock")
	for name, remove := range map[string]func(string) error{"file": os.Remove, "folder": func(f string) error { return os.RemoveAll(filepath.Dir(f)) }} {
		t.Run(name, func(t *testing.T) {
			if err := remove(lock); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			err := daemon.Run(ctx, p.opt)
			if _, ok := errors.AsType[*daemon.LockedError](err); !ok {
				t.Fatalf("a second daemon got %v", err)
			}
			if i, err := daemon.Inspect(p.opt.Config); err != nil || !i.Running {
				t.Errorf("said of the daemon: %+v, %v", i, err)
			}
			p.until("the lock file is there again", func() bool { _, err := os.Stat(lock); return err == nil })
			p.until("it says again who it is", func() bool {
				i, err := daemon.Inspect(p.opt.Config)
				return err == nil && i.PID == os.Getpid() && len(i.Sinks) > 0
			})
		})
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Asking how the daemon is must not keep one from starting.
func TestAskingKeepsNoDaemonFromStarting(t *testing.T) {
	p := newPlace(t)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := daemon.Inspect(p.opt.Config); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 10 {
		if err := p.start()(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	asking.Wait()
}

// The WAL's end is lost after a memory file was written, and the session has
// another title since: the file is newer than the cache that comes back.
func TestMemoryFileNewerThanTheCache(t *testing.T) {
	reliability.Fault(t, 8, "the cache put back as it was before the newest memory files were written; one of them edited meanwhile")
	p := newPlace(t)
	var threads []*rollouttest.Rollout
	for i := range 3 {
		b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)})
		b.User(fmt.Sprintf("question %d", i)).Assistant("answer").End()
		threads = append(threads, b)
	}
	p.write(threads[0], -1)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(p.opt.Config.DB())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range threads {
		b.User("later question").Assistant("later answer").End()
		p.write(b, -1)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	files, before := p.memory()
	if err := os.WriteFile(files[2], []byte(p.text(files[2])+"my note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(p.opt.Config.DB() + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.opt.Config.DB(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	index := fmt.Sprintf(`{"id":%q,"thread_name":"Another title","updated_at":"2026-09-01T09:00:00Z"}`+"\n", threads[1].ThreadID())
	if err := os.WriteFile(filepath.Join(p.codex(), "session_index.jsonl"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	now, after := p.memory()
	if !slices.Equal(now, files) {
		t.Errorf("files\n%s\nwant\n%s", strings.Join(now, "\n"), strings.Join(files, "\n"))
	}
	if !strings.Contains(after, "Another title") || strings.Contains(before, "Another title") || strings.Count(after, "later answer") < 3 || !strings.HasSuffix(after, "my note\n") {
		t.Errorf("the files say\n%s", after)
	}
	threads[2].User("last question").Assistant("last answer").End()
	p.write(threads[2], -1)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	if got := p.text(files[2]); !strings.HasSuffix(got, "my note\n") || strings.Contains(got, "last answer") {
		t.Errorf("the edited file was written:\n%s", got)
	}
}

func (p *place) text(file string) string {
	p.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func TestDamagedCacheIsSetAsideAndRebuilt(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"header zeroed": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(make([]byte, 4096), 0)
			return errors.Join(err, f.Close())
		},
		"cut in half": func(path string) error {
			st, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, st.Size()/2)
		},
		"another program's": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("not ours\n", 999)), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
			for i := range 200 {
				b.User(fmt.Sprint("question ", i)).Assistant(strings.Repeat("answer ", 20)).End()
			}
			p.write(b, -1)
			if _, err := daemon.Once(t.Context(), p.opt); err != nil {
				t.Fatal(err)
			}
			if err := damage(p.opt.Config.DB()); err != nil {
				t.Fatal(err)
			}
			// A cut may leave pages that look whole: only a writer that didn't
			// end by itself is followed by a check.
			s, err := daemon.Once(t.Context(), p.opt)
			if err != nil || s.Threads != 1 || s.Items != 400 || s.SetAside == "" {
				t.Fatalf("%+v, %v", s, err)
			}
			if _, err := os.Stat(filepath.Join(s.SetAside, "session-migrator.db")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMissingHomeIsNoEmptySuccess(t *testing.T) {
	p := newPlace(t)
	p.opt.Config.CodexHomes = []string{filepath.Join(p.codex(), "nowhere")}
	if _, err := daemon.Once(t.Context(), p.opt); !errors.Is(err, daemon.ErrNoHome) {
		t.Errorf("got %v", err)
	}
}

func TestDeletedRolloutKeepsItsThread(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	path := p.write(b, -1)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	db := p.reader()
	th, err := db.Thread(t.Context(), b.ThreadID())
	if err != nil || !th.Gone {
		t.Errorf("thread %+v, %v", th, err)
	}
	if got := p.said(db, b.ThreadID()); got != "question|answer" {
		t.Errorf("said %q", got)
	}
	if files, _ := p.memory(); len(files) != 1 {
		t.Errorf("%d memory files", len(files))
	}
}

func TestUnreadableFileStopsNothingElse(t *testing.T) {
	p := newPlace(t)
	good := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	good.User("question").Assistant("answer").End()
	p.write(good, -1)
	bad := filepath.Join(p.codex(), "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-019a0000-0000-7000-8000-0000000000ff.jsonl.zst")
	if err := os.MkdirAll(filepath.Dir(bad), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("no compressed data at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := daemon.Once(t.Context(), p.opt)
	if err != nil || s.Items != 2 || len(s.NotFullyRead) != 1 || s.NotFullyRead[0].Path != bad {
		t.Errorf("%+v, %v", s, err)
	}
	problems, err := p.reader().Problems(t.Context())
	if err != nil || len(problems) != 1 || problems[0].Path != bad || problems[0].Reason == "" {
		t.Errorf("problems %+v, %v", problems, err)
	}
}

func TestCopiesAreNoFailure(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	path := p.write(b, -1)
	// Both forms stand side by side while Codex turns one into the other.
	if err := os.WriteFile(path+".zst", []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := daemon.Once(t.Context(), p.opt)
	if err != nil || s.Items != 2 || len(s.NotFullyRead) != 0 || len(s.Copies) != 1 || s.Copies[0].Path != path+".zst" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCacheTakenAwayIsMadeAnew(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	p.write(b, -1)
	stop := p.start()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(p.opt.Config.DB() + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	b.User("second question").Assistant("second answer").End()
	p.write(b, -1)
	p.until("the cache is there again, with everything", func() bool {
		db, err := store.OpenReader(t.Context(), p.opt.Config.DB())
		if err != nil {
			return false
		}
		defer db.Close()
		return p.said(db, b.ThreadID()) == "question|answer|second question|second answer"
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestDamageInTheMiddleIsFoundByRebuild(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	for i := range 300 {
		b.User(fmt.Sprint("question ", i)).Assistant(strings.Repeat("answer ", 100)).End()
	}
	p.write(b, -1)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(p.opt.Config.DB(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte("damage! "), int(st.Size()/16)), st.Size()/4&^4095); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := daemon.Rebuild(t.Context(), p.opt, nil)
	if err != nil || s.Items != 600 || s.SetAside == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = daemon.Once(t.Context(), p.opt); err != nil || s.SetAside != "" || s.Lines != 0 {
		t.Errorf("once more: %+v, %v", s, err)
	}
}

func TestMovedDropFolderIsFilled(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	p.write(b, -1)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	p.opt.Config.MemoryDir = filepath.Join(t.TempDir(), "elsewhere")
	s, err := daemon.Once(t.Context(), p.opt)
	if files, _ := p.memory(); err != nil || s.Written != 1 || len(files) != 1 {
		t.Errorf("%d files, %+v, %v", len(files), s, err)
	}
	// One file that the user deletes stays away until there is something new.
	files, _ := p.memory()
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if s, err = daemon.Once(t.Context(), p.opt); err != nil || s.Written != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestEditedFileIsLeftAlone(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	p.write(b, -1)
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	files, text := p.memory()
	if err := os.WriteFile(files[0], []byte(text+"my own note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"second", "third"} {
		b.User(n + " question").Assistant(n + " answer").End()
		p.write(b, -1)
		if _, err := daemon.Once(t.Context(), p.opt); err != nil {
			t.Fatal(err)
		}
	}
	if _, now := p.memory(); now != text+"my own note\n" {
		t.Errorf("the file was touched:\n%s", now)
	}
	index, err := os.ReadFile(filepath.Join(p.opt.Config.MemoryDir, "index.json"))
	if err != nil || !strings.Contains(string(index), `"turns": 3`) {
		t.Errorf("the index is old: %s, %v", index, err)
	}
}

// An edited file that is deleted is a deleted file: it leaves the lists, and
// comes back with the thread's next turn.
func TestEditedFileThatIsDeletedComesBack(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{})
	b.User("question").Assistant("answer").End()
	p.write(b, -1)
	p.once()
	files, text := p.memory()
	if err := os.WriteFile(files[0], []byte(text+"my own note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.User("second question").Assistant("second answer").End()
	p.write(b, -1)
	p.once()
	lists := func() string {
		var all string
		for _, pattern := range []string{"INDEX.md", "index.json", filepath.Join("projects", "*", "INDEX.md")} {
			names, _ := filepath.Glob(filepath.Join(p.opt.Config.MemoryDir, pattern))
			for _, name := range names {
				all += p.text(name)
			}
		}
		return all
	}
	name := filepath.Base(files[0])
	if n := strings.Count(lists(), name); n < 3 {
		t.Fatalf("named %d times:\n%s", n, lists())
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	p.once()
	if strings.Contains(lists(), name) {
		t.Errorf("a dead link:\n%s", lists())
	}
	b.User("third question").Assistant("third answer").End()
	p.write(b, -1)
	p.once()
	if now, text := p.memory(); len(now) != 1 || now[0] != files[0] || !strings.Contains(text, "third answer") || !strings.Contains(lists(), name) {
		t.Errorf("%v\n%s\n%s", now, text, lists())
	}
	b.User("fourth question").Assistant("fourth answer").End()
	p.write(b, -1)
	p.once()
	if _, text := p.memory(); !strings.Contains(text, "fourth answer") {
		t.Errorf("it is not renewed:\n%s", text)
	}
}
