//go:build linux && faults

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// mountEnv tells the test binary that it may mount as it likes.
const mountEnv = "SESSION_MIGRATOR_TEST_MOUNTS"

// mounts runs the test once more in a namespace with mounts of its own. There
// it is true; outside, when the other has ended, false.
func mounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(mountEnv) != "" {
		return true
	}
	how := []string{"-m", "--propagation", "private"}
	if os.Geteuid() != 0 {
		how = append(how, "-U", "-r")
	}
	if out, err := exec.Command("unshare", append(how, "mount", "-t", "tmpfs", "tmpfs", t.TempDir())...).CombinedOutput(); err != nil {
		t.Skipf("no namespace to mount in: %v %s", err, out)
	}
	c := exec.Command("unshare", append(how, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")...)
	c.Env = append(os.Environ(), mountEnv+"=1")
	out, err := c.CombinedOutput()
	t.Logf("in a namespace of its own:\n%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

func tmpfs(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, "mount", "-t", "tmpfs", "-o", "mode=700,size="+size, "tmpfs", dir)
	t.Cleanup(func() { run(t, "umount", "-l", dir) })
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// has tells whether all threads are in the cache with the text as their last.
func (p *process) has(text string, threads ...*rollouttest.Rollout) bool {
	db, err := store.OpenReader(p.t.Context(), filepath.Join(p.data, "session-migrator.db"))
	if err != nil {
		return false
	}
	defer db.Close()
	for _, b := range threads {
		ms, err := db.Messages(p.t.Context(), b.ThreadID(), 0, 0)
		if err != nil || len(ms) == 0 || !strings.Contains(ms[len(ms)-1].Text, text) {
			return false
		}
	}
	return true
}

// temporaries are files of ours that should not be there, below a folder.
func temporaries(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// asked lets commands and an MCP server answer, which must go on whatever the
// disk is like.
func (p *process) asked(id string) {
	p.t.Helper()
	if out, err := p.command("sessions", "--json").Output(); err != nil || !strings.Contains(string(out), id) {
		p.t.Errorf("sessions: %v\n%s", err, out)
	}
	c := p.command("mcp")
	c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_sessions","arguments":{"workspace":"all"}}}
`)
	if out, err := c.Output(); err != nil || !strings.Contains(string(out), id) {
		p.t.Errorf("mcp: %v\n%s", err, out)
	}
}

// alive fails if the daemon ended, and gives how often it said something.
func (p *process) alive(said string) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		p.t.Fatalf("the daemon ended: %v\n%s", err, p.err.String())
	}
	return strings.Count(p.err.String(), said)
}

func TestFaultDiskOfTheCacheFull(t *testing.T) {
	if !mounts(t) {
		return
	}
	reliability.Fault(t, 12, "the data folder on a tmpfs of 1100 KiB that the first read fills; then remounted larger")
	p := newProcess(t)
	tmpfs(t, p.data, "1100k")
	first := talk(0, 2, 100)
	p.write(first)
	p.start("run")
	p.until("the first session is read", 20*time.Second, func() bool { return p.has("", first) })
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.err.String())
	}
	// What comes now doesn't fit: the next run meets that in its first read.
	var threads []*rollouttest.Rollout
	for i := range 12 {
		b := talk(i+1, 30, 2000)
		b.User("the end").Assistant("answer at the end").End()
		threads = append(threads, b)
		p.write(b)
	}
	p.start("run")
	p.until("intake waits", 30*time.Second, func() bool { return p.alive("intake waits") > 0 })
	time.Sleep(3 * time.Second) // to see that nothing more happens
	p.asked(first.ThreadID())
	status := p.output("status")
	if !strings.Contains(status, "nothing new is taken in since") {
		t.Errorf("status says nothing of it:\n%s", status)
	}
	if n := p.alive("intake waits"); n != 1 {
		t.Errorf("said %d times:\n%s", n, p.err.String())
	}
	if left := temporaries(t, p.data); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	run(t, "mount", "-o", "remount,size=64m", p.data)
	took := p.until("all is read", 30*time.Second, func() bool { return p.has("answer at the end", threads...) })
	p.until("all is written", 30*time.Second, func() bool {
		files, _ := filepath.Glob(filepath.Join(p.data, "memory", "projects", "*", "2*.md"))
		return len(files) == len(threads)+1
	})
	reliability.Figure(t, 8, "disk of the cache full in the first read: answers went on, all 12 sessions taken in %s after there was room", took.Round(10*time.Millisecond))
	if code, took := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after %v\n%s", code, took, p.err.String())
	}
	if c := p.clean(); c != "yes" {
		t.Errorf("not closed: %q", c)
	}
}

// A stop while the disk is full is a stop all the same.
func TestFaultStopOnAFullDisk(t *testing.T) {
	if !mounts(t) {
		return
	}
	reliability.Fault(t, 12, "told to stop while the disk of the cache is full")
	p := newProcess(t)
	tmpfs(t, p.data, "1100k")
	p.write(talk(0, 2, 100))
	for i := range 12 {
		p.write(talk(i+1, 30, 2000))
	}
	var most time.Duration
	for range 5 {
		p.start("run")
		p.until("intake waits", 30*time.Second, func() bool { return p.alive("waits") > 0 || p.alive("can't be written") > 0 })
		code, took := p.stop(syscall.SIGTERM)
		most = max(most, took)
		if code != 0 || took > 5*time.Second {
			t.Errorf("exit code %d after %v\n%s", code, took, p.err.String())
		}
	}
	_ = os.WriteFile(filepath.Join(p.data, "filler"), make([]byte, 2<<20), 0o600) // as much as there is room for
	for _, command := range []string{"status", "doctor"} {
		if said := p.output(command); !strings.Contains(said, "only 0 kB are free where "+p.data+" lies, and intake leaves 110 kB") {
			t.Errorf("%s without a daemon says nothing of the disk:\n%s", command, said)
		}
	}
	reliability.Figure(t, 20, "5 stops on a full disk: at most %s", most.Round(time.Millisecond))
}

func TestFaultDiskOfTheDropFolderFull(t *testing.T) {
	if !mounts(t) {
		return
	}
	reliability.Fault(t, 13, "the drop folder on a tmpfs that another file fills, while sessions go on; then that file is deleted")
	p, drop := dropElsewhere(t, "2m")
	b := talk(1, 3, 500)
	p.write(b)
	p.start("run")
	file := p.document()
	if err := os.WriteFile(filepath.Join(drop, "filler"), make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the drop folder isn't full")
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b.User("and now?").Assistant("the newest answer").End()
	begun := time.Now()
	p.write(b)
	p.until("the cache has it", 10*time.Second, func() bool { return p.has("the newest answer", b) })
	t.Logf("in the cache after %v", time.Since(begun))
	p.until("the sink waits", 20*time.Second, func() bool { return p.alive("a sink can't be written") > 0 })
	time.Sleep(5 * time.Second)
	if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
		t.Errorf("the old file is not whole, %v", err)
	}
	if left := temporaries(t, drop); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	status := p.output("status")
	if !strings.Contains(status, "no space left on device (for ") || !strings.Contains(status, "next try in") {
		t.Errorf("status:\n%s", status)
	}
	if n := p.alive("a sink can't be written"); n != 1 {
		t.Errorf("said %d times:\n%s", n, p.err.String())
	}
	if err := os.Remove(filepath.Join(drop, "filler")); err != nil {
		t.Fatal(err)
	}
	took := p.until("the file is renewed", 30*time.Second, func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "the newest answer")
	})
	reliability.Figure(t, 8, "disk of the drop folder full: the cache went on, the file was renewed %s after there was room", took.Round(10*time.Millisecond))
	if code, took := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after %v", code, took)
	}
}

// dropElsewhere is a process whose drop folder is a file system of its own.
func dropElsewhere(t *testing.T, size string) (*process, string) {
	t.Helper()
	p := newProcess(t)
	drop := filepath.Join(t.TempDir(), "drop")
	tmpfs(t, drop, size)
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.data, "config.toml"), fmt.Appendf(nil, "[memory]\ndir = %q\n", drop), 0o600); err != nil {
		t.Fatal(err)
	}
	return p, drop
}

// document waits for the only memory file and gives its path.
func (p *process) document() (file string) {
	p.t.Helper()
	p.until("there is a memory file", 20*time.Second, func() bool {
		for _, dir := range []string{p.data + "/memory", p.data + "/../../*/drop"} {
			if files, _ := filepath.Glob(filepath.Join(dir, "projects", "*", "2*.md")); len(files) == 1 {
				file = files[0]
				return true
			}
		}
		return false
	})
	return file
}

func TestFaultReadOnly(t *testing.T) {
	if !mounts(t) {
		return
	}
	reliability.Fault(t, 14, "the drop folder remounted read-only while a session goes on, then writable again; a whole data folder read-only under commands and an MCP server")
	p, drop := dropElsewhere(t, "4m")
	b := talk(1, 3, 500)
	p.write(b)
	p.start("run")
	file := p.document()
	p.until("the lists are written", 10*time.Second, func() bool { return exists(filepath.Join(drop, "index.json")) })
	run(t, "mount", "-o", "remount,ro", drop)
	b.User("and now?").Assistant("the newest answer").End()
	p.write(b)
	p.until("the cache has it", 10*time.Second, func() bool { return p.has("the newest answer", b) })
	p.until("the sink waits", 20*time.Second, func() bool { return p.alive("read-only file system") > 0 })
	time.Sleep(5 * time.Second)
	if n := p.alive("a sink can't be written"); n != 1 {
		t.Errorf("said %d times:\n%s", n, p.err.String())
	}
	run(t, "mount", "-o", "remount,rw", drop)
	took := p.until("the file is renewed", 30*time.Second, func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "the newest answer")
	})
	reliability.Figure(t, 8, "drop folder read-only: the file was renewed %s after it was writable", took.Round(10*time.Millisecond))
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}

	// The whole data folder: what is there is answered from.
	copied := filepath.Join(t.TempDir(), "ro")
	tmpfs(t, copied, "64m")
	run(t, "cp", "-a", p.data+"/.", copied)
	run(t, "mount", "-o", "remount,ro", copied)
	p.data = copied
	p.asked(b.ThreadID())
	if out := p.output("show", "latest"); !strings.Contains(out, "the newest answer") {
		t.Errorf("show:\n%s", out)
	}
	if out := p.output("search", "newest answer"); !strings.Contains(out, "the newest answer") {
		t.Errorf("search:\n%s", out)
	}
	if out := p.output("status"); strings.Contains(out, "search.db can't be asked") {
		t.Errorf("status:\n%s", out)
	}
}

// strace can fail calls for a while, as a quota does.
func TestFaultOverQuota(t *testing.T) {
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %v %s", err, out)
	}
	reliability.Fault(t, 14, "strace lets four writes of the database in a row fail with EDQUOT, in each thread of the program")
	p := newProcess(t)
	var threads []*rollouttest.Rollout
	for i := range 6 {
		b := talk(i, 20, 1000)
		b.User("the end").Assistant("answer at the end").End()
		threads = append(threads, b)
		p.write(b)
	}
	p.before = []string{"strace", "-D", "-f", "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EDQUOT:when=12..15"}
	p.start("run")
	p.before = nil
	took := p.until("all is read", 2*time.Minute, func() bool { return p.has("answer at the end", threads...) })
	if p.alive("waits") == 0 {
		t.Errorf("nothing failed:\n%s", p.err.String())
	}
	t.Logf("all read %v after the start\n%s", took, p.err.String())
	if code, took := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after %v\n%s", code, took, p.err.String())
	}
}
