package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// cupboard is a consumer in memory. It has a place for the folders that the test
// names, keeps a file a thread and one shared file a folder.
type cupboard struct {
	name string
	mode sink.Mode

	mu      sync.Mutex // guards the rest
	absent  bool
	folders map[string]bool
	files   map[string]string // documents by path
	edited  map[string]bool   // paths that somebody edited
	shares  []sink.Sharing    // that were not only looked at
	err     error             // of Share
	problem string
	again   time.Duration
	opened  sink.Choice
}

func newCupboard(name string, mode sink.Mode, folders ...string) *cupboard {
	c := &cupboard{name: name, mode: mode, folders: map[string]bool{}, files: map[string]string{}, edited: map[string]bool{}}
	for _, f := range folders {
		c.folders[f] = true
	}
	return c
}

func (c *cupboard) consumer() sink.Consumer {
	return sink.Consumer{Name: c.name, About: "a cupboard", Mode: c.mode, Open: func(_ sink.Env, said sink.Choice) (sink.Sink, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.absent {
			return nil, fmt.Errorf("open %s: %w", c.name, sink.ErrNoPlace)
		}
		c.opened = said
		return c, nil
	}}
}

func (c *cupboard) Name() string        { return c.name }
func (c *cupboard) Limits() sink.Limits { return sink.Limits{Units: 3000, Bytes: 2000, Bare: true} }

func (c *cupboard) Look(_ context.Context, a sink.Artifact) (sink.Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := sink.Receipt{Sink: c.name, ThreadID: a.ThreadID, State: sink.StateNone}
	if c.folders[a.Cwd] {
		r.Path, r.State = a.Cwd+"/"+a.Name, sink.StateWritten
	}
	return r, nil
}

func (c *cupboard) Put(ctx context.Context, a sink.Artifact) (sink.Receipt, error) {
	r, err := c.Look(ctx, a)
	if err != nil || r.State == sink.StateNone {
		return r, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Last.Path != "" {
		r.Path = a.Last.Path
	}
	if c.edited[r.Path] {
		r.State, r.Hash = sink.StateEdited, a.Last.Hash
		return r, nil
	}
	if c.files[r.Path] == string(a.Data) {
		r.State = sink.StateUnchanged
	}
	c.files[r.Path], r.Hash, r.Size = string(a.Data), "h", int64(len(a.Data))
	return r, nil
}

func (c *cupboard) Remove(_ context.Context, r sink.Receipt) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.edited[r.Path] {
		return sink.ErrEdited
	}
	delete(c.files, r.Path)
	return nil
}

func (c *cupboard) Share(_ context.Context, s sink.Sharing) (out []sink.SharedFile, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.Look {
		if c.err != nil {
			return nil, c.err
		}
		c.shares = append(c.shares, s)
	}
	if s.Workspace == "" {
		return nil, nil
	}
	paths := map[string]bool{}
	for _, x := range s.Sessions {
		if c.folders[x.Cwd] {
			paths[s.Workspace+"/SHARED.md"] = true
		}
	}
	for _, f := range s.Last {
		paths[f.Path] = true
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		f := sink.SharedFile{Path: p, Workspace: s.Workspace, Hash: fmt.Sprint(len(s.Sessions)), Problem: c.problem}
		if c.again > 0 {
			f.Again = s.Now.Add(c.again)
		}
		out = append(out, f)
	}
	return out, nil
}

func (c *cupboard) Unshare(_ context.Context, f sink.SharedFile) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.edited[f.Path] {
		return sink.ErrEdited
	}
	return nil
}

func (c *cupboard) set(f func(*cupboard)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

func (c *cupboard) count() (files, shares int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.files), len(c.shares)
}

func (c *cupboard) choose(d *desk, edit func(*choices.Choice)) {
	d.t.Helper()
	d.choose(func(all *choices.Choices) {
		said := all.Sinks[c.name]
		edit(&said)
		all.Sinks[c.name] = said
	})
}

func (d *desk) choose(edit func(*choices.Choices)) {
	d.t.Helper()
	if err := choices.Change(d.e.opt.Config.Home, func(c *choices.Choices) error { edit(c); return nil }); err != nil {
		d.t.Fatal(err)
	}
}

func enabled(yes bool) func(*choices.Choice) {
	return func(c *choices.Choice) { c.Enabled = &yes }
}

func (d *desk) receipts(name string) (with, without int) {
	d.t.Helper()
	all, err := d.e.db.Receipts(d.t.Context(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range all {
		if r.Name != "" {
			with++
		} else {
			without++
		}
	}
	return with, without
}

func (d *desk) shared(name string) []sink.SharedFile {
	d.t.Helper()
	files, err := shared(d.t.Context(), d.e.db, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return files
}

const proj = "/home/dana/proj"

// A sink is switched on and off beside the running daemon, which takes away what
// it wrote and leaves what somebody edited.
func TestSinksFollowTheChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCupboard("asked", sink.ModeAsked, proj)
		d := newDesk(t, 3, c.consumer())
		d.run(func() {
			is := func(when string, files, receipts, shared int) {
				t.Helper()
				synctest.Wait()
				got, _ := c.count()
				with, _ := d.receipts("asked")
				if s := len(d.shared("asked")); got != files || with != receipts || s != shared {
					t.Errorf("%s: %d files, %d receipts, %d shared; want %d, %d, %d", when, got, with, s, files, receipts, shared)
				}
			}
			time.Sleep(time.Minute)
			is("without a word", 0, 0, 0)
			c.choose(d, enabled(true))
			time.Sleep(2 * time.Minute)
			is("enabled", 3, 3, 1)
			for _, text := range c.files {
				if strings.HasPrefix(text, "---") || len(text) > 2000 {
					t.Errorf("against the limits of the sink, %d bytes:\n%.300s", len(text), text)
				}
			}
			c.set(func(c *cupboard) { c.edited[slices.Sorted(maps.Keys(c.files))[0]] = true })
			c.choose(d, func(c *choices.Choice) { enabled(false)(c); c.Keep = true })
			time.Sleep(time.Minute)
			is("disabled, files kept", 3, 3, 1)
			c.choose(d, enabled(true))
			time.Sleep(time.Minute)
			c.choose(d, func(c *choices.Choice) { enabled(false)(c); c.Keep = false })
			time.Sleep(time.Minute)
			is("disabled", 1, 1, 0)
			for _, i := range d.pub.info() {
				if i.Name == "asked" {
					t.Errorf("it is on still: %+v", i)
				}
			}
			d.say(1, "second")
			time.Sleep(time.Minute)
			is("a turn later", 1, 1, 0)
			c.choose(d, enabled(true))
			time.Sleep(2 * time.Minute)
			is("enabled again", 3, 3, 1)
			if i := d.info("asked"); i.Files != 3 || i.Shared != 1 || i.LastError != "" {
				t.Errorf("said of it: %+v", i)
			}
		})
	})
}

func TestBrokenChoicesLeaveTheLastOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCupboard("asked", sink.ModeAsked, proj)
		d := newDesk(t, 1, c.consumer())
		c.choose(d, enabled(true))
		path := filepath.Join(d.e.opt.Config.Home, choices.Name)
		d.run(func() {
			time.Sleep(time.Minute)
			if err := os.WriteFile(path, []byte("{\"schema\": 1,\n\"sinks\": {,}}"), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			d.say(0, "second")
			time.Sleep(time.Minute)
			said := strings.Join(d.e.troubles.list(), "\n")
			if !strings.Contains(said, path+", line 2") || !strings.Contains(said, "stays in force") {
				t.Errorf("said: %s", said)
			}
			if !strings.Contains(strings.Join(slices.Collect(maps.Values(c.files)), ""), "second") {
				t.Errorf("the sink stands still: %q", c.files)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if d.pub.outlet("asked") != nil || len(d.e.troubles.list()) > 0 {
				t.Errorf("without a file: %v", d.e.troubles.list())
			}
		})
	})
}

// At a start the backup stands in for a broken file.
func TestBrokenChoicesAtTheStart(t *testing.T) {
	home := t.TempDir()
	yes := true
	if err := choices.Change(home, func(c *choices.Choices) error {
		c.Sinks["a"] = choices.Choice{Choice: sink.Choice{Enabled: &yes}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := choices.BackUp(home); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, choices.Name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := choices.BackUp(home); err != nil {
		t.Fatal(err)
	}
	c := chosen{home: home}
	if !c.look() || c.err == nil || c.now.Sinks["a"].Enabled == nil {
		t.Errorf("%+v, %v", c.now, c.err)
	}
	if c.look() {
		t.Error("news of a file that is the same")
	}
}

func TestPlacesThatAppear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, away := newCupboard("found", sink.ModeFound), newCupboard("away", sink.ModeFound, proj)
		away.absent = true
		d := newDesk(t, 2, c.consumer(), away.consumer())
		d.run(func() {
			time.Sleep(time.Minute)
			if with, without := d.receipts("found"); with != 0 || without != 2 {
				t.Errorf("%d and %d receipts", with, without)
			}
			if i := d.info("away"); !i.Absent || i.LastError != "" || i.Waiting != 0 {
				t.Errorf("of a program that isn't here: %+v", i)
			}
			c.set(func(c *cupboard) { c.folders[proj] = true })
			away.set(func(c *cupboard) { c.absent = false })
			time.Sleep(2 * placeEvery)
			for _, k := range []*cupboard{c, away} {
				if files, _ := k.count(); files != 2 || len(d.shared(k.name)) != 1 {
					t.Errorf("%s: %d files, shared %+v", k.name, files, d.shared(k.name))
				}
			}
			if i := d.info("away"); i.Absent || i.Files != 2 {
				t.Errorf("now that it is here: %+v", i)
			}
		})
	})
}

// Shared files wait until a workspace has come to rest.
func TestSharingWaitsForRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCupboard("found", sink.ModeFound, proj)
		d := newDesk(t, 8, c.consumer())
		d.run(func() {
			time.Sleep(2 * time.Minute)
			_, first := c.count()
			d.say(0, "second")
			time.Sleep(50 * time.Second)
			d.say(1, "third")
			time.Sleep(50 * time.Second)
			if _, n := c.count(); n != first {
				t.Errorf("shared %d times within a minute of a turn", n-first)
			}
			time.Sleep(20 * time.Second)
			if _, n := c.count(); n != first+1 {
				t.Fatalf("shared %d times a minute after the last turn", n-first)
			}
			last := c.shares[len(c.shares)-1]
			if last.Workspace != proj || len(last.Sessions) != mostShared || len(last.Last) != 1 || last.Sessions[0].ThreadID != d.threads[1].ThreadID() && last.Sessions[0].ThreadID != d.threads[0].ThreadID() {
				t.Errorf("shared %+v", last)
			}
			x := last.Sessions[0]
			if text, err := x.Document(3000, true); err != nil || !strings.Contains(string(text), "answer") || x.Path == "" || x.Turns != 2 || x.Cwd != proj {
				t.Errorf("%+v, %v\n%s", x, err, text)
			}
			c.set(func(c *cupboard) { c.again, c.problem = 10*time.Minute, "no room" })
			d.say(0, "fourth")
			time.Sleep(2 * time.Minute)
			if i := d.info("found"); len(i.Problems) != 1 || !strings.Contains(i.Problems[0], "SHARED.md: no room") || i.LastError != "" {
				t.Errorf("%+v", i)
			}
			c.set(func(c *cupboard) { c.again, c.problem = 0, "" })
			time.Sleep(10 * time.Minute)
			if _, n := c.count(); n != first+3 || len(d.info("found").Problems) > 0 {
				t.Errorf("shared %d times, %+v", n-first, d.info("found"))
			}
			if f := d.shared("found"); len(f) != 1 || f[0].Hash != "5" || f[0].Problem != "" {
				t.Errorf("kept %+v", f)
			}
		})
	})
}

// The folders of one work tree share the same files: that is done once for all.
func TestWorkTreesShareTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := t.TempDir()
		sub := filepath.Join(top, "a", "b")
		if err := os.MkdirAll(filepath.Join(top, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		c := newCupboard("found", sink.ModeFound, top, sub)
		d := newDesk(t, 0, c.consumer())
		d.begin(rollouttest.Options{Cwd: top})
		d.begin(rollouttest.Options{Cwd: sub})
		d.run(func() {
			time.Sleep(3 * time.Minute)
			if _, n := c.count(); n != 1 || len(c.shares[0].Sessions) != 2 || c.shares[0].Workspace != top {
				t.Errorf("shared %d times: %+v", n, c.shares)
			}
		})
	})
}

func TestSharingThatFailsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := newCupboard("bad", sink.ModeFound, proj), newCupboard("good", sink.ModeFound, proj)
		bad.err = os.ErrPermission
		d := newDesk(t, 1, bad.consumer(), good.consumer())
		d.run(func() {
			time.Sleep(3 * time.Minute)
			if i := d.info("bad"); i.LastError == "" {
				t.Errorf("%+v", i)
			}
			if i := d.info("good"); i.LastError != "" || i.Shared != 1 {
				t.Errorf("%+v", i)
			}
			bad.set(func(c *cupboard) { c.err = nil })
			time.Sleep(2 * lastPause)
			if i := d.info("bad"); i.LastError != "" || i.Shared != 1 || i.Files != 1 {
				t.Errorf("afterwards %+v", i)
			}
		})
	})
}

// Of what is there when a sink is switched on it gets what it would keep, and
// keeps no more later. What was taken away comes back with its thread only.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCupboard("found", sink.ModeFound, proj)
		d := newDesk(t, 0, c.consumer())
		// All but done with: what 60 days take costs the daemon a million beats.
		start := time.Now().Add(-56 * 24 * time.Hour)
		for i := range 34 {
			d.begin(rollouttest.Options{Start: start.Add(time.Duration(i-40) * time.Hour)})
		}
		old := d.begin(rollouttest.Options{Start: start.Add(-14 * 24 * time.Hour)})
		d.choose(func(c *choices.Choices) { c.Pins = []string{d.threads[old].ThreadID()} })
		has := func(i int) bool {
			r, err := d.e.db.Receipt(t.Context(), "found", d.threads[i].ThreadID())
			if err != nil {
				t.Fatal(err)
			}
			return r.Name != ""
		}
		d.run(func() {
			time.Sleep(time.Minute)
			// The pinned one counts.
			if files, _ := c.count(); files != 30 || !has(old) || has(4) || !has(5) {
				t.Errorf("%d files, %t %t %t", files, has(old), has(4), has(5))
			}
			edited, err := d.e.db.Receipt(t.Context(), "found", d.threads[5].ThreadID())
			if err != nil {
				t.Fatal(err)
			}
			c.set(func(c *cupboard) { c.edited[edited.Name] = true })
			d.threads[0].Wait(40 * time.Hour)
			d.say(0, "second")
			time.Sleep(25 * time.Hour)
			if files, _ := c.count(); files != 31 || !has(0) || !has(5) || !has(6) {
				t.Errorf("a day later %d files, %t %t %t", files, has(0), has(5), has(6))
			}
			time.Sleep(24 * time.Hour)
			if files, _ := c.count(); files != 31 {
				t.Errorf("after 59 days %d files", files)
			}
			time.Sleep(72 * time.Hour)
			if files, _ := c.count(); files != 2 || !has(5) || !has(old) {
				t.Errorf("after 62 days %d files, %t %t", files, has(5), has(old))
			}
			d.pub.rescan()
			time.Sleep(time.Minute)
			if files, _ := c.count(); files != 2 {
				t.Errorf("%d files are back", files-2)
			}
			d.threads[7].Wait(62 * 24 * time.Hour)
			d.say(7, "second")
			time.Sleep(time.Minute)
			if !has(7) {
				t.Error("a thread that goes on gets no document")
			}
		})
	})
}

// A run that ends by itself writes to all sinks, and shares what has rested.
func TestOnceWritesToAllSinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, away := newCupboard("found", sink.ModeFound, proj), newCupboard("away", sink.ModeFound)
		away.absent = true
		d := newDesk(t, 1, away.consumer(), c.consumer())
		now := d.begin(rollouttest.Options{Cwd: "/fresh", Start: time.Now().Add(-30 * time.Second)})
		c.folders["/fresh"] = true
		if n, m, _, err := d.e.publishAll(t.Context()); err != nil || n != 2 || m != 2 {
			t.Errorf("%d and %d files, %v", n, m, err)
		}
		if files, shares := c.count(); files != 2 || shares != 1 || c.shares[0].Workspace != proj {
			t.Errorf("%d files, shared %+v", files, c.shares)
		}
		time.Sleep(time.Minute)
		if _, _, _, err := d.e.publishAll(t.Context()); err != nil {
			t.Error(err)
		}
		if f := d.shared("found"); len(f) != 2 {
			t.Errorf("shared %+v", f)
		}
		if !slices.ContainsFunc(c.shares, func(s sink.Sharing) bool { return s.Sessions[0].ThreadID == d.threads[now].ThreadID() }) {
			t.Error("the fresh workspace isn't shared")
		}
		off := func(dirs ...string) {
			c.choose(d, func(c *choices.Choice) { c.Off = dirs })
			if _, _, _, err := d.e.publishAll(t.Context()); err != nil {
				t.Error(err)
			}
		}
		off("/fresh")
		if files, _ := c.count(); files != 1 || len(d.shared("found")) != 1 {
			t.Errorf("off in one workspace: %d files, shared %+v", files, d.shared("found"))
		}
		off()
		if files, _ := c.count(); files != 2 || len(d.shared("found")) != 2 {
			t.Errorf("and on again: %d files, shared %+v", files, d.shared("found"))
		}
		if err := d.e.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
