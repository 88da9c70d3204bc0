//go:build linux && faults

package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store"
)

// readerEnv makes the tests below be processes of their own: the path of the
// cache, and what to do with it.
const readerEnv = "SESSION_MIGRATOR_TEST_READER"

// measured is what a reading process tells.
type measured struct {
	Queries, Busy int
	Point, List   []time.Duration // sorted
	Failed        string
}

// TestReaderProcess is such a process; by itself it does nothing.
func TestReaderProcess(t *testing.T) {
	path, what, ok := strings.Cut(os.Getenv(readerEnv), "\n")
	if !ok {
		t.Skip("started by other tests")
	}
	ctx := context.Background()
	if what == "hold" {
		hold(t, path)
		fmt.Println("holding")
		select {}
	}
	db, err := store.OpenReader(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var m measured
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); m.Queries++ {
		begun := time.Now()
		_, err := db.Rev(ctx, parentID)
		m.Point = append(m.Point, time.Since(begun))
		if err == nil && m.Queries%5 == 0 {
			begun = time.Now()
			_, err = db.Thread(ctx, parentID)
			m.List = append(m.List, time.Since(begun))
		}
		switch {
		case errors.Is(err, store.ErrBusy):
			m.Busy++
		case err != nil:
			m.Failed = err.Error()
		}
		time.Sleep(2 * time.Millisecond) // as fast as no agent asks
	}
	slices.Sort(m.Point)
	slices.Sort(m.List)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("measured %s\n", text)
}

// reader starts a process and gives what it prints, line by line.
func reader(t *testing.T, path, what string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReaderProcess$")
	c.Env = append(os.Environ(), readerEnv+"="+path+"\n"+what, reliability.DirEnv+"=")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	return c, lines
}

func TestFaultReadersAtFullWritingSpeed(t *testing.T) {
	db, path := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	const processes = 8
	var all []*exec.Cmd
	var told []*bufio.Scanner
	for range processes {
		c, lines := reader(t, path, "query")
		all, told = append(all, c), append(told, lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan int)
	go func() {
		n := 0
		for seq := int64(2); ctx.Err() == nil; n++ {
			var lines []string
			for i := range 50 {
				lines = append(lines, fmt.Sprint("a:an answer of some words, number ", seq+int64(i)))
			}
			if err := db.Commit(t.Context(), script(parentID, parentID, seq, lines...)); err != nil {
				t.Error(err)
				break
			}
			seq += 50
		}
		written <- n
	}()
	var point, list []time.Duration
	queries, busy := 0, 0
	for i, lines := range told {
		var m measured
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "measured "); ok {
				if err := json.Unmarshal([]byte(text), &m); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := all[i].Wait(); err != nil || m.Queries == 0 || m.Failed != "" {
			t.Errorf("reader %d: %d queries, %s, %v", i, m.Queries, m.Failed, err)
		}
		point, list = append(point, m.Point...), append(list, m.List...)
		queries, busy = queries+m.Queries, busy+m.Busy
	}
	cancel()
	commits := <-written
	if busy > 0 {
		t.Errorf("%d of %d queries were refused", busy, queries)
	}
	slices.Sort(point)
	slices.Sort(list)
	at := func(d []time.Duration, part float64) time.Duration {
		return d[int(part*float64(len(d)-1))].Round(10 * time.Microsecond)
	}
	if p := at(point, 0.99); p > time.Second {
		t.Errorf("a point query takes %v at the 99th percentile", p)
	}
	reliability.Figure(t, 11, "%d processes, %d queries beside %d commits of 50 items in 5 s: %d refused; a point query takes %s, %s at the 99th percentile; a thread %s, %s",
		processes, queries, commits, busy, at(point, 0.5), at(point, 0.99), at(list, 0.5), at(list, 0.99))
}

func TestFaultReaderKilledInARead(t *testing.T) {
	reliability.Fault(t, 47, "a reader process is killed -9 with its transaction open")
	db, path := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	c, lines := reader(t, path, "hold")
	for lines.Scan() && lines.Text() != "holding" {
	}
	commit(t, db, script(parentID, parentID, 2, "a:"+strings.Repeat("x", 100_000)))
	if err := db.Checkpoint(t.Context()); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while it reads: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	commit(t, db, script(parentID, parentID, 3, "a:three"))
	if err := db.Checkpoint(t.Context()); err != nil || db.WALSize() != 0 {
		t.Errorf("after its end: %v, a WAL of %d bytes", err, db.WALSize())
	}
}

// The WAL grows while a view is held, at the speed of live work, and is short
// again after.
func TestFaultViewHeldAtLiveSpeed(t *testing.T) {
	reliability.Fault(t, 47, "a reader process holds a transaction open for 10 s while lines come in")
	db, path := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one"))
	c, lines := reader(t, path, "hold")
	for lines.Scan() && lines.Text() != "holding" {
	}
	const held = 10 * time.Second
	tick := time.NewTicker(50 * time.Millisecond) // 20 commits a second: more than agents write
	defer tick.Stop()
	n := int64(0)
	for begun := time.Now(); time.Since(begun) < held; n++ {
		commit(t, db, script(parentID, parentID, 2+3*n, "a:"+strings.Repeat("x", 500), "c:{}", "r:"+strings.Repeat("y", 4000)))
		<-tick.C
	}
	size := db.WALSize()
	if size*6 > store.WALAlarm {
		t.Errorf("a WAL of %d bytes after %v: over the alarm within a minute", size, held)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if err := db.Checkpoint(t.Context()); err != nil || db.WALSize() != 0 {
		t.Errorf("afterwards: %v, %d bytes", err, db.WALSize())
	}
	reliability.Figure(t, 11, "a view held for %s beside %d commits: a WAL of %.1f MiB, %.0f MiB in 60 s; then empty again", held, n, float64(size)/(1<<20), 6*float64(size)/(1<<20))
}
