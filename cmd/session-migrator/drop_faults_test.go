//go:build linux && faults

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/sink/sinktest"
)

// whole tells whether a file of the drop folder is one that was written in one
// piece.
func whole(name string, text []byte) error {
	switch {
	case len(text) == 0:
		return errors.New("empty")
	case filepath.Base(name) == "index.json":
		if !json.Valid(text) {
			return errors.New("no JSON")
		}
		return nil
	case filepath.Base(name) == "INDEX.md" || filepath.Base(name) == "README.md":
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

func TestFaultReadersOfTheDropFolder(t *testing.T) {
	const (
		reads   = 100_000
		threads = 6
	)
	reliability.Fault(t, 5, "the daemon killed with -9 again and again while sessions grow, with readers on every file of the drop folder")
	p := newProcess(t)
	drop := filepath.Join(p.data, "memory")
	logs := make([]*rollouttest.Rollout, threads)
	for i := range logs {
		logs[i] = talk(i, 2, 400)
		p.write(logs[i])
	}
	done := make(chan struct{})
	var n, changed atomic.Int64
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			last := map[string]string{}
			for n.Load() < reads {
				files, _ := filepath.Glob(filepath.Join(drop, "projects", "*", "*.md"))
				lists, _ := filepath.Glob(filepath.Join(drop, "*.*"))
				for _, f := range append(files, lists...) {
					if strings.HasSuffix(f, ".tmp") {
						continue
					}
					text, err := os.ReadFile(f)
					if errors.Is(err, fs.ErrNotExist) {
						continue
					}
					if err == nil {
						err = whole(f, text)
					}
					if err != nil {
						t.Errorf("%s: %v", f, err)
						return
					}
					n.Add(1)
					if sum := fmt.Sprint(sha256.Sum256(text)); last[f] != sum {
						last[f] = sum
						changed.Add(1)
					}
				}
			}
		})
	}
	running.Go(func() { // Codex
		for round := 0; ; round++ {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			b := logs[round%threads]
			b.User(fmt.Sprint("question ", round)).Assistant(fmt.Sprint("answer ", round, strings.Repeat(" word", rand.N(2000)))).End()
			p.write(b)
		}
	})
	kills := 0
	for end := time.Now().Add(3 * time.Minute); n.Load() < reads && time.Now().Before(end) && !t.Failed(); kills++ {
		p.start("run")
		time.Sleep(300*time.Millisecond + rand.N(1500*time.Millisecond)) // any moment will do
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait() // killed
	}
	close(done)
	p.start("run")
	n.Add(reads) // enough
	running.Wait()
	p.until("all is quiet", 30*time.Second, func() bool { return p.still(drop) })
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.output("run", "--once") // what the stop left to do
	before := looks(t, drop)
	p.start("run")
	p.until("it runs", 20*time.Second, p.running)
	time.Sleep(2 * time.Second) // for what it might write
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if after := looks(t, drop); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("written again:\n%v\n%v", before, after)
	}
	reliability.Figure(t, 15, "%d reads during %d kills, of %d different contents: none short, empty or mixed; unchanged files keep their time; modes 0600 and 0700", n.Load()-reads, kills, changed.Load())
}

// still tells whether nothing in a folder changes for a second.
func (p *process) still(dir string) bool {
	before := fmt.Sprint(looks(p.t, dir))
	time.Sleep(time.Second)
	return before == fmt.Sprint(looks(p.t, dir))
}

// looks gives the times of all files of a folder, and fails for rights that
// others have.
func looks(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	out := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if !d.IsDir() && !strings.HasSuffix(path, ".tmp") {
			out[path] = info.ModTime()
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return out
}
