//go:build linux && faults

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
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

// process is the program as users run it, on a Codex home and a data folder of
// its own.
type process struct {
	t           *testing.T
	codex, data string
	before      []string // what the program is started by, as strace
	cmd         *exec.Cmd
	err         bytes.Buffer
}

func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{t: t, codex: filepath.Join(t.TempDir(), "codex"), data: filepath.Join(t.TempDir(), "data")}
	if err := os.MkdirAll(p.codex, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) command(args ...string) *exec.Cmd {
	p.t.Helper()
	words := append(append([]string{}, p.before...), "session-migrator")
	words = append(words, args...)
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(os.Environ(), "CODEX_HOME="+p.codex, "SESSION_MIGRATOR_HOME="+p.data, "HOME="+filepath.Dir(p.data))
	return c
}

func (p *process) start(args ...string) {
	p.t.Helper()
	p.err.Reset()
	p.cmd = p.command(args...)
	p.cmd.Stderr = &p.err
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// stop asks the process to end, and gives its exit code and how long it took.
func (p *process) stop(s os.Signal) (code int, took time.Duration) {
	p.t.Helper()
	begun := time.Now()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		took = time.Since(begun)
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return e.ExitCode(), took
		}
		return 0, took
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // says where it hangs
		<-done
		p.t.Fatalf("does not stop:\n%.4000s", p.err.String())
		return 0, 0
	}
}

// output runs a command to its end.
func (p *process) output(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Logf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// until polls: another process tells nobody.
func (p *process) until(what string, patience time.Duration, f func() bool) time.Duration {
	p.t.Helper()
	begun := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if f() {
			return time.Since(begun)
		}
		if time.Since(begun) > patience {
			p.t.Fatalf("not within %v: %s\n%s", patience, what, p.err.String())
		}
	}
	return 0
}

func (p *process) running() bool {
	return strings.Contains(p.output("status", "--json"), `"running": true`)
}

func (p *process) write(b *rollouttest.Rollout) string {
	p.t.Helper()
	path := filepath.Join(p.codex, filepath.FromSlash(b.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// clean is what the cache says of the last stop; empty if there is none.
func (p *process) clean() string {
	p.t.Helper()
	db, err := store.OpenReader(p.t.Context(), filepath.Join(p.data, "session-migrator.db"))
	if errors.Is(err, store.ErrNone) {
		return ""
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	v, err := db.Meta(p.t.Context(), "clean_shutdown")
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func threadID(n int) string { return fmt.Sprintf("019a0000-0000-7000-8000-%012d", n) }

// talk is a thread of n turns with answers of so many bytes.
func talk(id, n, bytes int) *rollouttest.Rollout {
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: threadID(id)})
	words := []string{"the", "parser", "fails", "on", "line", "of", "file", "reading", "tokens", "cache", "writes", "each", "commit", "2026", "func", "error"}
	r := rand.New(rand.NewPCG(uint64(id), 1))
	var text strings.Builder
	for range n {
		text.Reset()
		for text.Len() < bytes {
			text.WriteString(words[r.IntN(len(words))])
			text.WriteByte(" \n"[r.IntN(20)/19])
		}
		b.User("What about "+text.String()[:min(100, bytes)]+"?").Call("exec_command", `{"cmd":"go test ./..."}`, text.String()).Assistant(text.String()).End()
	}
	return b
}

func TestFaultStopInAnyPhase(t *testing.T) {
	phases := []struct {
		name  string
		stops int
		span  time.Duration // stopped at a random moment in it
		again bool          // each time with a cache that knows nothing
		args  []string
		code  int
		fill  func(p *process)
	}{
		{"listing 50,000 files", 8, 2 * time.Second, true, []string{"run"}, 0, func(p *process) {
			for i := range 50_000 {
				dir := filepath.Join(p.codex, "sessions", "2026", fmt.Sprintf("%02d", i/5000%12+1), fmt.Sprintf("%02d", i/200%25+1))
				if i%200 == 0 {
					if err := os.MkdirAll(dir, 0o700); err != nil {
						p.t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, "rollout-2026-09-01T09-00-00-"+threadID(i)+".jsonl"), nil, 0o600); err != nil {
					p.t.Fatal(err)
				}
			}
		}},
		{"reading large files and long lines", 10, 3 * time.Second, true, []string{"run"}, 0, func(p *process) {
			for i := range 3 {
				b := talk(i, 1500, 20_000)
				b.Call("exec_command", "{}", strings.Repeat("a long output that nobody wanted ", 600_000))
				p.write(b)
			}
		}},
		{"publishing and selecting", 10, 4 * time.Second, true, []string{"run"}, 0, func(p *process) {
			for i := range 60 {
				p.write(talk(i, 60, 8_000))
			}
		}},
		{"selecting from one huge session", 8, 6 * time.Second, true, []string{"run"}, 0, func(p *process) { p.write(talk(0, 4000, 6_000)) }},
		{"first start", 10, time.Second, true, []string{"run"}, 0, func(p *process) { p.write(talk(0, 3, 100)) }},
		{"watching", 5, time.Second, false, []string{"run"}, 0, func(p *process) { p.write(talk(0, 3, 100)) }},
		{"rebuilding", 6, time.Second, false, []string{"rebuild"}, exitInterrupted, func(p *process) {
			for i := range 40 {
				p.write(talk(i, 60, 8_000))
			}
			p.output("run", "--once")
		}},
	}
	var longest time.Duration
	var slowest string
	stops := 0
	for _, ph := range phases {
		t.Run(ph.name, func(t *testing.T) {
			p := newProcess(t)
			ph.fill(p)
			if testing.Short() && ph.again {
				ph.stops = 3
			}
			var most time.Duration
			ended := 0 // by itself, before it was told to
			for i := range ph.stops {
				if ph.again {
					if err := os.RemoveAll(p.data); err != nil {
						t.Fatal(err)
					}
				}
				signal := []os.Signal{syscall.SIGTERM, syscall.SIGINT}[i%2]
				p.start(ph.args...)
				time.Sleep(300*time.Millisecond + rand.N(ph.span)) // any moment will do
				code, took := p.stop(signal)
				most, stops = max(most, took), stops+1
				if ph.code != 0 && code == 0 || code == -1 && ph.again && !exists(p.data) {
					ended++ // or not begun: on a loaded machine the signal comes before the program is there to listen
				} else if code != ph.code || took > 10*time.Second {
					t.Errorf("%v: exit code %d after %v\n%s", signal, code, took, p.err.String())
				}
				if clean := p.clean(); clean == "no" {
					t.Errorf("%v: the cache was not closed\n%s", signal, p.err.String())
				}
			}
			if ended == ph.stops {
				t.Error("none was stopped: the test tests nothing")
			}
			t.Logf("at most %v, %d ended before", most, ended)
			if most > longest {
				longest, slowest = most, ph.name
			}
		})
	}
	reliability.Figure(t, 20, "%d stops at random moments of %d phases: all clean, at most %s (%s)", stops, len(phases), longest.Round(time.Millisecond), slowest)
}
