//go:build linux && faults

package watch

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// insideEnv is set in a process that a test has started in a user namespace of
// its own, where limits of the kernel are its to set.
const insideEnv = "SESSION_MIGRATOR_TEST_INSIDE"

// inside runs the test that calls it again in such a namespace, and says
// whether this is that run.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), insideEnv+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Skipf("no user namespace can be had here: %v", err)
	}
	err := c.Wait()
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	} else if strings.Contains(out.String(), "--- SKIP") {
		t.Skip("skipped inside")
	}
	return false
}

// limit sets a limit of this namespace.
func limit(t *testing.T, key string, n int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/"+key, []byte(strconv.Itoa(n)), 0); err != nil {
		t.Skipf("limits can't be set here: %v", err)
	}
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func TestFaultWatchLimit(t *testing.T) {
	if inside(t) {
		reliability.Fault(t, 34, "a user namespace that allows 7 watches; later as many as it takes")
		limited(t, "max_inotify_watches", 7, "fs.inotify.max_user_watches=")
	}
}

func TestFaultInstanceLimit(t *testing.T) {
	if inside(t) {
		reliability.Fault(t, 35, "a user namespace that allows no inotify instance; later one")
		limited(t, "max_inotify_instances", 0, "fs.inotify.max_user_instances=")
	}
}

// limited checks a watcher that starts under a limit of the kernel.
func limited(t *testing.T, key string, n int, hint string) {
	home := realTemp(t)
	var active []string
	for i := range 30 {
		path := filepath.Join(day(home, 1+i%20), base(i))
		put(t, path, "x")
		if i%3 == 0 {
			active = append(active, path)
			chtimes(t, path, time.Now().Add(-time.Duration(i)*time.Minute))
		} else {
			chtimes(t, path, time.Now().Add(-30*24*time.Hour))
		}
	}
	limit(t, key, n)
	var log lines
	r := start(t, Options{Homes: []string{home}, Rescan: never, Log: slog.New(slog.NewTextHandler(&log, nil))}, func(w *Watcher) { w.retry = 500 * time.Millisecond })
	for range 30 {
		r.get(soon)
	}
	h := r.Health()
	if h.Backend != pollBackend || countContains(h.Problems, "not enough watches") != 1 || countContains(h.Problems, "sudo sysctl "+hint) != 1 {
		t.Fatalf("health = %+v, want poll and one problem with what to do", h)
	}
	var took []time.Duration
	for i := range int64(3) {
		for _, path := range active {
			began := time.Now()
			appendTo(t, path, "y")
			r.size(path, 2+i, soon)
			took = append(took, time.Since(began))
		}
	}
	fresh := filepath.Join(day(home, 25), base(400))
	began := time.Now()
	put(t, fresh, "x")
	r.size(fresh, 1, soon)
	folder := time.Since(began)
	slices.Sort(took)
	reliability.Figure(t, 5, "with %s=%d: appends to files active in the last hour seen after %d ms at most, the first file of a new day after %d ms", key, n, took[len(took)-1].Milliseconds(), folder.Milliseconds())
	if took[0] > 2*time.Second || folder > soon {
		t.Errorf("took %v, a new folder %v, want 2s at most", took, folder)
	}
	if n := log.count("level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
	limit(t, key, 1000)
	for end := time.Now().Add(30 * time.Second); r.Health().Backend != "inotify"; {
		if time.Now().After(end) {
			t.Fatalf("health = %+v, want events back", r.Health())
		}
		<-time.After(100 * time.Millisecond)
	}
	if h := r.Health(); len(h.Problems) != 0 || h.Watches < 20 || log.count("watches restored") != 1 {
		t.Errorf("health = %+v, want all watches and no problem", h)
	}
	appendTo(t, active[0], "z")
	r.size(active[0], 5, soon)
}
