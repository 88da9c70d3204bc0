//go:build linux && faults

package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// traced lets p's programs be looked at by strace: all calls that name a file,
// and those that write to or lock an open one.
func (p *process) traced() (trace string) {
	p.t.Helper()
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		p.t.Skipf("strace does not work here (apt install strace; a container may forbid ptrace): %v %s", err, out)
	}
	trace = filepath.Join(p.t.TempDir(), "trace")
	p.before = []string{"strace", "-D", "-ff", "-y", "-s", "0", "-o", trace,
		"-e", "trace=%file,flock,fcntl,write,writev,pwrite64,pwritev,ftruncate,fallocate,fchmod,fchown,fsetxattr,fremovexattr,mmap"}
	return trace
}

// onlyLooked fails for every call below dir that could change something there,
// and gives how many calls there were.
func onlyLooked(t *testing.T, trace, dir string) (seen int) {
	t.Helper()
	harmless := regexp.MustCompile(`^(stat|lstat|newfstatat|statx|statfs|access|faccessat2?|readlink|readlinkat|getcwd|chdir|execve|inotify_add_watch|open|openat|openat2|fcntl|mmap)\(`)
	changes := regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|SETLK|SETLEASE|MAP_SHARED.*PROT_WRITE|PROT_WRITE.*MAP_SHARED`)
	for _, line := range strings.Split(traceOf(t, trace), "\n") {
		if !strings.Contains(line, dir) {
			continue
		}
		seen++
		if !harmless.MatchString(line) || changes.MatchString(line) {
			t.Errorf("not a mere look: %s", line)
		}
	}
	return seen
}

// settled waits until strace, which is no child of ours, has written its last.
func (p *process) settled(trace string) {
	p.t.Helper()
	before := -1
	p.until("the trace is complete", 20*time.Second, func() bool {
		time.Sleep(200 * time.Millisecond) // between two looks
		n := len(traceOf(p.t, trace))
		same := n == before
		before = n
		return same
	})
}

// traceOf puts the files of all threads together.
func traceOf(t *testing.T, trace string) string {
	t.Helper()
	files, err := filepath.Glob(trace + ".*")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestFaultCodexHomeIsOnlyLookedAt(t *testing.T) {
	p := newProcess(t)
	trace := p.traced()
	lockState(t, p.codex)()
	logs := []*rollouttest.Rollout{talk(0, 3, 300), talk(1, 3, 300), talk(2, 3, 300)}
	for _, b := range logs {
		p.write(b)
	}
	p.start("run")
	p.until("all are read", 60*time.Second, func() bool { return p.has("", logs...) })
	plain := func(b *rollouttest.Rollout) string { return filepath.Join(p.codex, filepath.FromSlash(b.Path())) }
	for round := range 3 {
		answer := fmt.Sprintf("answer %d", round)
		for _, b := range logs {
			b.User("more?").Assistant(answer).End()
			f, err := os.OpenFile(plain(b), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			st, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(b.Bytes()[st.Size():]); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		p.until(answer+" is read", 60*time.Second, func() bool { return p.has(answer, logs...) })
		// Codex compresses one file, and makes it plain again to append.
		swap(t, plain(logs[0]), true)
		time.Sleep(300 * time.Millisecond) // to have it noticed
		swap(t, plain(logs[0]), false)
	}
	// It archives one and renames another.
	archived := filepath.Join(p.codex, "archived_sessions", filepath.Base(plain(logs[1])))
	if err := errors.Join(os.MkdirAll(filepath.Dir(archived), 0o700), os.Rename(plain(logs[1]), archived),
		os.WriteFile(filepath.Join(p.codex, "session_index.jsonl"), fmt.Appendf(nil, "{\"id\":%q,\"thread_name\":\"Named\"}\n", logs[2].ThreadID()), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sessions"}, {"show", "latest"}, {"status"}, {"doctor"}, {"migrate", "latest", "--to", "gpt-4o"}} {
		p.output(args...)
	}
	if code, took := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after %v\n%s", code, took, p.err.String())
	}
	p.output("rebuild")
	p.settled(trace)
	seen := onlyLooked(t, trace, p.codex)
	if seen < 50 {
		t.Errorf("only %d calls in the Codex home were seen", seen)
	}
	reliability.Figure(t, 24, "%d calls of the daemon and of 6 commands named something in the Codex home, during appends, swaps of form, a move and a rename: none that could change it", seen)
}

// swap replaces a plain file by its compressed form, or the other way round.
func swap(t *testing.T, plain string, compress bool) {
	t.Helper()
	from, to := plain, plain+".zst"
	if !compress {
		from, to = to, from
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if compress {
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		text = enc.EncodeAll(text, nil)
	} else {
		dec, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		if text, err = dec.DecodeAll(text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(to+".tmp", text, 0o600), os.Rename(to+".tmp", to), os.Remove(from)); err != nil {
		t.Fatal(err)
	}
}

// lockState lays Codex's own database out with its session, and holds it
// locked until the returned function is called.
func lockState(t *testing.T, codex string) (release func()) {
	t.Helper()
	dir := filepath.Join("testdata", "codex-db-locked")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	day := filepath.Join(codex, "sessions", "2026", "09", "01")
	if err := errors.Join(os.MkdirAll(day, 0o700), os.WriteFile(filepath.Join(day, filepath.Base(files[0])), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile(filepath.Join(dir, "state.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(codex, "state_5.sqlite")+"?_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, q := range []string{string(schema), "BEGIN EXCLUSIVE"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		_, err := db.Exec("COMMIT")
		if err := errors.Join(err, db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Codex's database isn't needed: that it is locked is not even noticed.
func TestFaultCodexDatabaseLocked(t *testing.T) {
	p := newProcess(t)
	trace := p.traced()
	release := lockState(t, p.codex)
	p.output("run", "--once")
	p.settled(trace)
	p.before = nil
	begun := time.Now()
	out := p.output("show", "latest", "--format", "messages", "--json")
	took := time.Since(begun)
	var shown struct {
		ThreadID string `json:"thread_id"`
		Messages []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.ThreadID != "019a0000-0000-7000-8000-000000000060" || len(shown.Messages) != 2 || shown.Messages[1].Text != "files are not" {
		t.Errorf("%v\n%s", err, out)
	}
	if took > 5*time.Second {
		t.Errorf("answered after %v", took)
	}
	release()
	text := traceOf(t, trace)
	opened := regexp.MustCompile(`open(at|at2)?\([^)]*state_5\.sqlite`)
	if m := opened.FindString(text); m != "" {
		t.Errorf("Codex's database was opened: %s", m)
	}
	if !strings.Contains(text, p.codex) {
		t.Error("the trace shows nothing of the Codex home")
	}
}

// A second daemon ends at once with its own exit code and leaves the cache
// alone; a killed one leaves nothing to clear away.
func TestFaultSecondDaemon(t *testing.T) {
	reliability.Fault(t, 47, "the program started 20 times where a daemon runs; then that daemon killed with -9 and another started")
	p := newProcess(t)
	b := talk(0, 3, 100)
	p.write(b)
	p.start("run")
	p.until("it is read", 30*time.Second, func() bool { return p.has("", b) && p.running() })
	var most time.Duration
	var sum time.Duration
	const times = 20
	for range times {
		begun := time.Now()
		out, err := p.command("run").CombinedOutput()
		took := time.Since(begun)
		most, sum = max(most, took), sum+took
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok || e.ExitCode() != exitLocked || !strings.Contains(string(out), fmt.Sprintf("(process %d)", p.cmd.Process.Pid)) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if most > 2*time.Second {
		t.Errorf("took up to %v", most)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // killed
	begun := time.Now()
	b.User("again").Assistant("after the kill").End()
	p.write(b)
	p.start("run")
	p.until("another runs", 30*time.Second, func() bool { return p.has("after the kill", b) })
	reliability.Figure(t, 19, "a second daemon ended with code %d after %s on average, %s at most (%d starts, whole process); after a kill -9 the next one was current in %s", exitLocked,
		(sum / times).Round(time.Millisecond), most.Round(time.Millisecond), times, time.Since(begun).Round(10*time.Millisecond))
	trace := p.traced()
	out, err := p.command("run").CombinedOutput()
	p.before = nil
	if err == nil {
		t.Errorf("a second daemon ran\n%s", out)
	}
	p.settled(trace)
	text := traceOf(t, trace)
	if m := regexp.MustCompile(`open(at|at2)?\([^)]*session-migrator\.db`).FindString(text); m != "" || !strings.Contains(text, p.data) {
		t.Errorf("the second daemon opened the cache: %s", m)
	}
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// status says that the program was replaced under the daemon.
func TestFaultProgramReplaced(t *testing.T) {
	real, err := exec.LookPath("session-migrator")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "session-migrator")
	if err := os.WriteFile(old, text, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(old)+string(os.PathListSeparator)+os.Getenv("PATH"))
	p := newProcess(t)
	p.write(talk(0, 1, 100))
	p.start("run")
	p.until("it runs and says so", 30*time.Second, func() bool { return strings.Contains(p.output("status", "--json"), `"backend": "inotify"`) })
	if out := p.output("status"); strings.Contains(out, "was replaced") {
		t.Errorf("too early:\n%s", out)
	}
	if err := errors.Join(os.WriteFile(old+".new", append(text, 0), 0o700), os.Rename(old+".new", old)); err != nil {
		t.Fatal(err)
	}
	if out := p.output("status"); !strings.Contains(out, "was replaced at ") || !strings.Contains(out, "since the daemon was started: stop the daemon and start it again") {
		t.Errorf("status:\n%s", out)
	}
	if out := p.output("doctor"); !strings.Contains(out, "fix: stop the daemon and start it again") {
		t.Errorf("doctor:\n%s", out)
	}
	if code, _ := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
