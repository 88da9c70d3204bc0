package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store/disk"
)

// shelf is a sink in memory whose errors the test decides on.
type shelf struct {
	mu    sync.Mutex // guards the rest
	err   error
	tries int
	texts map[string]string
}

func (s *shelf) Name() string        { return "shelf" }
func (s *shelf) Limits() sink.Limits { return sink.Limits{} }

func (s *shelf) Put(_ context.Context, a sink.Artifact) (sink.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.err != nil {
		return sink.Receipt{}, fmt.Errorf("put: %w", s.err)
	}
	s.texts[a.ThreadID] = string(a.Data)
	return sink.Receipt{Sink: s.Name(), ThreadID: a.ThreadID, Path: a.Name, Hash: "h", Size: int64(len(a.Data)), State: sink.StateWritten}, nil
}

func (s *shelf) Remove(context.Context, sink.Receipt) error { return nil }

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *shelf) tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

func (s *shelf) has(thread, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.texts[thread], text)
}

// desk is an engine with a cache of a few threads, and two sinks.
type desk struct {
	t       *testing.T
	e       *engine
	pub     *publisher
	shelf   *shelf
	threads []*rollouttest.Rollout
}

func newDesk(t *testing.T, n int, consumers ...sink.Consumer) *desk {
	home, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	e, err := start(t.Context(), Options{Log: slog.New(slog.DiscardHandler), Config: config.Config{
		Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory"), User: filepath.Dir(data),
	}, consumers: consumers, usage: func(string) (disk.Usage, error) { return disk.Usage{}, errors.ErrUnsupported }}, roleDaemon)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, e: e, shelf: &shelf{texts: map[string]string{}}}
	for range n {
		d.begin(rollouttest.Options{})
	}
	if d.pub, err = newPublisher(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	d.pub.outlets = append(d.pub.outlets, d.pub.newOutlet("shelf", func(context.Context) (sink.Sink, error) { return d.shelf, nil }))
	return d
}

// begin begins a thread, with a first turn.
func (d *desk) begin(o rollouttest.Options) (i int) {
	i = len(d.threads)
	o.ThreadID = fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)
	d.threads = append(d.threads, rollouttest.New(rollouttest.Paginated, o))
	d.say(i, "first")
	return i
}

// say adds a turn to a thread and takes it in.
func (d *desk) say(i int, text string) {
	d.t.Helper()
	b := d.threads[i]
	b.User(text + " question").Assistant(text + " answer").End()
	path := filepath.Join(d.e.opt.Config.CodexHomes[0], filepath.FromSlash(b.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		d.t.Fatal(err)
	}
	l, err := d.e.list(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	tally := newTally(nil)
	if err := d.e.catchUp(d.t.Context(), l, tally); err != nil {
		d.t.Fatal(err)
	}
	if d.pub != nil {
		for id := range tally.changed {
			d.pub.changed(id, true)
		}
	}
}

// run runs the publisher during f.
func (d *desk) run(f func()) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.pub.run(ctx); err != nil {
			d.t.Error(err)
		}
	})
	d.pub.rescan()
	f()
	cancel()
	running.Wait()
	if err := d.e.close(d.t.Context()); err != nil {
		d.t.Error(err)
	}
}

func (d *desk) info(name string) SinkInfo {
	for _, i := range d.pub.info() {
		if i.Name == name {
			return i
		}
	}
	d.t.Fatalf("no sink %s", name)
	return SinkInfo{}
}

func (d *desk) files(text string) (n int) {
	names, _ := filepath.Glob(filepath.Join(d.e.opt.Config.MemoryDir, "projects", "*", "2*.md"))
	for _, f := range names {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) {
			n++
		}
	}
	return n
}

func TestSinkThatCannotWriteHoldsUpNoOther(t *testing.T) {
	for name, cause := range map[string]error{"full": syscall.ENOSPC, "over quota": syscall.EDQUOT, "read-only": syscall.EROFS, "no right": syscall.EACCES} {
		t.Run(name, func(t *testing.T) {
			if disk.Full(cause) {
				reliability.Fault(t, 13, "one of two sinks answers every write with "+cause.Error())
			}
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, 5)
				d.shelf.fail(cause)
				d.run(func() {
					time.Sleep(2 * time.Second)
					if n := d.files("first answer"); n != 5 {
						t.Errorf("the other sink has %d files", n)
					}
					failed := d.info("shelf")
					if !strings.Contains(failed.LastError, cause.Error()) || failed.Waiting != 5 || failed.NextTry.IsZero() || failed.Since.IsZero() {
						t.Errorf("said of the sink: %+v", failed)
					}
					if other := d.info("drop"); other.LastError != "" || other.Files != 5 {
						t.Errorf("said of the other: %+v", other)
					}
					d.say(2, "second")
					time.Sleep(10 * time.Minute)
					if n := d.files("second answer"); n != 1 {
						t.Error("the other sink stands still")
					}
					if n := d.shelf.tried(); n > 10*60/4*3 {
						t.Errorf("%d tries in 10 minutes", n)
					}
					// What a pause holds up is kept ready all the same.
					rev, err := d.e.db.Rev(t.Context(), d.threads[2].ThreadID())
					d.pub.mu.Lock()
					packed := d.pub.packed[d.threads[2].ThreadID()]
					d.pub.mu.Unlock()
					if err != nil || packed != rev {
						t.Errorf("selections of revision %d, want %d, %v", packed, rev, err)
					}
					d.shelf.fail(nil)
					most := lastPause
					if disk.Full(cause) {
						most = 5 * time.Second
					}
					time.Sleep(most + time.Second)
					for i, b := range d.threads {
						want := "first answer"
						if i == 2 {
							want = "second answer"
						}
						if !d.shelf.has(b.ThreadID(), want) {
							t.Errorf("thread %d is not there %v after the sink could write again", i, most)
						}
					}
					if now := d.info("shelf"); now.LastError != "" || now.Waiting != 0 || now.Files != 5 || !now.NextTry.IsZero() {
						t.Errorf("said afterwards: %+v", now)
					}
				})
			})
		})
	}
}

// A drop folder that is deleted, moved or laid open while the daemon runs.
func TestDropFolderChangesUnderTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 3)
		dir := d.e.opt.Config.MemoryDir
		d.run(func() {
			time.Sleep(2 * time.Second)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			d.say(0, "second")
			time.Sleep(5 * time.Second)
			if n, all := d.files("second answer"), d.files("first"); n != 1 || all != 3 {
				t.Errorf("after the folder was deleted: %d of 3 files, %d current; %+v", all, n, d.info("drop"))
			}
			moved := dir + "-elsewhere"
			if err := os.Rename(dir, moved); err != nil {
				t.Fatal(err)
			}
			d.say(1, "third")
			time.Sleep(5 * time.Second)
			if n, all := d.files("third answer"), d.files("first"); n != 1 || all != 3 {
				t.Errorf("after the folder was moved: %d of 3 files, %d current; %+v", all, n, d.info("drop"))
			}
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			d.say(2, "fourth")
			time.Sleep(5 * time.Second)
			if got := d.info("drop"); d.files("fourth answer") != 0 || !strings.Contains(got.LastError, "other users may write to it") {
				t.Errorf("open to others: %+v", got)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lastPause + time.Second)
			if got := d.info("drop"); d.files("fourth answer") != 1 || got.LastError != "" {
				t.Errorf("closed again: %+v", got)
			}
		})
	})
}

// However much happens while a sink is slow, there is one note a thread.
func TestNotesAreBounded(t *testing.T) {
	d := newDesk(t, 2)
	for range 100_000 {
		d.pub.changed(d.threads[0].ThreadID(), true)
		d.pub.changed(d.threads[1].ThreadID(), false)
	}
	for _, o := range d.pub.outlets {
		if len(o.notes) != 2 || len(o.wake) != 1 {
			t.Errorf("%s holds %d notes", o.name, len(o.notes))
		}
	}
	d.run(func() {})
}

// Nobody expects a secret in what is said of a sink, be it of a folder's name.
func TestWhatIsSaidOfASinkHasNoSecret(t *testing.T) {
	token := "gh" + "p_" + strings.Repeat("a1B2c3D4e5F6", 3)
	d := newDesk(t, 0)
	o := d.pub.outlets[0]
	o.lastErr = "open /srv/" + token + ": no room"
	o.told = []sink.SharedFile{{Path: "/srv/" + token + "/AGENTS.md", Problem: "left alone: a marker", Note: token + " is exposed"}}
	if i := d.info(o.name); strings.Contains(fmt.Sprint(i), token) || len(i.Problems) != 2 || !strings.Contains(i.Problems[0], "AGENTS.md: left alone") {
		t.Errorf("%+v", i)
	}
	d.run(func() {})
}
