//go:build linux && faults

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// connects are the calls that reach for another program by an address of the
// net, and those that ask a name server.
var connects = regexp.MustCompile(`\b(connect|sendto|sendmsg|sendmmsg|bind)\(.*sa_family=AF_INET6?`)

func (p *process) tracedNet() (trace string) {
	p.t.Helper()
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		p.t.Skipf("strace does not work here (apt install strace; a container may forbid ptrace): %v %s", err, out)
	}
	trace = filepath.Join(p.t.TempDir(), "trace")
	p.before = []string{"strace", "-D", "-ff", "-o", trace, "-e", "trace=%network,execve"}
	return trace
}

// Without an endpoint in the settings no program of ours opens a connection,
// whatever it is asked; summaries by agents change nothing about that. With one
// only that is spoken to.
func TestFaultNoConnectionWithoutAnEndpoint(t *testing.T) {
	p := newProcess(t)
	trace := p.tracedNet()
	logs := []*rollouttest.Rollout{talk(0, 12, 900), talk(1, 12, 900)} // long enough for a summary
	for _, b := range logs {
		p.write(b)
	}
	settings := filepath.Join(p.data, "config.toml")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(p.data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := func() (all string, found []string) {
		p.settled(trace)
		all = traceOf(t, trace)
		for _, l := range strings.Split(all, "\n") {
			if connects.MatchString(l) {
				found = append(found, l)
			}
		}
		return all, found
	}
	id := logs[0].ThreadID()
	for _, text := range []string{"", "[summaries]\nby_caller = true\nmin_turns = 1\nquiet = \"0s\"\n"} {
		write(text)
		p.start("run")
		p.until("all are read", 60*time.Second, func() bool { return p.has("", logs...) })
		for _, args := range [][]string{{"show", id}, {"show", id, "--format", "summary"}, {"status"}, {"doctor"}, {"search", "answer"}, {"spend"}, {"models"}, {"migrate", id, "--to", "gpt-4o"}} {
			_ = p.output(args...)
		}
		_ = p.command("summarize", id).Run()              // there is no model, and it says so
		_ = p.command("summarize", id, "--dry-run").Run() // the same
		time.Sleep(2 * time.Second)                       // longer than the worker looks around
		p.stop(syscall.SIGTERM)
	}
	if all, found := lines(); len(found) > 0 || !strings.Contains(all, "execve(") {
		t.Errorf("connections without an endpoint: %q", found)
	}

	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	write("[summaries]\nendpoint = \"" + s.URL + "/v1\"\nmodel = \"m\"\nmin_turns = 1\nquiet = \"0s\"\n")
	_ = p.output("summarize", id, "--dry-run")
	if _, found := lines(); len(found) > 0 || asked.Load() > 0 {
		t.Errorf("a dry run reaches out: %q", found)
	}
	p.start("run")
	p.until("it is asked", 60*time.Second, func() bool { return asked.Load() > 0 })
	p.stop(syscall.SIGTERM)
	_, found := lines()
	port := regexp.MustCompile(`htons\(` + s.URL[strings.LastIndexByte(s.URL, ':')+1:] + `\)`)
	if len(found) == 0 {
		t.Error("the trace shows no connection at all")
	}
	for _, l := range found {
		if !port.MatchString(l) || !strings.Contains(l, "127.0.0.1") {
			t.Errorf("another connection: %s", l)
		}
	}
}
