package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/sink/sinktest"
)

// wholeFile tells what is wrong with a file of the drop folder that was not
// written in one piece.
func wholeFile(name string, text []byte) error {
	switch base := filepath.Base(name); {
	case len(text) == 0:
		return errors.New("empty")
	case base == "index.json":
		if !json.Valid(text) {
			return errors.New("no JSON")
		}
		return nil
	case base == "INDEX.md" || base == "README.md":
		if !bytes.HasPrefix(text, []byte("# ")) || !bytes.HasSuffix(text, []byte("\n")) {
			return errors.New("no whole list")
		}
		return nil
	}
	if !sinktest.Proven(text) {
		return fmt.Errorf("%d bytes that don't prove themselves", len(text))
	}
	return nil
}

// each gives the files below a folder, but temporaries.
func each(dir string, f func(path string, d fs.DirEntry)) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // replaced just now
		}
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".tmp") {
			f(path, d)
		}
		return err
	})
}

// A reader that polls every millisecond sees whole files only, while documents
// and lists are renewed.
func TestReadersSeeWholeFiles(t *testing.T) {
	d := newDesk(t, 3+updatesRead/50) // short sessions
	dir := d.e.opt.Config.MemoryDir
	d.run(func() {
		done := make(chan struct{})
		var reading sync.WaitGroup
		var reads, contents atomic.Int64
		reading.Go(func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			last := map[string]string{}
			for {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				err := each(dir, func(path string, _ fs.DirEntry) {
					text, err := os.ReadFile(path)
					if err != nil {
						if !errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "windows" { // held by the rename for a moment
							t.Error(err)
						}
						return
					}
					if err := wholeFile(path, text); err != nil {
						t.Errorf("%s: %v", path, err)
					}
					if reads.Add(1); last[path] != string(text) {
						last[path] = string(text)
						contents.Add(1)
					}
				})
				if err != nil && runtime.GOOS != "windows" {
					t.Error(err)
				}
			}
		})
		for n := range updatesRead {
			i, said := n%len(d.threads), fmt.Sprintf("turn %d %s", n, strings.Repeat("word ", n*37%400))
			d.say(i, said)
			d.pub.hurry(d.threads[i].ThreadID())
			for begun := time.Now(); d.files(fmt.Sprintf("turn %d ", n)) == 0; time.Sleep(5 * time.Millisecond) { // no one tells when a file is there
				if time.Since(begun) > 20*time.Second {
					t.Fatalf("update %d is not written: %+v", n, d.info(dropName))
				}
			}
		}
		time.Sleep(3 * restIndexes) // for the lists
		before := map[string]time.Time{}
		times := func(path string, f fs.DirEntry) {
			if info, err := f.Info(); err == nil {
				before[path] = info.ModTime()
			}
		}
		if err := each(dir, times); err != nil {
			t.Error(err)
		}
		was := fmt.Sprint(before)
		d.pub.rescan()
		time.Sleep(3 * restIndexes)
		if err := each(dir, times); err != nil || fmt.Sprint(before) != was {
			t.Errorf("written without news, %v:\n%s\n%v", err, was, before)
		}
		close(done)
		reading.Wait()
		if contents.Load() < updatesRead || reads.Load() < contents.Load() {
			t.Errorf("%d updates, %d reads of %d contents", updatesRead, reads.Load(), contents.Load())
		}
		t.Logf("%d updates, %d reads of %d contents", updatesRead, reads.Load(), contents.Load())
	})
}

// A file of ours tells a turn within a second of its end; a file of others is
// written once in ten minutes at most, a minute after the last turn.
func TestOwnFilesSoonSharedFilesRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12 * time.Hour)
		d := newDesk(t, 0, sink.Consumers()...)
		w := filepath.Join(d.e.opt.Config.User, "code", "proj")
		if err := os.MkdirAll(filepath.Join(w, ".workbuddy", "memory"), 0o700); err != nil {
			t.Fatal(err)
		}
		d.begin(rollouttest.Options{Cwd: w, Start: time.Now().Add(-time.Hour)})
		shared := filepath.Join(w, ".workbuddy", "memory", "MEMORY.md")
		read := func() string {
			text, err := os.ReadFile(shared)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			return string(text)
		}
		d.run(func() {
			time.Sleep(time.Minute)
			var writes []time.Time
			last := read()
			ended := time.Now() // the last turn
			for minute := range 60 {
				if minute%3 == 0 && minute < 45 { // a turn every three minutes
					d.threads[0].Wait(3 * time.Minute)
					said := fmt.Sprintf("minute %d", minute)
					d.say(0, "It is done.\n\nNext step: look at "+said)
					ended = time.Now()
					time.Sleep(time.Second)
					synctest.Wait()
					if n := d.files(said + " answer"); n != 1 {
						t.Errorf("a second after the turn of minute %d: %d files of ours tell it", minute, n)
					}
					own, _ := filepath.Glob(filepath.Join(w, ".workbuddy", "memory", "codex", "*"+d.threads[0].ThreadID()[28:]+".md"))
					if len(own) != 1 {
						t.Fatalf("documents of the workspace: %q", own)
					}
					if text, err := os.ReadFile(own[0]); err != nil || !strings.Contains(string(text), said+" answer") {
						t.Errorf("%s doesn't tell minute %d, %v", own[0], minute, err)
					}
				}
				for end := time.Now().Truncate(time.Minute).Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
					synctest.Wait()
					if text := read(); text != last {
						if rest := time.Since(ended); rest < time.Minute {
							t.Errorf("minute %d: a shared file is written %v after a turn", minute, rest)
						}
						writes, last = append(writes, time.Now()), text
					}
				}
			}
			for i := 1; i < len(writes); i++ {
				if gap := writes[i].Sub(writes[i-1]); gap < 10*time.Minute-time.Second {
					t.Errorf("a shared file is written again after %v", gap)
				}
			}
			if len(writes) < 4 || !strings.Contains(last, "minute 42") {
				t.Errorf("written at %v, at last\n%s", writes, last)
			}
		})
	})
}
